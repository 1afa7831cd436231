"""A page cache that is full while something is measured.

On many virtual machines memory that a process or a deleted file frees goes back to the host, and touching it again
costs seconds per gigabyte: whoever writes first pays, and it looks like the broker's cost. Clean pages of a ballast
file stay with us, and the kernel gives them away for next to nothing. The file is one hole, read but never written: it
takes memory and no disk.
"""

import time
from pathlib import Path
from types import TracebackType

STEP = 4 << 20
LITTLE = 600 << 20


class Ballast:
    """Gone with its file on leaving the `with`. One that is not wanted does nothing.

    With `most_s`, all filling together takes no longer: where memory is large or cold, some of it stays so.
    """

    def __init__(self, directory: Path, wanted: bool = True, *, most_s: float = float("inf")) -> None:
        self._path = directory / "ballast"
        self._wanted = wanted
        self._left_s = most_s
        self.short = False
        """Whether time ran out before memory did."""
        self._size = 4 * _meminfo("MemTotal")
        self._position = 0

    def __enter__(self) -> "Ballast":
        if self._wanted:
            with self._path.open("wb") as file:
                file.truncate(self._size)
        self.fill()
        return self

    def fill(self) -> None:
        """As much as is free, but for a little. Again now and then: hosts and kernels take idle pages back."""
        if not self._wanted:
            return
        buffer = bytearray(STEP)
        begun = time.monotonic()
        with self._path.open("rb", buffering=0) as file:
            # not until little is free: the kernel may keep more free than that, whatever is read
            for _ in range((free_bytes() - LITTLE) // STEP):
                if time.monotonic() - begun > self._left_s:
                    self.short = True
                    break
                file.seek(self._position)
                self._position = (self._position + file.readinto(buffer)) % self._size
        self._left_s -= time.monotonic() - begun

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._path.unlink(missing_ok=True)


def free_bytes() -> int:
    return _meminfo("MemFree")


def _meminfo(name: str) -> int:
    text = Path("/proc/meminfo").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) * 1024
