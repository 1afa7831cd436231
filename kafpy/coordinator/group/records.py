"""The records of `__consumer_offsets`, byte for byte as Kafka has them (its GroupCoordinatorRecordHelpers).

A key begins with its type (int16), a value with its version (int16). Offsets are not here: there are millions of them,
so `offset_record` reads those by hand. Types that are not in TYPES belong to other kinds of groups and are passed over.
"""

from typing import Any

from kafpy.coordinator.result import Record
from kafpy.protocol.program import Message
from kafpy.protocol.schema import NEVER, parse, versions


class RecordType:
    """One type: the table of its key, which is never flexible, and that of its value."""

    def __init__(
        self,
        number: int,
        name: str,
        key: str,
        value: str,
        *,
        valid: str = "0",
        written: int = 0,
        flexible: str = "0+",
    ) -> None:
        self.number = number
        self.name = name
        self.written = written
        self._prefix = number.to_bytes(2, "big")
        self._version = written.to_bytes(2, "big")
        self.key_message = Message(parse(name + "Key", key), NEVER)
        self.value_message = Message(parse(name + "Value", value), versions(flexible))
        self.versions = versions(valid)

    @property
    def value(self) -> type[Any]:
        """The value's class; its structs' classes are attributes of it."""
        return self.value_message.cls

    def record(self, value: Any, **key: Any) -> Record:
        """A value of None makes a tombstone."""
        data = self.key_message.program(0).write(self.key_message.cls(**key), self._prefix)
        if value is None:
            return Record(data, None)
        return Record(data, self.value_message.program(self.written).write(value, self._version))

    def read_key(self, data: bytes) -> Any:
        return self.key_message.program(0).read(data, 2)[0]

    def read_value(self, data: bytes) -> Any:
        """ValueError for a version that Kafka 4.3 does not know either, and for bytes that are no value."""
        version = int.from_bytes(data[:2], "big", signed=True)
        if version not in self.versions:
            raise ValueError(f"{self.name}Value has no version {version}")
        return self.value_message.program(version).read(data, 2, budget=len(data))[0]


GROUP_METADATA = RecordType(
    2,
    "GroupMetadata",
    "group string",
    """
        protocol_type               string
        generation                  int32
        protocol                    string?     = null
        leader                      string?     = null
        current_state_timestamp     int64       2+      = -1
        members                     [Member]
            member_id               string
            group_instance_id       string?     3+      = null
            client_id               string
            client_host             string
            rebalance_timeout       int32       1+      = -1
            session_timeout         int32
            subscription            bytes
            assignment              bytes
    """,
    valid="0-4",
    written=3,
    flexible="4+",
)

CONSUMER_GROUP_METADATA = RecordType(
    3,
    "ConsumerGroupMetadata",
    "group_id string",
    """
        epoch                       int32
        metadata_hash               int64       0+  #0
    """,
)

CONSUMER_GROUP_PARTITION_METADATA = RecordType(
    4,
    "ConsumerGroupPartitionMetadata",
    "group_id string",
    """
        topics                      [Topic]
            topic_id                uuid
            topic_name              string
            num_partitions          int32
            partition_metadata      [Partition]
                partition           int32
                racks               [string]
    """,
)

CONSUMER_GROUP_MEMBER_METADATA = RecordType(
    5,
    "ConsumerGroupMemberMetadata",
    "group_id string\nmember_id string",
    """
        instance_id                 string?     = null
        rack_id                     string?     = null
        client_id                   string
        client_host                 string
        subscribed_topic_names      [string]
        subscribed_topic_regex      string?     = null
        rebalance_timeout_ms        int32       = -1
        server_assignor             string?     = null
        classic_member_metadata     ClassicMember?  0+  #0
            session_timeout_ms      int32
            supported_protocols     [Protocol]
                name                string
                metadata            bytes
    """,
)

CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = RecordType(
    6,
    "ConsumerGroupTargetAssignmentMetadata",
    "group_id string",
    """
        assignment_epoch            int32
        assignment_timestamp        int64       0+  #0
    """,
)

CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = RecordType(
    7,
    "ConsumerGroupTargetAssignmentMember",
    "group_id string\nmember_id string",
    """
        topic_partitions            [TopicPartitions]
            topic_id                uuid
            partitions              [int32]
    """,
)

CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = RecordType(
    8,
    "ConsumerGroupCurrentMemberAssignment",
    "group_id string\nmember_id string",
    """
        member_epoch                int32
        previous_member_epoch       int32
        state                       int8
        assigned_partitions         [TopicPartitions]
            topic_id                uuid
            partitions              [int32]
            assignment_epochs       [int32]?    0+  #0  = null
        partitions_pending_revocation   [TopicPartitions]
    """,
)

CONSUMER_GROUP_REGULAR_EXPRESSION = RecordType(
    16,
    "ConsumerGroupRegularExpression",
    "group_id string\nregular_expression string",
    """
        topics                      [string]
        version                     int64
        timestamp                   int64
    """,
)

TYPES: dict[int, RecordType] = {each.number: each for each in list(globals().values()) if isinstance(each, RecordType)}
