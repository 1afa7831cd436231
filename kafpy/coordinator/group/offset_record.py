"""The records of committed offsets, read and written by hand: a partition of `__consumer_offsets` may have millions.

    key     int16 type: 0 or 1, string group, string topic, int32 partition
    value   int16 version, int64 offset, [3+ int32 leader epoch], string metadata, int64 commit timestamp,
            [1 int64 expire timestamp], [4 tagged fields: 0 topic id]

Strings have an int16 length; in version 4 of the value a varint of the length plus one. Kafka 4.3 writes key type 1,
and value version 1 where the request had a retention time, else 4.
"""

from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from kafpy.coordinator.result import Record

LATEST = 4
LONGEST_REMEMBERED = 256
"""Of groups' ids: anyone may send one of 32 KB."""
NO_TOPIC_ID = bytes(16)
LEGACY_KEY, KEY = b"\0\0", b"\0\1"

_HEAD = Struct(">hqi")  # version, offset, leader epoch
_HEAD_BEFORE_3 = Struct(">hq")
_LENGTH = Struct(">h")
_TIMESTAMP = Struct(">q")
_PARTITION = Struct(">i")
_PLAIN = Struct(">hqiBqB")
"""A whole value, as nearly all are: without metadata and tagged fields."""


class MalformedRecord(ValueError):
    """A record that no Kafka could have written."""


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    """-1: by the group's retention."""
    topic_id: bytes
    """Zeros where it was committed by name alone."""


def read_key(key: bytes) -> tuple[str, str, int]:
    """Group, topic, partition."""
    try:
        group_end = 4 + _LENGTH.unpack_from(key, 2)[0]
        topic_end = group_end + 2 + _LENGTH.unpack_from(key, group_end)[0]
        if group_end < 4 or topic_end < group_end + 2 or len(key) != topic_end + 4:
            raise MalformedRecord("lengths that do not add up")
        (partition,) = _PARTITION.unpack_from(key, topic_end)
        return key[4:group_end].decode(), key[group_end + 2 : topic_end].decode(), partition
    except (StructError, ValueError) as error:
        raise MalformedRecord(f"an offset's key {key!r}: {error}") from error


def _key_prefix(group_id: str, topic: str) -> bytes:
    group, name = group_id.encode(), topic.encode()
    return b"".join((KEY, _LENGTH.pack(len(group)), group, _LENGTH.pack(len(name)), name))


_remembered_prefix = lru_cache(1 << 14)(_key_prefix)


def write_key(group_id: str, topic: str, partition: int) -> bytes:
    prefix = _remembered_prefix if len(group_id) <= LONGEST_REMEMBERED else _key_prefix
    return prefix(group_id, topic) + _PARTITION.pack(partition)


def read_value(value: bytes) -> CommittedOffset:
    try:
        version, offset = _HEAD_BEFORE_3.unpack_from(value)
        if not 0 <= version <= LATEST:
            raise MalformedRecord(f"no version {version}")
        leader_epoch, at = (_HEAD.unpack_from(value)[2], 14) if version >= 3 else (-1, 10)
        if version >= 4:
            length, at = _varint(value, at)
            length -= 1
        else:
            length, at = _LENGTH.unpack_from(value, at)[0], at + 2
        end = at + length
        if length < 0 or end > len(value):
            raise MalformedRecord("metadata beyond the end")
        metadata = value[at:end].decode()
        (commit_timestamp,) = _TIMESTAMP.unpack_from(value, end)
        expire_timestamp = _TIMESTAMP.unpack_from(value, end + 8)[0] if version == 1 else -1
        topic_id = _topic_id(value, end + 8) if version >= 4 else NO_TOPIC_ID
        return CommittedOffset(offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id)
    except (StructError, IndexError, ValueError) as error:
        raise MalformedRecord(f"an offset's value {value!r}: {error}") from error


def write_value(committed: CommittedOffset) -> bytes:
    offset, leader_epoch, text, commit_timestamp, expire_timestamp, topic_id = committed
    if not text and expire_timestamp == -1 and topic_id == NO_TOPIC_ID:
        return _PLAIN.pack(LATEST, offset, leader_epoch, 1, commit_timestamp, 0)
    metadata = committed.metadata.encode()
    timestamp = _TIMESTAMP.pack(committed.commit_timestamp)
    if committed.expire_timestamp != -1:
        head = _HEAD_BEFORE_3.pack(1, committed.offset)
        expire = _TIMESTAMP.pack(committed.expire_timestamp)
        return b"".join((head, _LENGTH.pack(len(metadata)), metadata, timestamp, expire))
    head = _HEAD.pack(LATEST, committed.offset, committed.leader_epoch)
    tags = b"\0" if committed.topic_id == NO_TOPIC_ID else b"\x01\0\x10" + committed.topic_id
    return b"".join((head, _write_varint(len(metadata) + 1), metadata, timestamp, tags))


def offset_record(group_id: str, topic: str, partition: int, committed: CommittedOffset) -> Record:
    return Record(write_key(group_id, topic, partition), write_value(committed))


def offset_tombstone(group_id: str, topic: str, partition: int) -> Record:
    return Record(write_key(group_id, topic, partition), None)


def _topic_id(value: bytes, at: int) -> bytes:
    count, at = _varint(value, at)
    found = NO_TOPIC_ID
    for _ in range(count):
        tag, at = _varint(value, at)
        size, at = _varint(value, at)
        if at + size > len(value):
            raise MalformedRecord("a tagged field beyond the end")
        if tag == 0 and size == 16:
            found = value[at : at + 16]
        at += size
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def _write_varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    return bytes((value & 0x7F | 0x80,)) + _write_varint(value >> 7)
