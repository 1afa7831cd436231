"""A partition's folder on its way into another directory (KIP-113), as files: TOPIC-N.<32 hex>-future.

What a log has written to a segment never changes, so the copy grows by what the original has more, as often as asked,
while the log is in use. A segment's index files appear when it is sealed, and are copied then.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kafpy.storage import partition_folder
from kafpy.storage.checkpoints import sync_directory
from kafpy.storage.leader_epochs import LEADER_EPOCHS

CHUNK = 4 << 20
INDEXES = (".index", ".timeindex")


class Cancelled(Exception):
    """Nobody wants the copy any more."""


class ReplicaCopy:
    """Not thread-safe. OSError when a disk fails; the copy is of no use then, the original is not touched."""

    def __init__(self, source: Path, target: Path, cancelled: Callable[[], bool]) -> None:
        self.source = source
        self.folder = target / partition_folder.future_name(source.name)
        self.write_failure: OSError | None = None
        """Of the target's disk, where that is what failed."""
        self._cancelled = cancelled

    def begin(self) -> None:
        identity = (self.source / partition_folder.METADATA_FILE).read_bytes()
        with self._writing():
            self.folder.mkdir()
            (self.folder / partition_folder.METADATA_FILE).write_bytes(identity)

    def catch_up(self, reached: Callable[[int], None]) -> int:
        """Copies what there is more than before, durably; how many bytes. `reached`: all below this offset is there."""
        copied = 0
        for segment in sorted(self.source.glob("*.log")):
            reached(int(segment.stem))
            try:
                copied += self._extend(segment)
                for suffix in INDEXES:
                    index = segment.with_suffix(suffix)
                    if index.exists() and not (self.folder / index.name).exists():
                        copied += self._extend(index)
            except FileNotFoundError:
                if segment.exists():
                    raise
                # its records were deleted meanwhile
        return copied

    def finish(self) -> None:
        """Nothing is appended to the original any more, and all of it is on its disk."""
        self.catch_up(lambda _: None)
        epochs = self.source / LEADER_EPOCHS
        if epochs.exists():
            self._extend(epochs)
        here = {path.name for path in self.source.glob("*.log")}
        for segment in self.folder.glob("*.log"):
            if segment.name not in here:
                for path in (segment, *map(segment.with_suffix, INDEXES)):
                    path.unlink(missing_ok=True)
        for name in here:
            if (self.folder / name).stat().st_size != (self.source / name).stat().st_size:
                raise OSError(f"{self.folder / name} is not as long as the original")
        with self._writing():
            with (self.folder / partition_folder.METADATA_FILE).open("rb") as identity:
                os.fsync(identity.fileno())
            sync_directory(self.folder)

    def size(self) -> int:
        """Of its segments; from any thread, so it may be renamed or removed meanwhile."""
        total = 0
        for path in self.folder.glob("*.log"):
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    def _extend(self, original: Path) -> int:
        with original.open("rb") as source, (self.folder / original.name).open("ab") as target:
            position = start = target.tell()
            while chunk := os.pread(source.fileno(), CHUNK, position):
                if self._cancelled():
                    raise Cancelled
                with self._writing():
                    target.write(chunk)
                    target.flush()
                    os.fdatasync(target.fileno())
                position += len(chunk)
        return position - start

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.write_failure = error
            raise
