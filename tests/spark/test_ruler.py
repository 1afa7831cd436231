"""Bytes along a partition, and tasks of about one size made with them. Pure."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafpy.client.range_reader import Range
from spark_source.planning import Terms, tasks
from spark_source.ruler import UNKNOWN_WEIGHT, Ruler

MARKS = st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 100_000)), max_size=20).map(
    lambda steps: [(sum(o for o, _ in steps[: i + 1]), sum(b for _, b in steps[: i + 1])) for i in range(len(steps))]
)


def test_between_marks_and_outside_of_them() -> None:
    ruler = Ruler([(100, 0), (200, 1000), (300, 11_000)])
    assert ruler.size(100, 200) == 1000
    assert ruler.size(150, 250) == 500 + 5000
    assert ruler.size(300, 310) == 10 * 11_000 / 200
    assert Ruler().size(5, 15) == 10 * UNKNOWN_WEIGHT


def test_cuts_fall_on_marks_where_batches_begin() -> None:
    marks = [(7 * at, 1000 * at) for at in range(101)]
    cuts = Ruler(marks, exact=True).cut(3, 700, 10)
    assert len(cuts) == 9
    assert set(cuts) <= {offset for offset, _ in marks}


@given(MARKS, st.booleans(), st.integers(0, 5000), st.integers(1, 5000), st.integers(2, 50))
def test_cuts_are_inside_and_ascend(
    marks: list[tuple[int, int]], exact: bool, start: int, length: int, parts: int
) -> None:
    cuts = Ruler(marks, exact=exact).cut(start, start + length, parts)
    assert len(cuts) < parts
    assert all(start < each < start + length for each in cuts)
    assert all(low < high for low, high in pairwise(cuts))


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 3000)), max_size=6),
    st.lists(MARKS, min_size=6, max_size=6),
    st.integers(1, 1 << 20),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(1, 500),
    st.integers(1, 8),
)
def test_every_offset_is_in_one_task(
    bounds: list[tuple[int, int]],
    marks: list[list[tuple[int, int]]],
    split_bytes: int,
    min_partitions: int | None,
    max_records: int | None,
    parallel: int,
) -> None:
    ranges = [Range("t", index, start, start + count) for index, (start, count) in enumerate(bounds)]
    rulers = {("t", index): Ruler(each, exact=True) for index, each in enumerate(marks)}
    found = tasks(ranges, rulers, Terms(split_bytes, min_partitions, max_records, parallel))
    for wanted in ranges:
        parts = sorted(each for task in found for each in task if each.partition == wanted.partition)
        if wanted.start == wanted.end:
            assert not parts
            continue
        assert (parts[0].start, parts[-1].end) == (wanted.start, wanted.end)
        assert all(low.end == high.start for low, high in pairwise(parts))
    records = sum(count for _, count in bounds)
    if min_partitions is not None:
        assert len(found) >= min(min_partitions, records)
    if max_records is not None:
        assert all(sum(each.end - each.start for each in task) <= max_records for task in found)


def test_a_partition_with_large_records_makes_more_tasks() -> None:
    """The same number of records, in one of them a hundred times as large towards the end."""
    light, heavy = Range("t", 0, 0, 10_000), Range("t", 1, 0, 10_000)
    marks = [(at * 100, at * 10_000) for at in range(51)]
    marks += [(5000 + at * 10, 500_000 + at * 100_000) for at in range(1, 501)]
    rulers = {("t", 0): Ruler([(0, 0), (10_000, 1_000_000)]), ("t", 1): Ruler(marks, exact=True)}
    found = tasks([light, heavy], rulers, Terms(split_bytes=4 << 20))
    sizes = [sum(rulers["t", each.partition].size(each.start, each.end) for each in task) for task in found]
    assert max(sizes) <= 1.3 * (4 << 20)
    assert [each for task in found for each in task if each.partition == 0] == [light]


@pytest.mark.parametrize("count", [1, 7, 200])
def test_small_partitions_share_a_task(count: int) -> None:
    found = tasks([Range("t", index, 0, 10) for index in range(count)], {}, Terms(parallel=2))
    assert len(found) == 1
