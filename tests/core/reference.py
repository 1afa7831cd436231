"""Record batch v2 and CRC-32C in slow, plain Python: the oracle that the compiled core is compared with."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Headers = tuple[tuple[bytes, bytes | None], ...]

FIELDS = {
    "base_offset": (0, ">q"),
    "batch_length": (8, ">i"),
    "leader_epoch": (12, ">i"),
    "magic": (16, ">b"),
    "crc": (17, ">I"),
    "attributes": (21, ">h"),
    "last_offset_delta": (23, ">i"),
    "base_timestamp": (27, ">q"),
    "max_timestamp": (35, ">q"),
    "producer_id": (43, ">q"),
    "producer_epoch": (51, ">h"),
    "base_sequence": (53, ">i"),
    "record_count": (57, ">i"),
}
NO_PRODUCER = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1}


@dataclass(frozen=True)
class Record:
    value: bytes | None
    key: bytes | None = None
    timestamp: int = 0
    headers: Headers = ()
    offset: int = 0


def crc32c(data: bytes, crc: int = 0) -> int:
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value: int) -> bytes:
    raw = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def encode_record(record: Record, base_timestamp: int, offset_delta: int) -> bytes:
    body = b"".join(
        (
            b"\0",
            varint(record.timestamp - base_timestamp),
            varint(offset_delta),
            sized(record.key),
            sized(record.value),
            varint(len(record.headers)),
            *(sized(key) + sized(value) for key, value in record.headers),
        )
    )
    return varint(len(body)) + body


def encode_records(records: Sequence[Record]) -> bytes:
    return b"".join(encode_record(record, records[0].timestamp, i) for i, record in enumerate(records))


def patch(batch: bytes, *, seal: int = True, **fields: int) -> bytes:
    """The batch with other header fields, and unless told otherwise with the CRC that goes with them."""
    out = bytearray(batch)
    for name, value in fields.items():
        place, form = FIELDS[name]
        struct.pack_into(form, out, place, value)
    if seal:
        struct.pack_into(">I", out, 17, crc32c(bytes(out[21:])))
    return bytes(out)


def frame(payload: bytes, **fields: int) -> bytes:
    """A batch around these bytes, whatever they are."""
    defaults = {"batch_length": 49 + len(payload), "leader_epoch": -1, "magic": 2, **NO_PRODUCER}
    return patch(bytes(61) + payload, **{**defaults, **fields})


def encode(records: Sequence[Record], compress: Callable[[bytes], bytes] | None = None, **fields: int) -> bytes:
    payload = encode_records(records)
    computed = {
        "last_offset_delta": len(records) - 1,
        "base_timestamp": records[0].timestamp,
        "max_timestamp": max(record.timestamp for record in records),
        "record_count": len(records),
    }
    return frame(compress(payload) if compress else payload, **{**computed, **fields})


def fields_of(batch: bytes) -> dict[str, int]:
    return {name: struct.unpack_from(form, batch, place)[0] for name, (place, form) in FIELDS.items()}


class Lie(Exception):
    pass


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, size: int) -> bytes:
        if size < 0 or size > len(self.data) - self.place:
            raise Lie
        self.place += size
        return self.data[self.place - size : self.place]

    def varint(self, bits: int = 32) -> int:
        raw = shift = 0
        while True:
            byte = self.take(1)[0]
            raw |= (byte & 0x7F) << shift
            if raw >> bits:
                raise Lie
            if byte < 0x80:
                return raw >> 1 ^ -(raw & 1)
            shift += 7
            if shift >= bits:
                raise Lie

    def sized(self, nullable: bool = True) -> bytes | None:
        size = self.varint()
        return None if size == -1 and nullable else self.take(size)

    def finish(self) -> None:
        if self.place != len(self.data):
            raise Lie


def read_record(reader: Reader) -> Record:
    """With the deltas in the place of timestamp and offset."""
    body = Reader(reader.take(reader.varint()))
    body.take(1)
    timestamp, offset, key, value = body.varint(64), body.varint(), body.sized(), body.sized()
    headers = []
    count = body.varint()
    if count < 0:
        raise Lie
    for _ in range(count):
        name = body.sized(nullable=False)
        assert name is not None
        headers.append((name, body.sized()))
    body.finish()
    return Record(value, key, timestamp, tuple(headers), offset)


def walk(payload: bytes, count: int, *, base_timestamp: int, earliest: int, latest: int, keys_required: bool) -> int:
    """What kafpy._core.batch.check_records should say."""
    reader = Reader(payload)
    try:
        for index in range(count):
            record = read_record(reader)
            if record.offset != index or (keys_required and record.key is None):
                raise Lie
            timestamp = base_timestamp + record.timestamp
            if not -(2**63) <= timestamp < 2**63 or (timestamp != -1 and not earliest <= timestamp <= latest):
                return 32
        reader.finish()
    except Lie:
        return 87
    return 0


def decode(data: bytes, decompress: Callable[[int, bytes], bytes], control: bool = False) -> Iterator[Record]:
    """The records of consecutive whole batches."""
    while len(data) >= 61:
        fields = fields_of(data)
        size = 12 + fields["batch_length"]
        payload, data = data[61:size], data[size:]
        attributes = fields["attributes"]
        if attributes & 0x20 and not control:
            continue
        reader = Reader(decompress(attributes & 7, payload) if attributes & 7 else payload)
        for _ in range(fields["record_count"]):
            record = read_record(reader)
            timestamp = fields["max_timestamp"] if attributes & 8 else fields["base_timestamp"] + record.timestamp
            yield Record(record.value, record.key, timestamp, record.headers, fields["base_offset"] + record.offset)
