"""Record batch v2 (magic 2), Kafka's unit of storage and transfer: check, stamp, encode, decode into columns.

Errors of a client's batch are Kafka's error codes, returned as ints: 0, 2 CORRUPT_MESSAGE, 10 MESSAGE_TOO_LARGE,
32 INVALID_TIMESTAMP, 76 UNSUPPORTED_COMPRESSION_TYPE, 87 INVALID_RECORD. Misuse and bytes that a broker should never
have sent raise. Long work releases the GIL; a buffer must not change while it is read.

Codecs: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. This module sees plain bytes and calls back for the rest.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

class CorruptBatch(ValueError):
    """Bytes that are no record batch, or one that contradicts itself."""

class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    @property
    def codec(self) -> int: ...
    @property
    def size(self) -> int:
        """Of the whole batch: 12 + batch_length."""

class BytesColumn(NamedTuple):
    """Arrow's variable-size binary layout: value i is data[offsets[i]:offsets[i + 1]].

    offsets: int32, or int64 when data has 2 GiB or more; one entry more than there are values. validity: a bitmap,
    bit i & 7 of byte i >> 3 is 0 when value i is null; None when no value can be null. Without a copy:
    pyarrow.Array.from_buffers(pyarrow.binary(), n, [pyarrow.py_buffer(b) for b in (validity, offsets, data)]),
    with large_binary() for int64 offsets.
    """

    offsets: Any
    data: Any
    validity: Any

class HeadersColumn(NamedTuple):
    """Arrow's list<struct<key, value>>: the headers of record i are entries offsets[i] to offsets[i + 1] (int32)."""

    offsets: Any
    keys: BytesColumn
    values: BytesColumn

class Columns(NamedTuple):
    """Records as numpy arrays, one entry each; see BytesColumn and HeadersColumn for the nested ones."""

    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    timestamp_types: NDArray[np.int8]
    """0 CreateTime, 1 LogAppendTime."""
    leader_epochs: NDArray[np.int32]
    keys: BytesColumn
    values: BytesColumn
    headers: HeadersColumn
    next_offset: int
    """The offset after the last whole batch, skipped ones included; -1 when there was none."""

def header(data: Buffer) -> BatchHeader:
    """The header at the start of `data`, which may be cut off after 61 bytes. CorruptBatch when it is none."""

def split(data: Buffer) -> list[int]:
    """The bounds of the whole batches in a record set: batch i is data[bounds[i]:bounds[i + 1]].

    A cut-off batch at the end, as in Fetch replies, is left out. CorruptBatch when something else follows a batch.
    """

def intact(data: Buffer) -> bool:
    """Whether a whole batch with the right CRC starts `data`."""

def check(
    data: Buffer,
    *,
    now_ms: int,
    max_message_bytes: int = 1048588,
    before_max_ms: int = 9223372036854775807,
    after_max_ms: int = 3600000,
    log_append_time: bool = False,
    keys_required: bool = False,
) -> int:
    """The error code for what a client produced to one partition: exactly one batch, nothing else.

    Compressed batches are taken on header and CRC; `check_records` looks into them.
    """

def check_records(
    records: Buffer,
    count: int,
    *,
    base_timestamp: int = 0,
    earliest: int = -9223372036854775808,
    latest: int = 9223372036854775807,
    keys_required: bool = False,
) -> int:
    """The error code for the decompressed records of a batch whose header says `count` and `base_timestamp`.

    Timestamps other than -1 must lie in [earliest, latest].
    """

def max_timestamp(records: Buffer, count: int, base_timestamp: int) -> int:
    """The newest time in a batch's (decompressed) records, -1 when none has one. CorruptBatch when they are unsound."""

def first_at(records: Buffer, count: int, base_timestamp: int, timestamp: int) -> tuple[int, int] | None:
    """Offset delta and timestamp of the first decompressed record that is not older than `timestamp`."""

def stamp(data: Buffer, base_offset: int, leader_epoch: int) -> None:
    """Writes both into a batch in place; neither is covered by the CRC."""

def stamp_append_time(data: Buffer, now_ms: int) -> None:
    """Makes a batch one of LogAppendTime in place, with a new CRC."""

def stamp_create_time(data: Buffer) -> None:
    """Makes a client's batch what a CreateTime topic stores, in place: the max timestamp is that of its records (where
    they can be seen, uncompressed) and the LogAppendTime bit is off. The CRC is new only where that changed something.
    """

def encode(
    values: Sequence[bytes | None] | BytesColumn,
    *,
    timestamps: int | Sequence[int] | NDArray[np.int64] | Buffer,
    keys: Sequence[bytes | None] | BytesColumn | None = None,
    headers: Sequence[Sequence[tuple[str | bytes, bytes | None]]] | HeadersColumn | None = None,
    codec: int = 0,
    compress: Callable[[bytes], Buffer] | None = None,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """One batch of many records, as Kafka's producer writes it.

    timestamps: one for all, or one each (ints or an int64 buffer). keys None: all null. compress packs the records'
    bytes for codecs 1 to 4.
    """

def rebuild(header: BatchHeader, codec: int, payload: Buffer) -> bytes:
    """The batch of `header` around another payload, its records packed by `codec`; length and CRC are new."""

def decode_columns(
    record_sets: Buffer,
    decompress: Callable[[int, memoryview], Buffer] | None = None,
    *,
    control: bool = False,
    check_crcs: bool = True,
) -> Columns:
    """The records of consecutive batches, as fetched or as a segment file holds them, without an object per record.

    decompress(codec, payload) opens compressed batches. Control batches are left out unless `control`; a cut-off batch
    at the end is ignored. CorruptBatch for a wrong CRC (unless told not to check) or records that do not add up.
    """

def decode_pairs(
    record_sets: Buffer, decompress: Callable[[int, memoryview], Buffer] | None = None
) -> tuple[list[tuple[int, bytes | None, bytes | None]], int]:
    """Offset, key and value of every record, and the offset after the last whole batch; errors as in decode_columns.

    For the broker's own topics, whose records become state of their own; everything else is read as columns.
    """
