"""Log.append with every check a client's batch gets; the batches of one log, from a temporary directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime

ROUNDS = 4000
"""A fixed number: at the benchmark's own choice the disk would fill."""


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    runtime = Runtime()
    yield runtime
    runtime.close()


@pytest.mark.parametrize(("count", "size"), [(1, 1024), (160, 100), (16, 1024)], ids=["1x1K", "160x100B", "16x1K"])
def test_append(benchmark: BenchmarkFixture, runtime: Runtime, tmp_path: Path, count: int, size: int) -> None:
    data = batch.encode([bytes(size)] * count, timestamps=runtime.wall_ms())
    log = Log(runtime, str(tmp_path), clean=True)
    benchmark.pedantic(log.append, (data,), rounds=ROUNDS, warmup_rounds=100)
    assert log.log_end_offset == (ROUNDS + 100) * count
    log.close(flush=False)
