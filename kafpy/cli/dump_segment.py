"""Segments as kafka-dump-log prints them: a line per batch; with deep iteration a line per record below it."""

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kafpy._core import batch
from kafpy._core.batch import BatchHeader
from kafpy.cli.dump_report import DumpError, Report
from kafpy.storage import compression

Decoder = Callable[[int, bytes, bytes | None], tuple[str | None, str | None]]
"""Offset, key and value to what stands after `key:` and `payload:`."""

HEADER_SIZE = 61
SIZE_END = 12
SMALLEST = 14
MOST_DECOMPRESSED = 1 << 31
LAST_SEQUENCE = 2**31 - 1
CODECS = {number: name for name, number in compression.CODECS.items()}
APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 8, 16, 32, 64
CONTROL_TYPES = {0: "ABORT", 1: "COMMIT"}
OTHER_CONTROL_TYPES = {
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}


class How(NamedTuple):
    deep: bool
    contents: bool
    skip_metadata: bool
    max_bytes: int
    decode: Decoder | None


def dump(path: Path, how: How, report: Report) -> None:
    if path.suffix == ".log":
        report.line(f"Log starting offset: {base_offset(path)}")
    elif path.name == "bootstrap.checkpoint":
        report.line("KRaft bootstrap snapshot")
    else:
        end, _, epoch = path.stem.partition("-")
        if not (end.isdecimal() and epoch.isdecimal()):
            raise DumpError(f"{path}: the name of a KRaft snapshot is OFFSET-EPOCH.checkpoint")
        report.line(f"Snapshot end offset: {int(end)}, epoch: {int(epoch)}")
    data = mapped(path)[: how.max_bytes]
    last, position = -1, 0
    for position, found in batches(path, data):
        header = found.header
        report.line(_batch_line(header, position, batch.intact(found.data)))
        if how.deep:
            for offset, text in _records(header, found.data, how):
                if offset != last + 1:
                    report.not_consecutive(path, last, offset)
                last = offset
                report.line(text)
        position += header.size
    rest = len(data) - position
    if rest > 0 and how.max_bytes == 2**31 - 1:
        report.line(f"Found {rest} invalid bytes at the end of {path.name}")


def base_offset(path: Path) -> int:
    name = path.name.partition(".")[0]
    if not name.isdecimal():
        raise DumpError(f"{path}: the name of a segment's file is the offset that it begins with")
    return int(name)


def mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


class Batch(NamedTuple):
    header: BatchHeader
    data: memoryview


def batches(path: Path, data: memoryview, position: int = 0) -> Iterator[tuple[int, Batch]]:
    """With their positions, up to one that is cut off."""
    while len(data) - position >= HEADER_SIZE:
        size = int.from_bytes(data[position + 8 : position + SIZE_END], "big", signed=True)
        if size < SMALLEST:
            raise DumpError(f"{path}: position {position}: a batch of {size} bytes is smaller than any can be")
        if position + SIZE_END + size > len(data):
            return
        magic = data[position + 16]
        if magic != 2:
            raise DumpError(f"{path}: position {position}: records of format {magic}; only format 2 is read here")
        whole = data[position : position + SIZE_END + size]
        try:
            header = batch.header(whole)
        except batch.CorruptBatch as error:
            raise DumpError(f"{path}: position {position}: {error}") from None
        yield position, Batch(header, whole)
        position += header.size


def _batch_line(header: BatchHeader, position: int, valid: bool) -> str:
    last_sequence = header.base_sequence
    if last_sequence != -1:
        last_sequence = _sequence(header, header.last_offset_delta)
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.attributes & DELETE_HORIZON else "OptionalLong.empty"
    return (
        f"baseOffset: {header.base_offset} lastOffset: {last_offset(header)} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {last_sequence} producerId: {header.producer_id} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.leader_epoch} "
        f"isTransactional: {_flag(header, TRANSACTIONAL)} isControl: {_flag(header, CONTROL)} "
        f"deleteHorizonMs: {horizon} position: {position} {_time_type(header)}: {header.max_timestamp} "
        f"size: {header.size} magic: {header.magic} compresscodec: {CODECS.get(header.codec, header.codec)} "
        f"crc: {header.crc} isvalid: {str(valid).lower()}"
    )


