"""The sparse index against a plain list, and its files against those that Kafka wrote."""

import bisect
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafpy._core.index import Index

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3"
SEGMENTS = sorted(GOLDEN.glob("*/*.index"))
RELATIVE = st.integers(0, 0x7FFFFFFF)


def ascending(*columns: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Rows that grow in every column."""
    return st.integers(0, 40).flatmap(
        lambda size: st.tuples(
            *(st.lists(column, min_size=size, max_size=size, unique=True).map(sorted) for column in columns)
        ).map(lambda made: list(zip(*made, strict=True)))
    )


@given(ascending(RELATIVE, RELATIVE), RELATIVE)
def test_floor_is_the_last_entry_at_or_below(rows: list[tuple[int, ...]], wanted: int) -> None:
    index = Index()
    for last, position in rows:
        assert index.add(last, last, position)
    at = bisect.bisect_right([last for last, _ in rows], wanted)
    assert index.floor(wanted) == (rows[at - 1] if at else None)
    assert index.entries() == rows


@given(st.lists(st.tuples(st.integers(-1, 50), RELATIVE)), st.integers(-2, 51))
def test_time_entries_only_grow(rows: list[tuple[int, int]], wanted: int) -> None:
    index = Index()
    model: list[tuple[int, int]] = []
    for timestamp, relative in rows:
        grows = timestamp > (model[-1][0] if model else -1)
        assert index.add_time(timestamp, relative) == grows
        if grows:
            model.append((timestamp, relative))
    assert index.time_entries() == model
    below = [row for row in model if row[0] <= wanted]
    assert index.floor_time(wanted) == (below[-1] if below else None)


@given(ascending(RELATIVE, RELATIVE), ascending(st.integers(0, 2**60), RELATIVE), RELATIVE)
def test_truncate_drops_the_offset_and_what_follows(
    offsets: list[tuple[int, ...]], times: list[tuple[int, ...]], cut: int
) -> None:
    index = Index()
    for last, position in offsets:
        index.add(last, last, position)
    for timestamp, relative in times:
        index.add_time(timestamp, relative)
    index.truncate(cut)
    assert index.entries() == [row for row in offsets if row[0] < cut]
    assert index.time_entries() == [row for row in times if row[1] < cut]


@given(rows=ascending(RELATIVE, st.integers(0, 2**31 - 2)), times=ascending(st.integers(0, 2**62), RELATIVE))
def test_files_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, ...]], times: list[tuple[int, ...]]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    paths = str(folder / "x.index"), str(folder / "x.timeindex")
    index = Index()
    for last, position in rows:
        index.add(last, last, position)
    for timestamp, relative in times:
        index.add_time(timestamp, relative)
    index.write(*paths)
    assert Path(paths[0]).read_bytes() == b"".join(struct.pack(">II", *row) for row in rows)
    assert Path(paths[1]).read_bytes() == b"".join(struct.pack(">qI", *row) for row in times)
    again = Index.read(*paths, 2**31)
    assert again is not None
    assert (again.entries(), again.time_entries()) == (rows, times)


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: f"{path.parent.name}-{int(path.stem)}")
def test_kafkas_files_are_read_as_its_own_tool_reads_them(path: Path, tmp_path: Path) -> None:
    times = path.with_suffix(".timeindex")
    manifest = json.loads((path.parent / "manifest.json").read_text())
    index = Index.read(str(path), str(times), path.with_suffix(".log").stat().st_size)
    assert index is not None
    base = int(path.stem)
    assert [[base + last, position] for last, position in index.entries()] == manifest[path.name]
    assert [[timestamp, base + relative] for timestamp, relative in index.time_entries()] == manifest[times.name]
    index.write(str(tmp_path / path.name), str(tmp_path / times.name))
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert (tmp_path / times.name).read_bytes() == times.read_bytes()


GOOD_OFFSETS = struct.pack(">IIII", 5, 100, 9, 200)
GOOD_TIMES = struct.pack(">qIqI", 1000, 5, 1001, 9)


def read(folder: Path, offsets: bytes | None, times: bytes | None, log_size: int = 300) -> Index | None:
    for name, data in (("i", offsets), ("t", times)):
        if data is not None:
            (folder / name).write_bytes(data)
    return Index.read(str(folder / "i"), str(folder / "t"), log_size)


def test_a_sound_pair_is_taken(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD_OFFSETS, GOOD_TIMES) is not None
    assert read(tmp_path, b"", b"") is not None


@pytest.mark.parametrize(
    ("offsets", "times"),
    [
        (None, GOOD_TIMES),
        (GOOD_OFFSETS, None),
        *((GOOD_OFFSETS[:size], GOOD_TIMES) for size in range(16) if size % 8),
        *((GOOD_OFFSETS, GOOD_TIMES[:size]) for size in range(24) if size % 12),
        (struct.pack(">IIII", 9, 100, 5, 200), GOOD_TIMES),
        (struct.pack(">IIII", 5, 200, 9, 100), GOOD_TIMES),
        (struct.pack(">IIII", 5, 100, 5, 200), GOOD_TIMES),
        (struct.pack(">IIII", 5, 100, 9, 300), GOOD_TIMES),
        (struct.pack(">IIII", 5, 100, 0x80000000, 200), GOOD_TIMES),
        (GOOD_OFFSETS + bytes(8), GOOD_TIMES),
        (GOOD_OFFSETS, struct.pack(">qIqI", 1001, 5, 1000, 9)),
        (GOOD_OFFSETS, struct.pack(">qIqI", 1000, 9, 1001, 5)),
        (GOOD_OFFSETS, struct.pack(">qIqI", 1000, 5, 1001, 0x80000000)),
        (GOOD_OFFSETS, GOOD_TIMES + bytes(12)),
    ],
)
def test_torn_and_unsorted_files_are_refused(tmp_path: Path, offsets: bytes | None, times: bytes | None) -> None:
    assert read(tmp_path, offsets, times) is None


def test_an_index_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot write"):
        Index().write(str(tmp_path / "no" / "i"), str(tmp_path / "no" / "t"))
