"""For all tests: examples may take as long as a busy machine makes them."""

from hypothesis import settings

settings.register_profile("kafpy", deadline=None)
settings.load_profile("kafpy")
