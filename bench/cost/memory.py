"""A page cache that is full before anything is measured.

On many virtual machines memory that a process or a deleted file frees goes back to the host, and touching it again
costs seconds per gigabyte: whoever writes first pays, and it looks like the broker's cost. Clean pages of a ballast
file stay with us, and the kernel gives them away for next to nothing.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_BYTES = 1 << 30
CHUNK = bytes(4 << 20)
LITTLE = 450 << 20


def free_memory() -> int:
    text = Path("/proc/meminfo").read_text()
    return int(text.partition("MemFree:")[2].split()[0]) * 1024


@contextmanager
def ballast(directory: Path, spare_disk: int, wanted: bool = True) -> Iterator[None]:
    """Stops early, and says so, when fewer than `spare_disk` bytes of disk would be left for the measurement."""
    files: list[Path] = []
    try:
        while wanted and free_memory() > LITTLE:
            if shutil.disk_usage(directory).free < spare_disk + FILE_BYTES:
                print(f"no disk for more ballast: {free_memory() >> 20} MB of memory stay free\n")
                break
            files.append(directory / f"ballast-{len(files)}")
            _write(files[-1])
        yield
    finally:
        for file in files:
            file.unlink(missing_ok=True)


def _write(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for _ in range(FILE_BYTES // len(CHUNK)):
            file.write(CHUNK)
        os.fsync(file.fileno())
