"""What assignors are given, and what all of them have in common.

An assignor is a pure function from Problem to targets. Members and topics come sorted, so that the same group gets the
same answer whatever the order of its log.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafpy.coordinator.group.modern.assignment import Target


class Subscriber(NamedTuple):
    topics: frozenset[bytes]
    """That exist."""
    owned: Target
    """Its target before."""
    rack: str | None


class TopicLayout(NamedTuple):
    size: int
    racks: tuple[frozenset[str], ...]
    """By partition; empty where racks are not known."""


class Problem(NamedTuple):
    members: Mapping[str, Subscriber]
    topics: Mapping[bytes, TopicLayout]

    @property
    def is_homogeneous(self) -> bool:
        subscriptions = {each.topics for each in self.members.values()}
        return len(subscriptions) <= 1


Draw = dict[str, dict[bytes, set[int]]]
Assignor = Callable[[Problem], Draw]


def retained(problem: Problem) -> Draw:
    """What members had and may keep; of a partition that two had, as a damaged log may say, the first."""
    taken: dict[bytes, set[int]] = {topic_id: set() for topic_id in problem.topics}
    draw: Draw = {}
    for member_id, member in problem.members.items():
        held: dict[bytes, set[int]] = {}
        for topic_id, partitions in sorted(member.owned.items()):
            if topic_id in member.topics:
                size = problem.topics[topic_id].size
                held[topic_id] = {each for each in partitions if each < size} - taken[topic_id]
                taken[topic_id] |= held[topic_id]
        draw[member_id] = held
    return draw


def targets(draw: Draw) -> dict[str, Target]:
    return {
        member_id: {topic_id: frozenset(partitions) for topic_id, partitions in topics.items() if partitions}
        for member_id, topics in draw.items()
    }
