"""Small logs for tests."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime

NOW = 1_700_000_000_000


def make_batch(count: int = 1, *, timestamp: int = NOW, value: bytes = b"v", **fields: Any) -> bytes:
    return batch.encode([value] * count, timestamps=[timestamp + i for i in range(count)], **fields)


def idempotent(sequence: int, count: int = 1, *, producer: int = 7, epoch: int = 0, **fields: Any) -> bytes:
    return make_batch(count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, **fields)


def append(log: Log, data: bytes) -> int:
    error, base_offset, _ = log.append(data)
    assert error == 0
    return base_offset


def error_of(log: Log, data: bytes) -> int:
    return log.append(data)[0]


def batches(data: bytes) -> list[bytes]:
    return [data[start:end] for start, end in itertools.pairwise(batch.split(data))]


def read_all(log: Log) -> list[bytes]:
    """Every batch of the log, read one by one."""
    found, offset = [], log.log_start_offset
    while offset < log.high_watermark:
        first = log.read(offset, 1)
        header = batch.header(first)
        assert len(first) == header.size
        assert batch.intact(first)
        found.append(first)
        offset = header.base_offset + header.last_offset_delta + 1
    return found


def offsets(log: Log) -> list[int]:
    return [batch.header(each).base_offset for each in read_all(log)]


def segment(folder: Path, base: int = 0, suffix: str = "log") -> Path:
    return folder / f"{base:020}.{suffix}"


@contextmanager
def running(helpers: int = 2) -> Iterator[Runtime]:
    runtime = Runtime(helpers)
    try:
        yield runtime
    finally:
        runtime.close()


def kill(log: Log) -> None:
    """Leave the files as a killed process would: nothing flushed, no index written."""
    log.close(flush=False)
