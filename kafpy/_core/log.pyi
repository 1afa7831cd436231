"""One partition's log. Methods release the GIL while they wait for its mutex or a disk."""

from collections.abc import Iterable
from typing import Self

from typing_extensions import disjoint_base

from kafpy._core.runtime import Runtime

@disjoint_base
class Log:
    """Opens, recovers if need be, and holds the files of one partition folder.

    With clean=False every segment above `recovery_point` is read and checked; what follows the first bad batch is cut
    off and later segments are removed. The log starts at `log_start_offset`, or where its segments do if that is later.
    `producers` are those of a snapshot taken at `producers_offset`; the log replays the rest. Settings as for
    configure(). OSError when a file cannot be read, cut or flushed.
    """

    directory: str
    runtime: Runtime

    def __new__(
        cls,
        runtime: Runtime,
        directory: str,
        *,
        recovery_point: int = 0,
        clean: bool = False,
        log_start_offset: int = 0,
        leader_epoch: int = 0,
        producers: Iterable[tuple[int, int, int, int, int, int]] | None = None,
        producers_offset: int = 0,
        **settings: int,
    ) -> Self: ...
    def configure(
        self,
        *,
        segment_bytes: int | None = None,
        segment_ms: int | None = None,
        segment_jitter_ms: int | None = None,
        index_interval_bytes: int | None = None,
        segment_index_bytes: int | None = None,
        max_message_bytes: int | None = None,
        log_append_time: bool | None = None,
        before_max_ms: int | None = None,
        after_max_ms: int | None = None,
        flush_messages: int | None = None,
        keys_required: bool | None = None,
        open_batches: bool | None = None,
        target_codec: int | None = None,
        producer_expiry_ms: int | None = None,
    ) -> None:
        """Change settings; what is not given stays. Batches already checked are not looked at again.

        open_batches: compressed Produce falls through to Python, which opens it. target_codec: so does any batch in
        another codec; -1 keeps the producer's.
        """

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...
    @property
    def recovery_point(self) -> int:
        """Everything below is on the disk."""

    @property
    def leader_epoch(self) -> int: ...
    @property
    def offline(self) -> bool:
        """A write, sync or rename failed. For good: nothing is appended or read any more."""

    @property
    def failure(self) -> int:
        """The errno that took it offline; 0 while it is not."""

    def counters(self) -> tuple[int, int, int, int, int]:
        """Since it was opened: batches, records and bytes appended, reads by clients and the bytes they were given."""

    @property
    def damaged_at(self) -> int:
        """The first offset that was asked for where there is no batch any more; -1: none. See Runtime.failures_fd."""

    @property
    def segment_count(self) -> int: ...
    @property
    def size(self) -> int: ...
    def segments(self) -> list[tuple[int, int, int]]:
        """Base offset, bytes and largest timestamp (-1: none) of each, the active one last."""

    def marks(self, every: int, most: int) -> list[tuple[int, int]]:
        """Offsets that begin batches, about `every` bytes apart, at most so many, and how many bytes of the log lie
        before each, to a batch. OSError."""

    def append(self, records: bytes) -> tuple[int, int, int]:
        """Append one batch with every check a client's would get: (error code, base offset, append time or -1)."""

    def read(self, offset: int, max_bytes: int) -> bytes:
        """From the batch that holds `offset`, whole; at most `max_bytes` otherwise. IndexError outside the log."""

    def batch_for_time(self, timestamp: int) -> bytes | None:
        """The first batch whose largest timestamp is not below `timestamp`, whole."""

    def max_timestamp(self) -> int:
        """The largest timestamp of the log; -1 when it is empty."""

    def producers(self) -> list[tuple[int, int, int, int, int, int]]:
        """Idempotent producers: id, epoch, then of their last batch first sequence, offset delta, base offset, time."""

    def producer_snapshot(self) -> tuple[int, list[tuple[int, int, int, int, int, int]]]:
        """The log end offset, and the producers at that very offset."""

    def restore_producers(self, known: Iterable[tuple[int, int, int, int, int, int]], from_offset: int) -> None: ...
    def truncate(self, offset: int) -> None:
        """Drop the batch that holds `offset` and all behind it. Appends meanwhile get error 6. OSError as for flush."""

    def delete_records(self, offset: int) -> int:
        """Move the log's start up to `offset`, -1: the high watermark; the new start. IndexError beyond the watermark.

        Segments wholly below the start are removed; those who read them go on.
        """

    def delete_segments(self, start: int) -> tuple[int, list[int]]:
        """Drop whole segments up to `start`; where that is the log's end, the active one too: a new one begins there.

        The log's new start, and the base offsets of the segments that are gone; their files are still there, under
        names that end in `.deleted`. Who reads them goes on. IndexError beyond the high watermark.
        """

    def lead(self, leader: bool) -> None:
        """Whether appends are taken; otherwise they get error 6. On return no append of before is under way."""

    def release_space(self) -> None:
        """Give back what was allocated ahead, if nothing was appended since the last call."""

    def fail(self, error: int = ...) -> None:
        """Take it offline because its directory is: whoever waits is told, nothing is written or synced any more."""

    def flush(self) -> None:
        """OSError when it fails, or never may again: the log is closed or offline."""

    def close(self, flush: bool = True) -> None:
        """Stop serving, write the index files, sync. Whoever waits on it is told. flush=False: it is to be deleted."""

    def open_segments(self, clean: bool) -> None: ...
    def open_segment(self, base: int, next_base: int | None, clean: bool) -> bool: ...
    def remove_segment_files(self, base: int) -> None: ...
