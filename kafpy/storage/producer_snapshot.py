"""NNNNNNNNNNNNNNNNNNNN.snapshot: what a log knew of its producers at that offset, in Kafka's bytes.

The layout (ProducerStateManager):

    version i16 = 1 | crc u32 (CRC-32C of all that follows) | count i32 | per producer:
    id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64,
    coordinator epoch i32, first offset of its transaction i64 (-1: none)

A snapshot saves a start from reading the log up to it. One that is damaged, or lies above what is known to be on disk,
is passed over: the log itself tells the same, slower.
"""

import logging
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kafpy._core.crc32c import crc32c

logger = logging.getLogger(__name__)

VERSION = 1
NO_COORDINATOR_EPOCH = -1
NO_TRANSACTION = -1
KEPT = 3
"""One may lie above what is on disk after a crash; those below it are still of use."""

_HEADER = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_END = 6
_SEQUENCE_MASK = 0x7FFFFFFF


class ProducerEntry(NamedTuple):
    """The last batch of a producer, in the order that Log takes and gives."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_offset_delta: int
    base_offset: int
    timestamp: int


class Snapshot(NamedTuple):
    offset: int
    producers: list[ProducerEntry]


NOTHING = Snapshot(0, [])


def write(folder: Path, offset: int, producers: Iterable[tuple[int, int, int, int, int, int]]) -> None:
    """Keeps the newest few of the folder's snapshots. Sequences wrap from 2^31-1 to 0, as Kafka counts them.

    Not synced: the CRC tells when a crash tore it.
    """
    path = folder / f"{offset:020}.snapshot"
    if offset == 0 or path.exists():
        return
    entries = b"".join(
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            (entry.base_sequence + entry.last_offset_delta) & _SEQUENCE_MASK,
            entry.base_offset + entry.last_offset_delta,
            entry.last_offset_delta,
            entry.timestamp,
            NO_COORDINATOR_EPOCH,
            NO_TRANSACTION,
        )
        for entry in map(ProducerEntry._make, producers)
    )
    body = struct.pack(">i", len(entries) // _ENTRY.size) + entries
    path.write_bytes(struct.pack(">hI", VERSION, crc32c(body)) + body)
    for other in sorted(folder.glob("*.snapshot"))[:-KEPT]:
        other.unlink()


def newest(folder: Path, up_to: int) -> Snapshot:
    """The snapshot to start from in a log that surely holds all below `up_to`."""
    found = [(int(path.stem), path) for path in folder.glob("*.snapshot") if _is_offset(path.stem)]
    for offset, path in sorted(found, reverse=True):
        if offset > up_to:
            continue
        producers = _read(path)
        if producers is not None:
            return Snapshot(offset, producers)
    return NOTHING


def remove_above(folder: Path, end: int) -> None:
    """Those of records that a crash took: others will get their offsets."""
    for path in folder.glob("*.snapshot"):
        if _is_offset(path.stem) and int(path.stem) > end:
            path.unlink()


def _is_offset(text: str) -> bool:
    return len(text) == 20 and text.isascii() and text.isdigit()


def _read(path: Path) -> list[ProducerEntry] | None:
    data = path.read_bytes()
    entries = data[_HEADER.size :]
    if len(data) >= _HEADER.size:
        version, crc, count = _HEADER.unpack_from(data)
        if version == VERSION and crc == crc32c(data[_CRC_END:]) and len(entries) == count * _ENTRY.size:
            return [_entry(*fields) for fields in _ENTRY.iter_unpack(entries)]
    logger.warning("%s is damaged and passed over; the log tells the same, slower", path)
    return None


def _entry(
    producer_id: int, epoch: int, last_sequence: int, last_offset: int, delta: int, timestamp: int, *_: int
) -> ProducerEntry:
    base_sequence = (last_sequence - delta) & _SEQUENCE_MASK
    return ProducerEntry(producer_id, epoch, base_sequence, delta, last_offset - delta, timestamp)
