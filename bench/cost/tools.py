"""What the measurements are made with: the two C programs and the record batches, all under build/cost."""

import random
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from kafpy._core import batch
from kafpy.storage import compression

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "cost"
FLAGS = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Wno-sign-compare", "-Wno-unused-function", "-pthread"]


class Shape(NamedTuple):
    records: int
    value_bytes: int
    codec: int = compression.NONE


SHAPES = {
    "1x1K": Shape(1, 1000),
    "160x100": Shape(160, 100),
    "16x1K": Shape(16, 1000),
    "64x1K": Shape(64, 1000),
    "1000x1K": Shape(1000, 1000),
    "64x1K.lz4": Shape(64, 1000, compression.LZ4),
    "64x1K.zstd": Shape(64, 1000, compression.ZSTD),
}


def program(name: str) -> Path:
    """Compiled when its source or a header is newer."""
    made = BUILD / name
    sources = [HERE / f"{name}.c", *HERE.glob("*.h")]
    if not made.exists() or made.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", *FLAGS, "-o", made, sources[0]], check=True)
    return made


def batch_file(name: str) -> Path:
    return shape_file(SHAPES[name])


def shape_file(shape: Shape) -> Path:
    """Written anew each time: brokers refuse timestamps that are far from their clock."""
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{shape.records}x{shape.value_bytes}-{shape.codec}.batch"
    path.write_bytes(encoded(shape))
    return path


def encoded(shape: Shape) -> bytes:
    def packed(records: bytes) -> bytes:
        return compression.compress(shape.codec, records)

    return batch.encode(
        _values(shape),
        timestamps=time.time_ns() // 1_000_000,
        codec=shape.codec,
        compress=packed if shape.codec else None,
    )


def _values(shape: Shape) -> list[bytes]:
    """Words of a small vocabulary: they compress as log lines do."""
    dice = random.Random(1)
    words = [bytes(dice.choices(range(97, 123), k=dice.randint(3, 9))) for _ in range(400)]
    mean = 7
    texts = (b" ".join(dice.choices(words, k=shape.value_bytes // mean * 2)) for _ in range(shape.records))
    return [text[: shape.value_bytes] for text in texts]
