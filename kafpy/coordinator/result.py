"""What an operation of a coordinator's state machine gives back to the runtime.

A shard is the state of one coordinator partition. Its operations read state, may change what is soft (who waits for a
rebalance, which deadline runs) and return a Result; what must survive is changed by `replay` alone. The runtime takes
a Result so: append its records, replay them at once, set its timers, and send its replies when everything appended so
far is committed. So a reply never tells of state that could still be lost, and loading a partition and serving it
share one path.

Deadlines are relative: the state machine has no clock. `now_ms`, given to operations, is the wall clock's and serves
only for what is stored (commit and expiry timestamps).
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from kafpy.protocol.errors import ErrorCode


class Record(NamedTuple):
    """As in the coordinator's topic; a value of None is a tombstone."""

    key: bytes
    value: bytes | None


class Timer(NamedTuple):
    """Calls the shard's `expired(key)` once, `after_ms` from now; set again, it replaces the one of the same key."""

    key: Hashable
    after_ms: int | None
    """None: never, what was set is cancelled."""


class Ticket(Protocol):
    """A request that waits for its reply. Opaque to shards, which give it back with the reply, now or later."""

    @property
    def reply(self) -> Callable[[Any], None]: ...
    def refuse(self, error: ErrorCode) -> None:
        """The coordinator cannot answer it."""


class Beat(Protocol):
    """A member's heartbeat that is answered without asking its group, because the answer is known."""

    @property
    def idle_ms(self) -> int:
        """Since the last one."""

    def forget(self) -> None:
        """The group is to be asked again."""

    def expect_commits(self, frame: bytes, group_id: str, topics: dict[bytes, tuple[str | bytes, bytes]]) -> None:
        """Its member's commits that begin as this one come read, with records and answer, until it is forgotten."""


@dataclass(slots=True)
class Result:
    records: list[Record] = field(default_factory=list)
    replies: list[tuple[Ticket, Any]] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What an operator is told of it, a line each."""
    atomic: bool = True
    """Whether its records must be read back all or none: they share a batch then, and too many for one are refused."""

    def add(self, other: "Result") -> None:
        self.records += other.records
        self.replies += other.replies
        self.timers += other.timers
        self.notes += other.notes


class Shard(Protocol):
    """One partition's state machine; what its topic keeps of it comes back by `replay`."""

    def replay(self, record: Record, offset: int) -> None:
        """Takes in one record of the partition, live or while loading."""

    def loaded(self, now_ms: int) -> Result:
        """After the last record of a load: the timers that groups found in the log need, and what needs no waiting."""

    def unloaded(self) -> Result:
        """The last call: replies for whoever still waits, nothing else."""

    def expired(self, key: Hashable, now_ms: int) -> Result:
        """A timer went off."""
