"""What a topic holds, as tests compare it. Reads the logs themselves; no client and no connection."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy.storage import compression

READ_BYTES = 4 << 20
MAX_OPENED_BYTES = 256 << 20


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    """Milliseconds since 1970."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def read(topic: str, partition: int, log: Log) -> Iterator[Record]:
    """From the log's start to its high watermark; markers of transactions are left out."""
    offset, end = log.log_start_offset, log.high_watermark
    while offset < end:
        try:
            columns = batch.decode_columns(log.read(offset, READ_BYTES), _open)
        except IndexError:  # retention was faster
            if log.log_start_offset <= offset:
                raise
            offset = log.log_start_offset
            continue
        keys, values = _items(columns.keys), _items(columns.values)
        names, contents = _items(columns.headers.keys), _items(columns.headers.values)
        bounds = columns.headers.offsets.tolist()
        found = zip(columns.offsets.tolist(), columns.timestamps.tolist(), strict=True)
        for row, (at, timestamp) in enumerate(found):
            if offset <= at < end:
                headers = tuple(
                    ((names[i] or b"").decode("utf-8", "replace"), contents[i]) for i in range(*bounds[row : row + 2])
                )
                yield Record(topic, partition, at, timestamp, keys[row], values[row], headers)
        offset = columns.next_offset


def _items(column: batch.BytesColumn) -> list[bytes | None]:
    data, bounds, valid = bytes(column.data), column.offsets.tolist(), column.validity
    return [
        None if valid is not None and not valid[row >> 3] >> (row & 7) & 1 else data[bounds[row] : bounds[row + 1]]
        for row in range(len(bounds) - 1)
    ]


def _open(codec: int, payload: Any) -> bytes:
    return compression.decompress(codec, bytes(payload), MAX_OPENED_BYTES)
