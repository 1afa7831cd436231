import threading
import time

import trio

from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.broker.clock import BrokerClock


def test_eight_days_pass_at_once() -> None:
    runtime = Runtime()
    clock = BrokerClock(runtime, Planes(runtime))
    awake = threading.Event()

    async def sleep() -> None:
        await trio.sleep(8 * 86400)
        awake.set()

    def advance() -> None:
        while not awake.wait(0.02):  # once before it sleeps is not enough
            clock.advance(8 * 86400 * 1000)

    thread = threading.Thread(target=advance)
    thread.start()
    trio.run(sleep, clock=clock)
    thread.join()
    runtime.close()


def test_real_time_goes_on() -> None:
    runtime = Runtime()
    start = time.monotonic()
    trio.run(trio.sleep, 0.05, clock=BrokerClock(runtime, Planes(runtime)))
    runtime.close()
    assert time.monotonic() - start > 0.04
