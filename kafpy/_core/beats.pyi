"""Heartbeats that are answered while the inbox is drained, because their answer is known: Planes.remember()."""

from typing import Self

from typing_extensions import disjoint_base

from kafpy._core.runtime import Runtime

@disjoint_base
class Beat:
    @property
    def idle_ms(self) -> int:
        """Since it was last answered, or remembered; by the broker's clock."""

    def forget(self) -> None:
        """From now on such requests are Python's to answer again."""

@disjoint_base
class Beats:
    def __new__(cls, runtime: Runtime) -> Self: ...
