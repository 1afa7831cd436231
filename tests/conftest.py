"""For all tests: examples may take as long as a busy machine makes them, and Ctrl-C reaches children.

A shell starts what runs behind `&` with SIGINT ignored; children would inherit that, and tests that interrupt one wait
for ever.
"""

import signal

from hypothesis import settings

signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("kafpy", deadline=None)
settings.load_profile("kafpy")
