"""Offset and time indexes as kafka-dump-log prints them, compared with the segment beside them.

.index       relative offset i32, position i32
.timeindex   timestamp i64, relative offset i32
"""

import bisect
import struct
from pathlib import Path

from kafpy._core import batch
from kafpy.cli.dump_report import DumpError, Report
from kafpy.cli.dump_segment import APPEND_TIME, HEADER_SIZE, Batch, base_offset, batches, last_offset, mapped, opened

OFFSETS, TIMES = struct.Struct(">ii"), struct.Struct(">qi")
NO_TIMESTAMP = -1


def dump_offsets(path: Path, sanity_only: bool, verify_only: bool, report: Report) -> None:
    base = base_offset(path)
    entries = _entries(path, OFFSETS)
    segment = path.with_suffix(".log")
    data = mapped(segment)
    if not entries:
        report.line(f"{path} is empty.")
        return
    if sanity_only:
        _sane(path, base, entries[-1][0])
        report.line(f"{path} passed sanity check.")
        return
    for number, (relative, position) in enumerate(entries):
        if relative == 0 and number > 0:
            return  # a crash left zeros
        _, found = next(batches(segment, data, position), (0, None))
        if found is None:
            raise DumpError(f"{path}: offset {base + relative} points to {position}, where no batch begins")
        if last_offset(found.header) != base + relative:
            report.index_mismatch(path, base + relative, last_offset(found.header))
        if not verify_only:
            report.line(f"offset: {base + relative} position: {position}")


def dump_times(path: Path, sanity_only: bool, verify_only: bool, report: Report) -> None:
    base = base_offset(path)
    entries = _entries(path, TIMES)
    positions = _entries(path.with_suffix(".index"), OFFSETS)
    segment = path.with_suffix(".log")
    data = mapped(segment)
    if sanity_only:
        if entries:
            _sane_times(path, base, entries)
        report.line(f"{path} passed sanity check.")
        return
    before = NO_TIMESTAMP
    for number, (timestamp, relative) in enumerate(entries):
        if relative == 0 and number > 0:
            return  # a crash left zeros
        offset = base + relative
        start = _floor(positions, relative)
        found = next((each for _, each in batches(segment, data, start) if last_offset(each.header) >= offset), None)
        if found is None or last_offset(found.header) != offset:
            report.offset_not_found(path, offset, -1 if found is None else last_offset(found.header))
        else:
            newest = _newest(found)
            if newest != timestamp:
                report.time_mismatch(path, timestamp, newest)
            if before >= timestamp:
                report.time_out_of_order(path, timestamp, before)
        if not verify_only:
            report.line(f"timestamp: {timestamp} offset: {offset}")
        before = timestamp


def _entries(path: Path, layout: struct.Struct) -> list[tuple[int, int]]:
    data = path.read_bytes()
    whole = len(data) - len(data) % layout.size
    return list(layout.iter_unpack(data[:whole]))


def _sane(path: Path, base: int, last: int) -> None:
    size, entry = path.stat().st_size, OFFSETS.size
    if last < 0:
        raise DumpError(
            f"Corrupt index found, index file ({path.absolute()}) has non-zero size but the last offset is "
            f"{base + last} which is less than the base offset {base}"
        )
    if size % entry:
        raise DumpError(
            f"Index file {path.absolute()} is corrupt, found {size} bytes which is neither positive nor a multiple "
            f"of {entry}"
        )


def _sane_times(path: Path, base: int, entries: list[tuple[int, int]]) -> None:
    (first, _), (last, relative) = entries[0], entries[-1]
    if last < first:
        raise DumpError(
            f"Corrupt time index found, time index file ({path.absolute()}) has non-zero size but the last timestamp "
            f"is {last} which is less than the first timestamp {first}"
        )
    if relative < 0:
        raise DumpError(
            f"Corrupt time index found, time index file ({path.absolute()}) has non-zero size but the last offset is "
            f"{base + relative} which is less than the first offset {base}"
        )
    size = path.stat().st_size
    if size % TIMES.size:
        raise DumpError(
            f"Time index file {path.absolute()} is corrupt, found {size} bytes which is neither positive nor a "
            f"multiple of {TIMES.size}"
        )


def _floor(positions: list[tuple[int, int]], relative: int) -> int:
    """Where to begin to look; what comes after zeros that a crash left is passed over."""
    end = next((at for at, entry in enumerate(positions) if at and entry == (0, 0)), len(positions))
    at = bisect.bisect_right(positions, relative, hi=end, key=lambda entry: entry[0])
    return positions[at - 1][1] if at else 0


def _newest(found: Batch) -> int:
    header = found.header
    if header.attributes & APPEND_TIME:
        return header.max_timestamp
    records = found.data[HEADER_SIZE:]
    plain = opened(header.codec, records) if header.codec else records
    return batch.max_timestamp(plain, header.record_count, header.base_timestamp)
