"""A member of a classic group."""

from dataclasses import dataclass, field

from kafpy.coordinator.result import Beat, Ticket


@dataclass(slots=True)
class Member:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: list[tuple[str, bytes]]
    """Name and metadata in the member's order of preference; of a member found in the log only the chosen one."""
    assignment: bytes = b""
    awaiting_join: Ticket | None = field(default=None, compare=False)
    awaiting_sync: Ticket | None = field(default=None, compare=False)
    beat: Beat | None = field(default=None, compare=False)
    """Of its last heartbeat that was found to need no thought, forgotten or not: it tells when one came last."""
    is_new: bool = field(default=False, compare=False)
    """Has not had its first answer yet: it does not know its id, so its session can end while it waits."""

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_waiting(self) -> bool:
        """Members that wait for a rebalance need not send heartbeats."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def is_as(self, stored: "Member", protocol: str) -> bool:
        """In all that the log keeps of a member, where the group has this protocol."""
        return (
            self.metadata(protocol) == stored.metadata(protocol)
            and self.group_instance_id == stored.group_instance_id
            and (self.client_id, self.client_host) == (stored.client_id, stored.client_host)
            and self.rebalance_timeout_ms == stored.rebalance_timeout_ms
            and self.session_timeout_ms == stored.session_timeout_ms
        )

    def metadata(self, protocol: str) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def supports(self, protocol: str) -> bool:
        return any(name == protocol for name, _ in self.protocols)

    def vote(self, candidates: set[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)
