"""pytest bench/micro --benchmark-enable"""

import random

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kafpy._core import crc32c


@pytest.mark.parametrize("size", [1024, 16384, 1048576])
@pytest.mark.parametrize("kernel", crc32c.kernels())
def test_crc32c(benchmark: BenchmarkFixture, kernel: str, size: int) -> None:
    data = random.Random(size).randbytes(size)
    benchmark.group = f"crc32c of {size} bytes"
    benchmark(crc32c.crc32c_with, kernel, data)
