"""A group on its way through one operation: what is written becomes a record, and counts at once.

The group itself is left alone: it changes when the records are replayed, as it would while loading.
"""

from typing import Any

from kafpy.coordinator.group.departures import Departure
from kafpy.coordinator.group.modern.assignment import Target, target_structs
from kafpy.coordinator.group.modern.group import ModernGroup, Resolved
from kafpy.coordinator.group.modern.member import ModernMember
from kafpy.coordinator.group.records import (
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    CONSUMER_GROUP_MEMBER_METADATA,
    CONSUMER_GROUP_METADATA,
    CONSUMER_GROUP_PARTITION_METADATA,
    CONSUMER_GROUP_REGULAR_EXPRESSION,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
    RecordType,
)
from kafpy.coordinator.result import Record


class Draft:
    """`group` is the group with everything that was written so far."""

    def __init__(self, group: ModernGroup, records: list[Record]) -> None:
        self.group = group
        self._original = group
        self._records = records
        self.departed: list[Departure] = []
        """To be noted if nothing refuses the operation after all."""
        self.is_new = False
        """What it begins with was not made by an assignor, and may be half of something: it needs another epoch."""

    @property
    def has_new_epoch(self) -> bool:
        return self.is_new or self.group.epoch != self._original.epoch

    def _write(self, kind: RecordType, value: Any, name: str = "", **key: str) -> None:
        self._records.append(kind.record(value, group_id=self.group.group_id, **key))
        if self.group is self._original:
            self.group = self._original.copy()
        self.group.apply(kind.number, name, value)

    def epoch(self, epoch: int, metadata_hash: int) -> None:
        if self.group.has_partition_metadata:
            self._write(CONSUMER_GROUP_PARTITION_METADATA, None)
        self._write(CONSUMER_GROUP_METADATA, CONSUMER_GROUP_METADATA.value(epoch=epoch, metadata_hash=metadata_hash))

    def metadata(self, member: ModernMember) -> None:
        name = member.member_id
        self._write(CONSUMER_GROUP_MEMBER_METADATA, member.metadata_value(), name, member_id=name)

    def assignment(self, member: ModernMember) -> None:
        name = member.member_id
        self._write(CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, member.assignment_value(), name, member_id=name)

    def target(self, member_id: str, target: Target) -> None:
        kind = CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER
        value = kind.value(topic_partitions=target_structs(kind.value.TopicPartitions, target))
        self._write(kind, value, member_id, member_id=member_id)

    def assignment_epoch(self, epoch: int, now_ms: int) -> None:
        kind = CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA
        self._write(kind, kind.value(assignment_epoch=epoch, assignment_timestamp=now_ms))

    def regex(self, regex: str, resolved: Resolved | None) -> None:
        kind, value = CONSUMER_GROUP_REGULAR_EXPRESSION, None
        if resolved is not None:
            value = kind.value(topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp)
        self._write(kind, value, regex, regular_expression=regex)

    def remove(self, member_id: str) -> None:
        """Replay holds on to this order (GroupMetadataManager.removeMember)."""
        self._write(CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, None, member_id, member_id=member_id)
        self._write(CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, None, member_id, member_id=member_id)
        self._write(CONSUMER_GROUP_MEMBER_METADATA, None, member_id, member_id=member_id)

    def delete(self) -> None:
        """The whole group (ConsumerGroup.createGroupTombstoneRecords)."""
        members, regexes = list(self.group.members), list(self.group.regexes)
        for member_id in members:
            self._write(CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, None, member_id, member_id=member_id)
        for member_id in members:
            self._write(CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, None, member_id, member_id=member_id)
        self._write(CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, None)
        for member_id in members:
            self._write(CONSUMER_GROUP_MEMBER_METADATA, None, member_id, member_id=member_id)
        for regex in regexes:
            self._write(CONSUMER_GROUP_REGULAR_EXPRESSION, None, regex, regular_expression=regex)
        if self.group.has_partition_metadata:
            self._write(CONSUMER_GROUP_PARTITION_METADATA, None)
        self._write(CONSUMER_GROUP_METADATA, None)
