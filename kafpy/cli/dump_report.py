"""What a dump says: lines on stdout as it goes, and what it found wrong on stderr at the end."""

from collections import defaultdict
from pathlib import Path

import click

BUFFERED_LINES = 1000


class DumpError(Exception):
    """The file cannot be read on; the text says why."""


class Report:
    """As DumpLogSegments collects it: mismatches by file, in the order in which it lists them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._index_mismatches: dict[Path, list[tuple[int, int]]] = defaultdict(list)
        self._time_mismatches: dict[Path, list[tuple[int, int]]] = defaultdict(list)
        self._times_out_of_order: dict[Path, list[tuple[int, int]]] = defaultdict(list)
        self._offsets_not_found: dict[Path, list[tuple[int, int]]] = defaultdict(list)
        self._not_consecutive: dict[Path, list[tuple[int, int]]] = defaultdict(list)

    def line(self, text: str) -> None:
        self._lines.append(text)
        if len(self._lines) >= BUFFERED_LINES:
            self.flush()

    def flush(self) -> None:
        if self._lines:
            click.echo("\n".join(self._lines))
            self._lines.clear()

    def index_mismatch(self, file: Path, indexed: int, found: int) -> None:
        self._index_mismatches[file].insert(0, (indexed, found))

    def time_mismatch(self, file: Path, indexed: int, found: int) -> None:
        self._time_mismatches[file].append((indexed, found))

    def time_out_of_order(self, file: Path, indexed: int, before: int) -> None:
        self._times_out_of_order[file].append((indexed, before))

    def offset_not_found(self, file: Path, indexed: int, found: int) -> None:
        self._offsets_not_found[file].append((indexed, found))

    def not_consecutive(self, file: Path, first: int, second: int) -> None:
        self._not_consecutive[file].insert(0, (first, second))

    def print(self) -> None:
        self.flush()
        for file, pairs in self._index_mismatches.items():
            _complain(f"Mismatches in :{file.absolute()}")
            for indexed, found in pairs:
                _complain(f"  Index offset: {indexed}, log offset: {found}")
        for file, pairs in self._time_mismatches.items():
            _complain(f"Found timestamp mismatch in :{file.absolute()}")
            for indexed, found in pairs:
                _complain(f"  Index timestamp: {indexed}, log timestamp: {found}")
        for file, pairs in self._times_out_of_order.items():
            _complain(f"Found out of order timestamp in :{file.absolute()}")
            for indexed, before in pairs:
                _complain(f"  Index timestamp: {indexed}, Previously indexed timestamp: {before}")
        for file, pairs in self._offsets_not_found.items():
            _complain(f"The following indexed offsets are not found in :{file.absolute()}")
            for indexed, found in pairs:
                _complain(f"Indexed offset: {indexed}, found log offset: {found}")
        for file, pairs in self._not_consecutive.items():
            _complain(f"Non-consecutive offsets in {file.absolute()}")
            for first, second in pairs:
                _complain(f"  {first} is followed by {second}")


def _complain(text: str) -> None:
    click.echo(text, err=True)
