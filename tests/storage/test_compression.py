import contextlib
import gzip
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafpy.storage.compression import (
    CODECS,
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    CompressionError,
    TooLarge,
    compress,
    decompress,
)

REAL = [GZIP, SNAPPY, LZ4, ZSTD]
MIB = 1 << 20
ROWS = b"".join(b'{"id": %d, "name": "user %d"}' % (n, n % 97) for n in range(20_000))


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("data", [b"", b"x", ROWS, bytes(300_000)])
def test_round_trip(codec: int, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), MIB) == data


@given(st.sampled_from(REAL), st.binary(max_size=2000))
def test_round_trip_of_anything(codec: int, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), len(data)) == data


@given(st.sampled_from([NONE, *REAL]), st.binary(max_size=300))
def test_garbage_is_an_error_and_nothing_else(codec: int, data: bytes) -> None:
    with contextlib.suppress(CompressionError):
        assert len(decompress(codec, data, 1000)) <= 1000


@given(st.sampled_from(REAL), st.data())
def test_damage_is_an_error_or_stays_within_the_cap(codec: int, data: st.DataObject) -> None:
    sound = bytearray(compress(codec, ROWS[:5000]))
    sound[data.draw(st.integers(0, len(sound) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(CompressionError):
        assert len(decompress(codec, bytes(sound), 6000)) <= 6000


@pytest.mark.parametrize("codec", REAL)
def test_a_torn_end_is_an_error(codec: int) -> None:
    sound = compress(codec, ROWS)
    for cut in (1, 5, len(sound) // 2, len(sound) - 1, len(sound)):
        with pytest.raises(CompressionError):
            decompress(codec, sound[: len(sound) - cut], MIB)


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD, SNAPPY])
def test_bytes_after_the_end_are_an_error(codec: int) -> None:
    with pytest.raises(CompressionError):
        decompress(codec, compress(codec, ROWS) + b"more than nothing", MIB)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_the_cap_is_exact(codec: int) -> None:
    squeezed = compress(codec, ROWS)
    assert decompress(codec, squeezed, len(ROWS)) == ROWS
    with pytest.raises(TooLarge, match=f"more than {len(ROWS) - 1} bytes when decompressed"):
        decompress(codec, squeezed, len(ROWS) - 1)


def zeros_zstd(size: int) -> bytes:
    engine = zstandard.ZstdCompressor(level=3).compressobj()
    return b"".join(engine.compress(bytes(MIB)) for _ in range(size // MIB)) + engine.flush()


@cache
def bombs() -> dict[str, tuple[int, bytes]]:
    return {
        "zstd": (ZSTD, zeros_zstd(2048 * MIB)),
        "zstd frames": (ZSTD, zstandard.compress(bytes(32 * MIB)) * 64),
        "gzip": (GZIP, gzip.compress(bytes(512 * MIB), 1)),
        "gzip members": (GZIP, gzip.compress(bytes(16 * MIB)) * 32),
        "lz4": (LZ4, lz4.frame.compress(bytes(256 * MIB), block_linked=False)),
        "snappy": (SNAPPY, bytes(cramjam.snappy.compress_raw(bytes(100 * MIB)))),
        "xerial": (SNAPPY, compress(SNAPPY, bytes(100 * MIB))),
    }


CHILD = """
import sys, time
from pathlib import Path
import cramjam, lz4.frame, zlib, zstandard
from kafpy.storage.compression import TooLarge, decompress

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

codec, cap, data = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]).read_bytes()
before, start = peak(), time.process_time()
try:
    decompress(codec, data, cap)
    print("opened")
except TooLarge:
    print(peak() - before, round(1000 * (time.process_time() - start)))
"""


@pytest.mark.parametrize("name", ["zstd", "zstd frames", "gzip", "gzip members", "lz4", "snappy", "xerial"])
def test_bombs_stop_at_the_cap(tmp_path: Path, name: str) -> None:
    """In a process of its own: the peak of this one is already high from making the bombs."""
    codec, bomb = bombs()[name]
    path = tmp_path / "bomb"
    path.write_bytes(bomb)
    cap = 64 * MIB
    command = [sys.executable, "-c", CHILD, str(codec), str(cap), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kilobytes, milliseconds = map(int, done.stdout.split())
    assert kilobytes * 1024 < 2 * cap
    assert milliseconds < 1000


def test_lying_headers_allocate_nothing() -> None:
    huge_zstd = b"\x28\xb5\x2f\xfd" + bytes([0b11100000]) + struct.pack("<Q", 1 << 40) + b"\x01\x00\x00"
    window_31 = b"\x28\xb5\x2f\xfd" + bytes([0x00, 21 << 3]) + b"\x01\x00\x00"
    for codec, data in [
        (SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(100)),
        (SNAPPY, b"\xff\xff\xff\xff\xff\xff"),
        (SNAPPY, b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, 2**31 - 1) + b"x"),
        (SNAPPY, b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, -1) + b"x"),
        (ZSTD, huge_zstd),
        (ZSTD, window_31),
    ]:
        with pytest.raises(CompressionError):
            decompress(codec, data, 64 * MIB)


def test_lz4_frames_are_as_kafka_writes_them() -> None:
    frame = compress(LZ4, ROWS)
    assert frame[:4] == b"\x04\x22\x4d\x18"
    assert frame[4] == 0x60  # version 1, independent blocks, nothing else
    assert frame[5] == 0x40  # blocks of 64 KiB


def test_linked_lz4_blocks_are_refused() -> None:
    with pytest.raises(CompressionError, match="linked"):
        decompress(LZ4, lz4.frame.compress(ROWS, block_linked=True), MIB)


def test_raw_snappy_is_read_too() -> None:
    assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(ROWS)), MIB) == ROWS


@pytest.mark.parametrize(("codec", "low", "high"), [(GZIP, 1, 9), (LZ4, 1, 17), (ZSTD, -5, 19)])
def test_levels(codec: int, low: int, high: int) -> None:
    small, large = compress(codec, ROWS, high), compress(codec, ROWS, low)
    assert len(small) <= len(large)
    assert decompress(codec, small, MIB) == ROWS


def test_an_unknown_codec() -> None:
    for call in (lambda: compress(5, b""), lambda: decompress(7, b"", 1)):
        with pytest.raises(CompressionError, match="unknown codec"):
            call()
