"""From a timestamp to the first record that is not older."""

from typing import NamedTuple

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy.storage import compression

HEADER_BYTES = 61
LOG_APPEND_TIME = 0x08
MAX_OPENED_BYTES = 64 << 20


class TimedOffset(NamedTuple):
    offset: int
    timestamp: int


def offset_for_time(log: Log, timestamp: int) -> TimedOffset | None:
    """The log's index leads to a batch; the record inside it is found by walking the batch, decompressed if need be.

    A batch that does not open is answered with its first offset: reading from there loses nothing. So is one that holds
    the log's start, with that.
    """
    found = _in_batch(log.batch_for_time(timestamp), timestamp)
    return None if found is None else found._replace(offset=max(found.offset, log.log_start_offset))


def _in_batch(data: bytes | None, timestamp: int) -> TimedOffset | None:
    if data is None:
        return None
    header = batch.header(data)
    if header.attributes & LOG_APPEND_TIME:
        return TimedOffset(header.base_offset, header.max_timestamp)
    try:
        records = compression.decompress(header.codec, data[HEADER_BYTES:], MAX_OPENED_BYTES)
        found = batch.first_at(records, header.record_count, header.base_timestamp, timestamp)
    except (compression.CompressionError, batch.CorruptBatch):
        found = None
    if found is None:
        return TimedOffset(header.base_offset, header.max_timestamp)
    delta, found_timestamp = found
    return TimedOffset(header.base_offset + delta, found_timestamp)
