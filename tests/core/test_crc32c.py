import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafpy._core import crc32c as core
from tests.core import reference

KERNELS = pytest.mark.parametrize("kernel", core.kernels())
NOISE = random.Random(32).randbytes(1200)


@pytest.fixture(scope="module")
def prefixes() -> list[list[int]]:
    """[start][n]: the oracle's CRC of n bytes from there."""
    table = []
    for start in range(33):
        crcs = [0]
        for byte in NOISE[start : start + 1100]:
            crcs.append(reference.crc32c(bytes([byte]), crcs[-1]))
        table.append(crcs)
    return table


@KERNELS
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_published_values(kernel: str, data: bytes, expected: int) -> None:
    """RFC 3720, B.4."""
    assert core.crc32c_with(kernel, data) == expected


@KERNELS
def test_every_length_at_every_alignment(kernel: str, prefixes: list[list[int]]) -> None:
    view = memoryview(NOISE)
    for start, crcs in enumerate(prefixes):
        wrong = [n for n, crc in enumerate(crcs) if core.crc32c_with(kernel, view[start : start + n]) != crc]
        assert not wrong, f"from byte {start}"


@KERNELS
@given(parts=st.lists(st.binary(max_size=700), max_size=5), crc=st.integers(0, 2**32 - 1))
def test_chaining(kernel: str, parts: list[bytes], crc: int) -> None:
    chained = crc
    for part in parts:
        chained = core.crc32c_with(kernel, part, chained)
    assert chained == core.crc32c_with(kernel, b"".join(parts), crc) == reference.crc32c(b"".join(parts), crc)


@KERNELS
@pytest.mark.parametrize("size", [3071, 3072, 3073, 4096, 16384, 65537, 1_000_003])
def test_long_data(kernel: str, size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert core.crc32c_with(kernel, data, 7) == core.crc32c_with("table", data, 7)


def test_the_fastest_kernel_serves() -> None:
    assert core.kernels()[0] == core.IMPLEMENTATION
    assert core.kernels()[-1] == "table"
    assert core.crc32c(NOISE, 5) == core.crc32c_with(core.IMPLEMENTATION, NOISE, 5)


def test_buffers_of_all_kinds() -> None:
    assert {core.crc32c(kind(NOISE)) for kind in (bytes, bytearray, memoryview)} == {core.crc32c(NOISE)}
    with pytest.raises(TypeError):
        core.crc32c("text")  # type: ignore[arg-type]


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(ValueError, match="abacus"):
        core.crc32c_with("abacus", b"")
