"""Heartbeats that are answered while the inbox is drained, because their answer is known: Planes.remember(); and
commits of the same members that are read there: Request.commit."""

from typing import Self

from typing_extensions import disjoint_base

from kafpy._core.runtime import Runtime

@disjoint_base
class Beat:
    @property
    def idle_ms(self) -> int:
        """Since it was last answered, or remembered; by the broker's clock."""

    def forget(self) -> None:
        """From now on such requests are Python's to answer again, and its member's commits are ordinary ones."""

    def expect_commits(self, frame: bytes, group_id: str, topics: dict[bytes, tuple[str | bytes, bytes]]) -> None:
        """Read OffsetCommits that begin as this one does, up to its topics, while the beat is remembered.

        topics: which ones; as the request names them (name, or id since version 10), to what KnownCommit.topics calls
        them and the bytes of their names. Nothing happens where the request is none that can be known.
        """

@disjoint_base
class KnownCommit:
    """An OffsetCommit of a quiet member, of topics that it committed before, and of offsets alone."""

    records: list[tuple[bytes, bytes]]
    """For the coordinator's topic: key and value."""
    topics: list[tuple[str | bytes, int]]
    """With the highest partition of each."""
    payload: bytes
    """The response, as Planes.reply() takes it."""

    @property
    def group_id(self) -> str: ...
    def take(self) -> bool:
        """False where its member has been disturbed since it was read: then it is an ordinary request. Otherwise its
        member was heard of now."""

@disjoint_base
class Committer:
    """Whose commits are known."""

@disjoint_base
class Beats:
    def __new__(cls, runtime: Runtime) -> Self: ...
