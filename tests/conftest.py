"""For all tests: examples may take as long as a busy machine makes them; Ctrl-C means something to what tests start,
also where they run in the background of a shell, which ignores it there and bequeaths that."""

import signal

from hypothesis import settings

settings.register_profile("kafpy", deadline=None)
settings.load_profile("kafpy")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
