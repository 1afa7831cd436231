"""Where an offset or a time is in a log of 64 MB: at the tail (in memory), in the middle of the active segment (its
index is in memory), in a sealed one, and by time. Log.read copies one batch of 1 KB besides."""

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime

BATCHES = 60_000
SEGMENT_BYTES = 32 << 20
FIRST = 1_700_000_000_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Log]:
    """One record of 1 KB in a batch, a millisecond apart."""
    runtime = Runtime()
    log = Log(runtime, str(tmp_path_factory.mktemp("log")), clean=True, segment_bytes=SEGMENT_BYTES)
    for number in range(BATCHES):
        log.append(batch.encode([bytes(1024)], timestamps=FIRST + number))
    runtime.settle()
    yield log
    log.close(flush=False)
    runtime.close()


@pytest.mark.parametrize("share", [0.1, 0.75, 1.0], ids=["sealed", "middle", "tail"])
def test_read(benchmark: BenchmarkFixture, log: Log, share: float) -> None:
    offset = int((BATCHES - 1) * share)
    data = benchmark(log.read, offset, 1)
    assert batch.header(data).base_offset == offset


@pytest.mark.parametrize("share", [0.1, 0.75, 1.0], ids=["sealed", "middle", "tail"])
def test_batch_for_time(benchmark: BenchmarkFixture, log: Log, share: float) -> None:
    offset = int((BATCHES - 1) * share)
    data = benchmark(log.batch_for_time, FIRST + offset)
    assert data is not None
    assert batch.header(data).base_offset == offset
