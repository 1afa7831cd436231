"""A member of a modern group, as two records of the log have it: its metadata, and what it has been assigned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from kafpy.coordinator.group.modern.assignment import NOTHING, Held, held_structs, read_held
from kafpy.coordinator.group.modern.state import MemberState
from kafpy.coordinator.group.records import CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, CONSUMER_GROUP_MEMBER_METADATA

LEFT = -1
RELEASED = -2
"""The epoch of a static member that is expected back."""


@dataclass(frozen=True, slots=True)
class ClassicFace:
    """Of a member that speaks the classic protocol (JoinGroup, SyncGroup, Heartbeat)."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]

    @property
    def protocol(self) -> str:
        return self.protocols[0][0] if self.protocols else ""

    @property
    def metadata(self) -> bytes:
        return self.protocols[0][1] if self.protocols else b""


@dataclass(frozen=True, slots=True)
class ModernMember:
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = None
    """Null and empty are both none; what the member sent is kept."""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicFace | None = None
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Held = field(default_factory=dict)
    revoking: Held = field(default_factory=dict)

    def is_at(self, epoch: int) -> bool:
        """It has all of the target of that epoch."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def at(self, epoch: int) -> ModernMember:
        return replace(self, epoch=epoch, previous_epoch=self.epoch)

    def with_metadata(self, value: Any) -> ModernMember:
        face = value.classic_member_metadata
        classic = None
        if face is not None and face.supported_protocols:  # left out, it is an empty one, not null
            protocols = tuple((each.name, each.metadata) for each in face.supported_protocols)
            classic = ClassicFace(face.session_timeout_ms, protocols)
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
            regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=classic,
        )

    def metadata_value(self) -> Any:
        value = CONSUMER_GROUP_MEMBER_METADATA.value
        face = None
        if self.classic is not None:
            face = value.ClassicMember(
                session_timeout_ms=self.classic.session_timeout_ms,
                supported_protocols=[
                    value.Protocol(name=name, metadata=metadata) for name, metadata in self.classic.protocols
                ],
            )
        return value(
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=sorted(self.topics),
            subscribed_topic_regex=self.regex,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.server_assignor,
            classic_member_metadata=face,
        )

    def with_assignment(self, value: Any) -> ModernMember:
        """None is the tombstone, which comes before that of the metadata."""
        if value is None:
            return replace(
                self, epoch=LEFT, previous_epoch=LEFT, state=MemberState.STABLE, assigned=NOTHING, revoking=NOTHING
            )
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state),
            assigned=read_held(value.assigned_partitions, value.member_epoch),
            revoking=read_held(value.partitions_pending_revocation, value.member_epoch),
        )

    def assignment_value(self) -> Any:
        value = CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT.value
        return value(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=self.state,
            assigned_partitions=held_structs(value.TopicPartitions, self.assigned),
            partitions_pending_revocation=held_structs(value.TopicPartitions, self.revoking),
        )
