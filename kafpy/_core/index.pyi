"""Sparse offset and time index of a segment, with Kafka's .index and .timeindex bytes.

Logs use it natively; this face is for tools and tests.
"""

from typing_extensions import disjoint_base

@disjoint_base
class Index:
    def add(self, base_relative: int, last_relative: int, position: int) -> bool:
        """One entry: a batch's first and last offset minus the segment's base offset, and where it starts."""

    def add_time(self, timestamp: int, relative: int) -> bool:
        """One entry, unless an equal or later time is already there (then False)."""

    def floor(self, relative: int) -> tuple[int, int] | None:
        """(last offset, position) of the last entry at or below `relative`."""

    def floor_time(self, timestamp: int) -> tuple[int, int] | None: ...
    def truncate(self, relative: int) -> None:
        """Drop entries for `relative` and later."""

    def entries(self) -> list[tuple[int, int]]: ...
    def time_entries(self) -> list[tuple[int, int]]: ...
    def write(self, offset_path: str, time_path: str) -> None:
        """Both files, each under another name first. OSError."""

    @staticmethod
    def read(offset_path: str, time_path: str, log_size: int) -> Index | None:
        """None, for a rebuild, when a file is missing, torn, not ascending, or points beyond the log's size."""
