"""Trio's clock over the broker's own: every timer of the broker reads one clock, which tests may advance.

Real time goes on underneath; advance() only adds to it, and then wakes the planes and the loop, which look at their
deadlines again.
"""

import trio

from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime


class BrokerClock(trio.abc.Clock):
    def __init__(self, runtime: Runtime, planes: Planes) -> None:
        self._runtime = runtime
        self._planes = planes
        self.token: trio.lowlevel.TrioToken | None = None
        """Of the loop that runs by this clock; None before it does."""

    def start_clock(self) -> None:
        """Trio calls this inside run(), once; before it there is no loop to wake."""
        self.token = trio.lowlevel.current_trio_token()

    def current_time(self) -> float:
        return self._runtime.monotonic_ns() / 1e9

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return deadline - self.current_time()

    def advance(self, ms: int) -> None:
        """From any thread."""
        self._runtime.advance(ms)
        self._planes.wake()
        if self.token is not None:
            self.token.run_sync_soon(_wake, idempotent=True)


def _wake() -> None:
    """Only makes the loop turn."""