def last_offset(header: BatchHeader) -> int:
    return header.base_offset + header.last_offset_delta


def _flag(header: BatchHeader, bit: int) -> str:
    return "true" if header.attributes & bit else "false"


def _time_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.attributes & APPEND_TIME else "CreateTime"


def _sequence(header: BatchHeader, delta: int) -> int:
    """Wraps from 2^31-1 to 0."""
    return header.base_sequence if header.base_sequence == -1 else (header.base_sequence + delta) & LAST_SEQUENCE


def opened(codec: int, payload: memoryview) -> bytes:
    return compression.decompress(codec, bytes(payload), MOST_DECOMPRESSED)


def _records(header: BatchHeader, data: memoryview, how: How) -> Iterator[tuple[int, str]]:
    """Offsets and lines; a record of which nothing is shown leaves an empty one."""
    try:
        columns = batch.decode_columns(data, opened, control=True, check_crcs=False)
    except (batch.CorruptBatch, compression.CompressionError) as error:
        raise DumpError(f"the batch at offset {header.base_offset} cannot be read: {error}") from None
    keys, values = _column(columns.keys), _column(columns.values)
    header_keys, header_bounds = _column(columns.headers.keys), columns.headers.offsets.tolist()
    control = bool(header.attributes & CONTROL)
    time_type = _time_type(header)
    times = columns.timestamps.tolist()
    for at, offset in enumerate(columns.offsets.tolist()):
        key, value = keys[at], values[at]
        if how.skip_metadata:
            parts = [] if control or not how.contents else _contents(offset, key, value, how.decode)
            yield offset, f"| {' '.join(parts)}" if parts else ""
            continue
        names = ",".join(_text(name) for name in header_keys[header_bounds[at] : header_bounds[at + 1]])
        line = (
            f"| offset: {offset} {time_type}: {times[at]} keySize: {_size(key)} valueSize: {_size(value)} "
            f"sequence: {_sequence(header, offset - header.base_offset)} headerKeys: [{names}]"
        )
        if control:
            line += _control(key, value)
        elif how.contents:
            line = " ".join([line, *_contents(offset, key, value, how.decode)])
        yield offset, line


def _column(column: Any) -> list[bytes | None]:
    bounds, data, validity = column.offsets.tolist(), bytes(column.data), column.validity
    bits = None if validity is None else bytes(validity)
    return [
        None if bits is not None and not bits[at >> 3] >> (at & 7) & 1 else data[bounds[at] : bounds[at + 1]]
        for at in range(len(bounds) - 1)
    ]


def _contents(offset: int, key: bytes | None, value: bytes | None, decode: Decoder | None) -> list[str]:
    if decode is not None:
        if key is None:
            raise DumpError(
                f"Failed to decode message at offset {offset} using offset topic decoder (message had a missing key)"
            )
        key_text, payload = decode(offset, key, value)
    else:
        key_text = None if key is None else _text(key)
        payload = None if value is None else _text(value)
    shown = [] if key_text is None else [f"key: {key_text}"]
    return shown if payload is None else [*shown, f"payload: {payload}"]


def _control(key: bytes | None, value: bytes | None) -> str:
    kind = int.from_bytes((key or b"")[2:4], "big", signed=True) if key else -1
    if kind in CONTROL_TYPES:
        epoch = int.from_bytes((value or b"")[2:6], "big", signed=True)
        return f" endTxnMarker: {CONTROL_TYPES[kind]} coordinatorEpoch: {epoch}"
    return f" controlType: {OTHER_CONTROL_TYPES.get(kind, 'UNKNOWN')}({kind})"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode("utf-8", "replace")
