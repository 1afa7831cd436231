"""Batches of 160 x 100 bytes and 64 x 1 KiB, as one Produce carries them; decoding also by the megabyte."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kafpy._core import batch

NOW = 1_700_000_000_000
SHAPES = pytest.mark.parametrize(("count", "size"), [(160, 100), (64, 1024)], ids=["160x100B", "64x1K"])


def encoded(count: int, size: int) -> bytes:
    return batch.encode([bytes(size)] * count, timestamps=[NOW + i // 4 for i in range(count)])


@SHAPES
def test_check(benchmark: BenchmarkFixture, count: int, size: int) -> None:
    data = encoded(count, size)
    assert benchmark(batch.check, data, now_ms=NOW) == 0


@SHAPES
def test_walk(benchmark: BenchmarkFixture, count: int, size: int) -> None:
    records = encoded(count, size)[61:]
    assert benchmark(batch.check_records, records, count, base_timestamp=NOW) == 0


@SHAPES
def test_encode(benchmark: BenchmarkFixture, count: int, size: int) -> None:
    values = [bytes(size)] * count
    timestamps = [NOW + i // 4 for i in range(count)]
    benchmark(batch.encode, values, timestamps=timestamps)


@SHAPES
@pytest.mark.parametrize("batches", [1, 60])
def test_decode_columns(benchmark: BenchmarkFixture, count: int, size: int, batches: int) -> None:
    data = encoded(count, size) * batches
    assert len(benchmark(batch.decode_columns, data).offsets) == count * batches


@SHAPES
def test_encode_columns(benchmark: BenchmarkFixture, count: int, size: int) -> None:
    columns = batch.decode_columns(encoded(count, size))
    benchmark(batch.encode, columns.values, keys=columns.keys, timestamps=columns.timestamps)
