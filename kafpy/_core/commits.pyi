"""High watermarks that Python waits for, without a thread or a task for each."""

from typing import Self

from typing_extensions import disjoint_base

from kafpy._core.log import Log
from kafpy._core.runtime import Runtime

@disjoint_base
class Commits:
    runtime: Runtime

    def __new__(cls, runtime: Runtime) -> Self: ...
    @property
    def fd(self) -> int:
        """Readable when take() has something."""

    def wait(self, log: Log, offset: int, tag: object) -> int | None:
        """0: the high watermark is at `offset` already. An error code: it will never be. None: take() will tell."""

    def take(self) -> list[tuple[object, int]]:
        """The tags of waits that are over, and what became of them, as from wait()."""

    def close(self) -> None:
        """Forget whoever still waits."""
