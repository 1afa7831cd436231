"""A modern group (Kafka's ConsumerGroup): what the log has of it, and what follows from that.

`apply` takes in one record and is the only thing that changes it, but for `rejoining`, which is soft. Records come in
the order of the log, perhaps with holes that compaction made: nothing is taken for granted about the ones before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kafpy.coordinator.group.consumer_protocol import PROTOCOL_TYPE
from kafpy.coordinator.group.modern.assignment import NO_TARGET, Held, Target, read_target
from kafpy.coordinator.group.modern.member import ModernMember
from kafpy.coordinator.group.modern.state import GroupState
from kafpy.coordinator.group.records import (
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    CONSUMER_GROUP_MEMBER_METADATA,
    CONSUMER_GROUP_METADATA,
    CONSUMER_GROUP_PARTITION_METADATA,
    CONSUMER_GROUP_REGULAR_EXPRESSION,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
)
from kafpy.protocol.errors import ErrorCode

MEMBER_EPOCHS_SINCE = 9
"""OffsetCommit's version that can tell a stale epoch from an old generation."""


class Resolved(NamedTuple):
    """A regular expression's topics, as of one image."""

    topics: frozenset[str]
    version: int
    timestamp: int


class ModernGroup:
    type = "consumer"
    protocol_type = PROTOCOL_TYPE

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.members: dict[str, ModernMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self.regexes: dict[str, Resolved] = {}
        self.owners: dict[tuple[bytes, int], str] = {}
        """By partition, the member that has it, to give it up or not."""
        self.has_partition_metadata = False
        """A broker of before KIP-1101 wrote that record; it goes with the next epoch."""
        self.rejoining: set[str] = set()
        """Classic members that were told to rejoin, and have until a timer to do so."""
        self._subscribed: frozenset[str] | None = None

    def copy(self) -> ModernGroup:
        other = ModernGroup(self.group_id)
        other.epoch, other.metadata_hash, other.assignment_epoch = self.epoch, self.metadata_hash, self.assignment_epoch
        other.members, other.static_members = dict(self.members), dict(self.static_members)
        other.targets, other.regexes, other.owners = dict(self.targets), dict(self.regexes), dict(self.owners)
        other.has_partition_metadata, other._subscribed = self.has_partition_metadata, self._subscribed
        return other

    def apply(self, number: int, name: str, value: Any) -> None:
        """One record's type, the rest of its key (a member's id, an expression, or nothing), and its value."""
        APPLY[number](self, name, value)

    def _apply_epoch(self, _: str, value: Any) -> None:
        if value is not None:
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def _apply_partition_metadata(self, _: str, value: Any) -> None:
        self.has_partition_metadata = value is not None

    def _apply_member(self, member_id: str, value: Any) -> None:
        self._subscribed = None
        if value is None:
            self._remove(member_id)
        else:
            self._put((self.members.get(member_id) or ModernMember(member_id)).with_metadata(value))

    def _apply_assignment_epoch(self, _: str, value: Any) -> None:
        self.assignment_epoch = -1 if value is None else value.assignment_epoch

    def _apply_target(self, member_id: str, value: Any) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = read_target(value.topic_partitions)

    def _apply_assignment(self, member_id: str, value: Any) -> None:
        member = self.members.get(member_id)
        if member is not None:
            self._put(member.with_assignment(value))
        elif value is not None:
            self._put(ModernMember(member_id).with_assignment(value))

    def _apply_regex(self, regex: str, value: Any) -> None:
        self._subscribed = None
        if value is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = Resolved(frozenset(value.topics), value.version, value.timestamp)

    def _put(self, member: ModernMember) -> None:
        old = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if old is not None and old.assigned is member.assigned and old.revoking is member.revoking:
            return
        if old is not None:
            self._release(old)
        for partition in _partitions(member.assigned, member.revoking):
            self.owners[partition] = member.member_id

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self.rejoining.discard(member_id)
        if member is None:
            return
        self._release(member)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]

    def _release(self, member: ModernMember) -> None:
        for partition in _partitions(member.assigned, member.revoking):
            if self.owners.get(partition) == member.member_id:
                del self.owners[partition]

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(member.is_at(self.assignment_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    @property
    def is_idle(self) -> bool:
        return not self.members

    @property
    def subscribed(self) -> frozenset[str]:
        """Topics of all members, by name or expression, whether they are there or not."""
        if self._subscribed is None:
            named = (member.topics for member in self.members.values())
            self._subscribed = frozenset().union(*named, *(each.topics for each in self.regexes.values()))
        return self._subscribed

    def topics_of(self, member: ModernMember) -> frozenset[str]:
        resolved = self.regexes.get(member.regex) if member.regex else None
        return member.topics if resolved is None else member.topics | resolved.topics

    def target_of(self, member_id: str) -> Target:
        return self.targets.get(member_id, NO_TARGET)

    def subscribers(self, regex: str) -> int:
        return sum(member.regex == regex for member in self.members.values())

    def assignor(self, available: Iterable[str]) -> str:
        """The one that most members ask for; at a draw, and without votes, the one that comes first."""
        votes = dict.fromkeys(available, 0)
        for member in self.members.values():
            if member.server_assignor in votes:
                votes[member.server_assignor] += 1
        return max(votes, key=lambda name: votes[name])

    def only_modern_is(self, *member_ids: str) -> bool:
        """Without these members there are still some, and all of them are classic."""
        rest = [member for member_id, member in self.members.items() if member_id not in member_ids]
        return bool(rest) and all(member.classic is not None for member in rest)

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """Whether a classic member with these protocols can be in the group."""
        if protocol_type != PROTOCOL_TYPE:
            return False
        faces = [member.classic for member in self.members.values() if member.classic is not None]
        return any(all(any(name == other for other, _ in face.protocols) for face in faces) for name in names)

    def waits_for_others(self, member: ModernMember) -> bool:
        """A part of its target is still somebody else's."""
        return any(
            (topic_id, partition) in self.owners and partition not in member.assigned.get(topic_id, {})
            for topic_id, partitions in self.target_of(member.member_id).items()
            for partition in partitions
        )

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed

    def check_offset_commit(self, member_id: str, _: str | None, epoch: int, api_version: int) -> ErrorCode:
        """An older epoch may do for some partitions, see `partition_check`."""
        if epoch < 0 and not self.members:
            return ErrorCode.NONE  # an administrator, or a consumer that manages itself
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if member.classic is None and api_version < MEMBER_EPOCHS_SINCE:
            return ErrorCode.UNSUPPORTED_VERSION
        return _stale(member) if epoch > member.epoch else ErrorCode.NONE

    def partition_check(self, member_id: str, epoch: int) -> Callable[[bytes, int], ErrorCode] | None:
        """For a member behind its epoch (KIP-1251): it had the partition then already, and has not given it up."""
        member = self.members.get(member_id)
        if member is None or epoch >= member.epoch:
            return None

        def check(topic_id: bytes, partition: int) -> ErrorCode:
            given = member.assigned.get(topic_id, {}).get(partition)
            if given is None:
                given = member.revoking.get(topic_id, {}).get(partition)
            return _stale(member) if given is None or epoch < given else ErrorCode.NONE

        return check

    def check_offset_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        if member_id is None and epoch < 0:
            return ErrorCode.NONE
        member = self.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if epoch == member.epoch else _stale(member)

    def check_offset_delete(self) -> ErrorCode:
        return ErrorCode.NONE

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def retained_from(self, commit_timestamp: int) -> int | None:
        return commit_timestamp


def _stale(member: ModernMember) -> ErrorCode:
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


def _partitions(*held: Held) -> Iterable[tuple[bytes, int]]:
    return ((topic_id, each) for one in held for topic_id, partitions in one.items() for each in partitions)


APPLY: dict[int, Callable[[ModernGroup, str, Any], None]] = {
    CONSUMER_GROUP_METADATA.number: ModernGroup._apply_epoch,
    CONSUMER_GROUP_PARTITION_METADATA.number: ModernGroup._apply_partition_metadata,
    CONSUMER_GROUP_MEMBER_METADATA.number: ModernGroup._apply_member,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA.number: ModernGroup._apply_assignment_epoch,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER.number: ModernGroup._apply_target,
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT.number: ModernGroup._apply_assignment,
    CONSUMER_GROUP_REGULAR_EXPRESSION.number: ModernGroup._apply_regex,
}
