"""Arrow columns into record batches, as a task of a Spark write packs them."""

import struct

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kafpy._core.lines import Packer
from kafpy._core.rows import Rows, Texts

COUNT = 10_000


def column(value: bytes) -> Texts:
    size = len(value)
    return Texts(COUNT, struct.pack(f"<{COUNT + 1}i", *range(0, size * (COUNT + 1), size)), value * COUNT)


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("size", [100, 1000])
def test_pack_rows(benchmark: BenchmarkFixture, size: int, keyed: bool) -> None:
    values, keys = column(b"x" * size), column(b"12345678") if keyed else None
    packer = Packer(4, batch_bytes=1 << 17)

    def pack() -> int:
        Rows(values, keys=keys).pack(packer, timestamp=0)
        return sum(each.record_count for each in packer.take(True))

    assert benchmark(pack) == COUNT
