"""What consumers tell each other inside of a classic group (Kafka's ConsumerProtocol), as far as the broker takes part.

    subscription    int16 version, [string] topics, bytes? user data,
                    1+ [string topic, [int32] partitions] owned, 2+ int32 generation, 3+ string? rack
    assignment      int16 version, [string topic, [int32] partitions], bytes? user data

Strings have an int16 length. Later versions only add to the end, so what comes after the last known is passed over.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

PROTOCOL_TYPE = "consumer"
LATEST = 3

_LENGTH = Struct(">h")
_COUNT = Struct(">i")
_NULL = _COUNT.pack(-1)


class Malformed(ValueError):
    """Bytes that are none of these."""


class Subscription(NamedTuple):
    version: int
    topics: frozenset[str]
    owned: dict[str, list[int]]
    rack: str | None


class Assignment(NamedTuple):
    partitions: dict[str, list[int]]
    user_data: bytes


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 2
        self.version = self._unpack(_LENGTH, 0)
        if self.version < 0:
            raise Malformed("a negative version")

    def _unpack(self, struct: Struct, at: int) -> int:
        try:
            value: int = struct.unpack_from(self._data, at)[0]
        except StructError as error:
            raise Malformed("too short") from error
        return value

    def int32(self) -> int:
        value = self._unpack(_COUNT, self._at)
        self._at += 4
        return value

    def count(self) -> int:
        value = self.int32()
        if not 0 <= value <= (len(self._data) - self._at) // 2:
            raise Malformed("more elements than bytes")
        return value

    def _take(self, length: int) -> bytes:
        data = self._data[self._at : self._at + length]
        if length < 0 or len(data) < length:
            raise Malformed("too short")
        self._at += length
        return data

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise Malformed("null for a name")
        return text

    def nullable_string(self) -> str | None:
        length = self._unpack(_LENGTH, self._at)
        self._at += 2
        if length == -1:
            return None
        try:
            return self._take(length).decode()
        except UnicodeDecodeError as error:
            raise Malformed("no UTF-8") from error

    def nullable_bytes(self) -> bytes:
        length = self.int32()
        return b"" if length == -1 else self._take(length)

    def partitions(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for _ in range(self.count()):
            topic = self.string()
            found.setdefault(topic, []).extend(self.int32() for _ in range(self.count()))
        return found


def read_subscription(data: bytes) -> Subscription:
    reader = _Reader(data)
    topics = frozenset(reader.string() for _ in range(reader.count()))
    reader.nullable_bytes()
    owned = reader.partitions() if reader.version >= 1 else {}
    if reader.version >= 2:
        reader.int32()
    rack = reader.nullable_string() if reader.version >= 3 else None
    return Subscription(reader.version, topics, owned, rack)


def read_assignment(data: bytes) -> Assignment:
    """Of a member that has not been assigned anything yet it is empty."""
    if not data:
        return Assignment({}, b"")
    reader = _Reader(data)
    return Assignment(reader.partitions(), reader.nullable_bytes())


def write_assignment(version: int, partitions: Mapping[str, Sequence[int]]) -> bytes:
    pieces = [_LENGTH.pack(min(version, LATEST)), _COUNT.pack(len(partitions))]
    for topic, numbers in partitions.items():
        name = topic.encode()
        pieces += (_LENGTH.pack(len(name)), name, _COUNT.pack(len(numbers)), *map(_COUNT.pack, numbers))
    return b"".join([*pieces, _NULL])


def subscribed_topics(metadata: bytes) -> set[str] | None:
    """The topics of a subscription; None if these bytes are none. What comes after them is not looked at."""
    try:
        reader = _Reader(metadata)
        return {reader.string() for _ in range(reader.count())}
    except Malformed:
        return None
