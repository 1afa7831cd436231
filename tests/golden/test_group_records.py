"""The records of `__consumer_offsets`: Kafka's bytes are read to what went in, and written again the same."""

from pathlib import Path
from typing import Any

import pytest

from kafpy.coordinator.group import offset_record, records
from kafpy.coordinator.group.offset_record import CommittedOffset

LINES = (Path(__file__).parent / "kafka-4.3" / "group-records.txt").read_text().splitlines()
KAFKA = {
    name: (bytes.fromhex(key), None if value == "-" else bytes.fromhex(value))
    for name, key, value in (line.split() for line in LINES)
}
TOPIC_ID = bytes(range(1, 17))
NONE = bytes(16)
OFFSETS = {
    "offset-v0": CommittedOffset(1234567890123, -1, "é meta", 1700000000000, -1, NONE),
    "offset-v1": CommittedOffset(1234567890123, -1, "é meta", 1700000000000, 1700000600000, NONE),
    "offset-v2": CommittedOffset(1234567890123, -1, "é meta", 1700000000000, -1, NONE),
    "offset-v3": CommittedOffset(1234567890123, 5, "é meta", 1700000000000, -1, NONE),
    "offset-v4": CommittedOffset(1234567890123, 5, "é meta", 1700000000000, -1, TOPIC_ID),
    "offset-no-id": CommittedOffset(0, -1, "", -1, -1, NONE),
    "offset-long": CommittedOffset(-1, 2**31 - 1, "m" * 300, 2**63 - 1, -1, NONE),
    "offset-legacy": CommittedOffset(3, -1, "x", 4, -1, NONE),
}
OTHERS = sorted(name for name, (_, value) in KAFKA.items() if not name.startswith("offset") and value is not None)


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_are_read(name: str) -> None:
    key, value = KAFKA[name]
    assert value is not None
    assert offset_record.read_key(key) == (("g", "t", 0) if name == "offset-legacy" else ("grüße", "orders", 7))
    assert offset_record.read_value(value) == OFFSETS[name]


@pytest.mark.parametrize("name", ["offset-v1", "offset-v4", "offset-no-id", "offset-long"])
def test_offsets_are_written(name: str) -> None:
    assert offset_record.offset_record("grüße", "orders", 7, OFFSETS[name]) == KAFKA[name]


def test_tombstones() -> None:
    assert offset_record.offset_tombstone("grüße", "orders", 7) == KAFKA["offset-tombstone"]
    assert records.GROUP_METADATA.record(None, group="g") == KAFKA["group-tombstone"]


@pytest.mark.parametrize("name", OTHERS)
def test_other_records(name: str) -> None:
    key, value = KAFKA[name]
    assert value is not None
    kind = records.TYPES[int.from_bytes(key[:2], "big")]
    read = kind.read_value(value)
    fields = {field: getattr(kind.read_key(key), field) for field in kind.key_message.cls.__slots__}
    if int.from_bytes(value[:2], "big") == kind.written:
        assert kind.record(read, **fields) == (key, value)
    else:
        assert name in {f"group-v{version}" for version in (0, 1, 2, 4)}
        assert kind.value_message.program(value[1]).write(read, value[:2]) == value


def test_what_is_in_them() -> None:
    def read(name: str) -> Any:
        key, value = KAFKA[name]
        assert value is not None
        return records.TYPES[int.from_bytes(key[:2], "big")].read_value(value)

    group = read("group-v3")
    assert (group.protocol_type, group.generation, group.protocol, group.leader) == ("consumer", 9, "range", "c-1")
    member = group.members[0]
    assert (member.group_instance_id, member.rebalance_timeout, member.session_timeout) == ("i-1", 300000, 45000)
    assert (member.subscription, member.assignment) == (b"\1\2\3", b"\4\5")
    assert read("group-v0").members[0].rebalance_timeout == -1
    assert read("group-v1").current_state_timestamp == -1
    assert read("consumer-metadata").metadata_hash == 0x1122334455667788
    assert read("consumer-member").subscribed_topic_regex == "x.*"
    assert read("consumer-member-classic").classic_member_metadata.supported_protocols[0].metadata == b"\x09"
    assert read("consumer-target-metadata").assignment_timestamp == 99
    current = read("consumer-current")
    assert (current.member_epoch, current.previous_member_epoch, current.state) == (3, 2, 1)
    assert current.assigned_partitions[0].assignment_epochs == [3, 3]
    assert current.partitions_pending_revocation[0].assignment_epochs is None
    assert (read("consumer-regex").topics, read("consumer-regex").version) == (["ab"], 5)


def test_a_tagged_struct_that_is_null() -> None:
    """As a broker of Apache Kafka 4.3 wrote it: null in so many words (uvarint 0), for its default is an empty one."""
    value = (
        b"\0\0\0\0\x11console-consumer\x0b/127.0.0.1\2\2z\1\0\4\x93\xe0\0"  # up to the assignor
        b"\1\0\1\0"  # one tagged field, number 0, one byte
    )
    member = records.CONSUMER_GROUP_MEMBER_METADATA.read_value(value)
    assert (member.client_id, member.rebalance_timeout_ms) == ("console-consumer", 300000)
    assert member.classic_member_metadata is None
    assert records.CONSUMER_GROUP_MEMBER_METADATA.record(member, group_id="g", member_id="m").value == value


def test_bytes_that_are_no_record() -> None:
    key, value = KAFKA["offset-v4"]
    assert value is not None
    for size in range(len(key)):
        with pytest.raises(ValueError):
            offset_record.read_key(key[:size])
    for size in range(len(value)):
        with pytest.raises(ValueError):
            offset_record.read_value(value[:size])
    for damaged in (b"\0\5" + value[2:], b"\xff\xff" + value[2:], value[:14] + b"\0" + value[15:]):
        with pytest.raises(ValueError):
            offset_record.read_value(damaged)
    with pytest.raises(ValueError):
        offset_record.read_key(key + b"\0")
    group = KAFKA["group-v4"][1]
    assert group is not None
    with pytest.raises(ValueError):
        records.GROUP_METADATA.read_value(b"\0\5" + group[2:])
    with pytest.raises(ValueError):
        records.CONSUMER_GROUP_METADATA.read_value(b"\0\1" + bytes(5))
