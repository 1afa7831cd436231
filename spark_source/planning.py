"""From ranges of offsets to tasks: long ranges are split, short ones share a task. Pure.

With maxRecordsPerPartition no task has more records; with minPartitions there are so many tasks where there are so many
records; else a task is about `split_bytes`, and there is one for each CPU as long as each has LEAST_BYTES. A task costs
Spark tens of milliseconds; a cut inside a batch costs that batch read twice. Sizes come from a ruler per partition, so
that a skewed one, by number or by size of records, makes more tasks and not a longer one.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from kafpy.client.cluster import TopicPartition
from kafpy.client.range_reader import Range
from spark_source.ruler import Ruler

LEAST_BYTES = 4 << 20


@dataclass(frozen=True)
class Terms:
    split_bytes: int = 64 << 20
    min_partitions: int | None = None
    max_records: int | None = None
    parallel: int = 1
    """Tasks that run at once."""


def tasks(ranges: Iterable[Range], rulers: Mapping[TopicPartition, Ruler], terms: Terms) -> list[list[Range]]:
    whole = [each for each in ranges if each.end > each.start]
    if not whole:
        return []
    return _Plan(whole, rulers, terms).tasks()


class _Plan:
    def __init__(self, whole: Sequence[Range], rulers: Mapping[TopicPartition, Ruler], terms: Terms) -> None:
        self._whole = whole
        self._rulers = rulers
        self._terms = terms
        total = sum(map(self._size, whole))
        self._least = terms.min_partitions or 1
        self._wanted = max(self._least, ceil(total / terms.split_bytes), min(terms.parallel, int(total // LEAST_BYTES)))
        self._piece = total / self._wanted

    def tasks(self) -> list[list[Range]]:
        pieces = [part for each in self._whole for part in self._split(each, round(self._size(each) / self._piece))]
        if len(pieces) < self._wanted:
            pieces = self._more(pieces)
        most = self._terms.max_records
        if most is not None:
            pieces = [part for each in pieces for part in evenly(each, ceil((each.end - each.start) / most))]
        return self._packed(pieces)

    def _ruler(self, each: Range) -> Ruler:
        return self._rulers.get((each.topic, each.partition)) or Ruler()

    def _size(self, each: Range) -> float:
        return self._ruler(each).size(each.start, each.end)

    def _split(self, each: Range, parts: int) -> list[Range]:
        if parts < 2:
            return [each]
        bounds = [each.start, *self._ruler(each).cut(each.start, each.end, parts), each.end]
        return [each._replace(start=start, end=end) for start, end in pairwise(bounds)]

    def _more(self, pieces: Sequence[Range]) -> list[Range]:
        """The largest ones are halved until there are enough, or nothing is left to halve."""
        heap = [(-self._size(each), number, each) for number, each in enumerate(pieces)]
        heapq.heapify(heap)
        done: list[Range] = []
        while heap and len(heap) + len(done) < self._wanted:
            _, number, each = heapq.heappop(heap)
            halves = evenly(each, 2)
            if len(halves) == 1:
                done.append(each)
            else:
                for half in halves:
                    heapq.heappush(heap, (-self._size(half), number, half))
        return sorted([*done, *(each for _, _, each in heap)])

    def _packed(self, pieces: Sequence[Range]) -> list[list[Range]]:
        """Neighbours share a task while that is no larger than a piece, and as many tasks remain as were asked for."""
        packed: list[list[Range]] = []
        room, records = 0.0, 0
        for number, each in enumerate(pieces):
            size, count = self._size(each), each.end - each.start
            enough_left = len(packed) + len(pieces) - number > self._least
            if packed and size <= room and count <= records and enough_left:
                packed[-1].append(each)
            else:
                packed.append([each])
                room, records = self._piece, self._terms.max_records or 1 << 62
            room -= size
            records -= count
        return packed


def evenly(each: Range, parts: int) -> list[Range]:
    """Into so many of the same length, to a record."""
    count = each.end - each.start
    parts = max(1, min(parts, count))
    bounds = [each.start + count * number // parts for number in range(parts + 1)]
    return [each._replace(start=start, end=end) for start, end in pairwise(bounds)]
