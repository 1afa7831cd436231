"""How much of what is there a micro-batch takes: maxOffsetsPerTrigger, minOffsetsPerTrigger, maxTriggerDelay. Pure."""

from collections.abc import Mapping
from math import ceil, floor

from kafpy.client.cluster import TopicPartition

At = Mapping[TopicPartition, int]


def backlog(start: At, end: At) -> int:
    return sum(max(0, end[each] - start[each]) for each in end)


def enough(start: At, end: At, least: int | None, waited_ms: float, longest_ms: int) -> bool:
    """Whether a batch is worth beginning."""
    return least is None or backlog(start, end) >= least or waited_ms >= longest_ms


def limited(start: At, end: At, most: int | None) -> dict[TopicPartition, int]:
    """Ends so that about `most` records are read, of each partition in proportion to what it has.

    As KafkaMicroBatchStream does: the last one of a partition is read however small its share.
    """
    total = backlog(start, end)
    if most is None or total <= most:
        return dict(end)
    found = {}
    for each, last in end.items():
        size = max(0, last - start[each])
        share = most * size / total
        whole = ceil(share) if share < 1 else floor(share)
        found[each] = min(start[each] + whole, last) if size else last
    return found
