"""The broker's clock and its helper threads. One Runtime per broker; logs and planes are made on it."""

from typing import Self

from typing_extensions import disjoint_base

@disjoint_base
class Runtime:
    """Helper threads run from construction to close(); they do what may block on a disk, never take the GIL."""

    def __new__(cls, helpers: int = 2) -> Self: ...
    @property
    def failures_fd(self) -> int:
        """An eventfd, readable when a log has gone offline, or was found damaged, since it was read."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970, moved on by advance()."""

    def monotonic_ns(self) -> int:
        """For deadlines: never goes back; moved on by advance()."""

    def advance(self, ms: int) -> None:
        """Move both clocks on. Sleepers do not notice by themselves: wake planes and loop afterwards."""

    def settle(self) -> None:
        """Wait until the helpers have nothing left to do."""

    def close(self) -> None:
        """End the helpers after their last job. Logs are closed before, planes stopped before that."""
