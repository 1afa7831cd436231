"""leader-epoch-checkpoint of a partition folder: where each leader's epoch began in the log (LeaderEpochFileCache).

    0                        version
    1                        number of entries
    0 0                      epoch, offset of its first record

A log's batches carry their epoch, so a file that is lost or damaged is made again from them.
"""

import bisect
import logging
from itertools import pairwise, starmap
from pathlib import Path
from typing import NamedTuple

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy.storage.checkpoints import write_atomically

logger = logging.getLogger(__name__)

LEADER_EPOCHS = "leader-epoch-checkpoint"


class Entry(NamedTuple):
    epoch: int
    start_offset: int


def bring_up_to_date(folder: Path, log: Log, *, new: bool) -> list[Entry]:
    """What the log and this broker's epoch say; written, durably, where the file says anything else.

    A new log's file is not synced by itself: lost with the folder it is not missed, lost alone it is made again.
    """
    path = folder / LEADER_EPOCHS
    found = None if new else read(path)
    entries = _within(log, _rebuilt(log) if found is None else found)
    if not entries or entries[-1].epoch < log.leader_epoch:
        # an epoch without records gives its place to the next one
        entries = [each for each in entries if each.start_offset < log.log_end_offset]
        entries.append(Entry(log.leader_epoch, log.log_end_offset))
    if entries != found:
        data = _text(entries)
        if new:
            path.write_bytes(data)
        else:
            write_atomically(path, data)
    return entries


def read(path: Path) -> list[Entry] | None:
    """None when there is no such file, or one that cannot be believed."""
    try:
        lines = path.read_bytes().decode("ascii").splitlines()
        if lines[:1] != ["0"] or int(lines[1]) != len(lines) - 2:
            raise ValueError
        entries = [Entry(*map(int, line.split(" "))) for line in lines[2:]]
        if any(min(each) < 0 for each in entries) or not all(starmap(_follows, pairwise(entries))):
            raise ValueError
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, IndexError):
        logger.warning("%s is damaged; it is made again from the log", path)
        return None
    return entries


def _follows(each: Entry, later: Entry) -> bool:
    return each.epoch < later.epoch and each.start_offset <= later.start_offset


def _text(entries: list[Entry]) -> bytes:
    lines = ["0", str(len(entries)), *(f"{each.epoch} {each.start_offset}" for each in entries), ""]
    return "\n".join(lines).encode()


def _within(log: Log, entries: list[Entry]) -> list[Entry]:
    """Cut to what the log holds: nothing begins behind its end; the epoch of its first record begins with it."""
    kept = [each for each in entries if each.start_offset <= log.log_end_offset and each.epoch <= log.leader_epoch]
    below = [each for each in kept if each.start_offset <= log.log_start_offset]
    if below:
        kept = [Entry(below[-1].epoch, log.log_start_offset), *kept[len(below) :]]
    return kept


def _rebuilt(log: Log) -> list[Entry]:
    """Epochs only grow along a log, so the offsets where they change are found by halving."""
    start, end = log.log_start_offset, log.log_end_offset
    entries: list[Entry] = []
    while start < end:
        epoch = _epoch_at(log, start)
        entries.append(Entry(epoch, start))
        offsets = range(start, end)
        start += max(bisect.bisect_right(offsets, epoch, key=lambda offset: _epoch_at(log, offset)), 1)
    return entries


def _epoch_at(log: Log, offset: int) -> int:
    return batch.header(log.read(offset, 1)).leader_epoch
