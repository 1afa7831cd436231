"""From ranges of offsets to tasks: long ranges are split, short ones share a task. Pure.

With maxRecordsPerPartition no piece has more records; with minPartitions there are so many tasks where there are so
many records; else a task is about `split_bytes`, and there is one for each CPU as long as each has LEAST_BYTES. A task
costs Spark tens of milliseconds; a split that falls into a batch costs that batch read twice. What a record weighs is
known by partition, so that a skewed one, by number or by size of records, makes more tasks and not a longer one.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from kafpy.client.range_reader import Range

SizeOf = Callable[[Range], float]

UNKNOWN_WEIGHT = 1000.0
"""Bytes of a record where nobody could say."""
LEAST_BYTES = 4 << 20


@dataclass(frozen=True)
class Terms:
    split_bytes: int = 64 << 20
    min_partitions: int | None = None
    max_records: int | None = None
    parallel: int = 1
    """Tasks that run at once."""


def tasks(ranges: Iterable[Range], weights: Mapping[tuple[str, int], float], terms: Terms) -> list[list[Range]]:
    """`weights`: bytes of a record, by topic and partition."""
    whole = [each for each in ranges if each.end > each.start]
    if not whole:
        return []

    def size(each: Range) -> float:
        weight = weights.get((each.topic, each.partition), UNKNOWN_WEIGHT)
        return (each.end - each.start) * max(weight, 1.0)

    total = sum(map(size, whole))
    wanted = max(
        terms.min_partitions or 1, ceil(total / terms.split_bytes), min(terms.parallel, int(total // LEAST_BYTES))
    )
    piece = total / wanted
    pieces = [part for each in whole for part in split(each, _parts(each, size(each), piece, terms))]
    if len(pieces) < wanted:
        pieces = _more(pieces, size, wanted)
    return _packed(pieces, size, piece, terms.min_partitions or 1)


def split(each: Range, parts: int) -> list[Range]:
    """Into so many of the same length, to a record."""
    count = each.end - each.start
    parts = max(1, min(parts, count))
    bounds = [each.start + count * number // parts for number in range(parts + 1)]
    return [each._replace(start=start, end=end) for start, end in pairwise(bounds)]


def _parts(each: Range, size: float, piece: float, terms: Terms) -> int:
    by_size = round(size / piece)
    return by_size if terms.max_records is None else max(by_size, ceil((each.end - each.start) / terms.max_records))


def _more(pieces: Sequence[Range], size: SizeOf, wanted: int) -> list[Range]:
    """The largest ones are halved until there are enough, or nothing is left to halve."""
    heap = [(-size(each), number, each) for number, each in enumerate(pieces)]
    heapq.heapify(heap)
    done: list[Range] = []
    while heap and len(heap) + len(done) < wanted:
        _, number, each = heapq.heappop(heap)
        halves = split(each, 2)
        if len(halves) == 1:
            done.append(each)
        else:
            for half in halves:
                heapq.heappush(heap, (-size(half), number, half))
    return sorted([*done, *(each for _, _, each in heap)])


def _packed(pieces: Sequence[Range], size: SizeOf, piece: float, least: int) -> list[list[Range]]:
    """Neighbours share a task while it is no larger than a piece, and there remain `least` tasks."""
    packed: list[list[Range]] = []
    room = 0.0
    for number, each in enumerate(pieces):
        left = len(pieces) - number
        if packed and size(each) <= room and len(packed) + left > least:
            packed[-1].append(each)
            room -= size(each)
        else:
            packed.append([each])
            room = piece - size(each)
    return packed
