"""For all tests: hypothesis draws the same examples each time, and they may take as long as a busy machine makes them.

`pytest --hypothesis-profile explore` draws others; ci/ asks for `sanitized`. Ctrl-C reaches what tests start: a shell
starts what runs behind `&` with SIGINT ignored, children would inherit that, and tests that interrupt one would hang.
"""

import signal

from hypothesis import HealthCheck, settings

signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("kafpy", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("kafpy"), derandomize=False, print_blob=True)
settings.register_profile("sanitized", settings.get_profile("kafpy"), max_examples=20, stateful_step_count=30)
settings.load_profile("kafpy")
