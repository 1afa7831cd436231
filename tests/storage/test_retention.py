"""Which segments go, beside the procedure of UnifiedLog.deleteOldSegments written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafpy.storage.retention import Extent, Limits, Segment, start_after

NOW = 1_000_000


def segments(*shapes: tuple[int, int]) -> list[Segment]:
    """(bytes, age) of each; ten offsets to a segment."""
    return [Segment(number * 10, size, NOW - age) for number, (size, age) in enumerate(shapes)]


def whole(count: int) -> Extent:
    return Extent(0, count * 10, count * 10)


def deleted(found: list[Segment], extent: Extent, limits: Limits) -> int:
    """How many go in Kafka: three rounds, each over what the one before has left."""
    left = list(found)
    start = extent.log_start_offset

    def rounds(goes) -> None:  # type: ignore[no-untyped-def]
        while left:
            following = left[1].base_offset if len(left) > 1 else None
            bound = following if following is not None else extent.log_end_offset
            if extent.high_watermark < bound or not goes(left[0], following):
                return
            if following is None and left[0].size == 0:
                return
            del left[0]

    rounds(lambda _, following: following is not None and following <= start)
    size = sum(each.size for each in left)
    if limits.retention_bytes >= 0 and size >= limits.retention_bytes:
        surplus = [size - limits.retention_bytes]

        def too_much(segment: Segment, _: object) -> bool:
            if surplus[0] < segment.size:
                return False
            surplus[0] -= segment.size
            return True

        rounds(too_much)
    if limits.retention_ms >= 0:
        rounds(lambda segment, _: NOW - segment.largest_timestamp > limits.retention_ms)
    return len(found) - len(left)


@pytest.mark.parametrize(
    ("limits", "start"),
    [
        (Limits(), 0),
        (Limits(retention_ms=350), 10),
        (Limits(retention_ms=300), 10),
        (Limits(retention_ms=299), 20),
        (Limits(retention_ms=0), 40),
        (Limits(retention_bytes=400), 0),
        (Limits(retention_bytes=301), 0),
        (Limits(retention_bytes=300), 10),
        (Limits(retention_bytes=0), 40),
        (Limits(retention_ms=350, retention_bytes=200), 20),
    ],
)
def test_by_age_and_by_size(limits: Limits, start: int) -> None:
    found = segments((100, 400), (100, 300), (100, 200), (100, 100))
    assert start_after(found, whole(4), limits, NOW) == start


def test_a_young_segment_keeps_those_behind_it() -> None:
    assert start_after(segments((1, 500), (1, 10), (1, 500)), whole(3), Limits(retention_ms=100), NOW) == 10


def test_nothing_above_the_high_watermark_goes() -> None:
    found = segments((1, 500), (1, 500), (1, 500))
    assert start_after(found, Extent(0, 29, 30), Limits(retention_ms=0), NOW) == 20
    assert start_after(found, Extent(0, 19, 30), Limits(retention_ms=0), NOW) == 10


def test_an_empty_active_segment_stays() -> None:
    found = [*segments((5, 500)), Segment(10, 0, -1)]
    assert start_after(found, Extent(0, 10, 10), Limits(retention_ms=0), NOW) == 10
    assert start_after(found[1:], Extent(10, 10, 10), Limits(retention_ms=0, retention_bytes=0), NOW) == 10


def test_what_lies_below_the_start_goes_without_limits() -> None:
    found = segments((1, 0), (1, 0), (1, 0))
    assert start_after(found, Extent(20, 30, 30), Limits(), NOW) == 20
    assert start_after(found, Extent(19, 30, 30), Limits(), NOW) == 10
    assert start_after(found, Extent(30, 30, 30), Limits(), NOW) == 20


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(-20, 100)), min_size=1, max_size=8),
    st.booleans(),
    st.integers(0, 80),
    st.integers(0, 80),
    st.integers(-1, 90),
    st.integers(-1, 200),
)
def test_as_kafka_does(
    shapes: list[tuple[int, int]], empty: bool, start: int, watermark: int, age: int, size: int
) -> None:
    found = segments(*shapes)
    if empty:
        found.append(Segment(len(found) * 10, 0, NOW))
    end = len(shapes) * 10
    extent = Extent(min(start, watermark, end), min(watermark, end), end)
    limits = Limits(age, size)
    gone = deleted(found, extent, limits)
    bounds = [*(each.base_offset for each in found), end]
    assert start_after(found, extent, limits, NOW) == bounds[gone]
