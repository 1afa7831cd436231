"""Partitions to members in the rack of one of their replicas (KIP-881), where that costs nothing.

After an assignor is done, members swap partitions of the same topic that are new to both: sizes stay the same, and
nothing moves that would not have moved anyway. Partitions and members are taken by kind (a rack, a set of racks), of
which there are few, however large the group.
"""

from collections import defaultdict
from itertools import permutations

from kafpy.coordinator.group.modern.assignor import Draw, Problem

Kind = tuple[str, frozenset[str]]
"""A member's rack and those of a partition it got."""


def prefer_racks(problem: Problem, draw: Draw) -> None:
    if not any(member.rack for member in problem.members.values()):
        return
    for topic_id, layout in sorted(problem.topics.items()):
        if any(layout.racks):
            _swap(problem, draw, topic_id, layout.racks)


def _swap(problem: Problem, draw: Draw, topic_id: bytes, racks: tuple[frozenset[str], ...]) -> None:
    kinds: dict[Kind, list[tuple[str, int]]] = defaultdict(list)
    for member_id, member in problem.members.items():
        owned = member.owned.get(topic_id, frozenset())
        for partition in sorted(draw[member_id].get(topic_id, set()) - owned):
            kinds[member.rack or "", racks[partition]].append((member_id, partition))
    swapped = True
    while swapped:  # each swap brings one partition more to its rack
        swapped = False
        order = sorted((kind for kind in kinds if kinds[kind]), key=lambda kind: (kind[0], sorted(kind[1])))
        for one, other in permutations(order, 2):
            if _gain(one, other) > 0 and kinds[one] and kinds[other]:
                _exchange(draw, topic_id, kinds, one, other)
                swapped = True


def _gain(one: Kind, other: Kind) -> int:
    before = (one[0] in one[1]) + (other[0] in other[1])
    return (one[0] in other[1]) + (other[0] in one[1]) - before


def _exchange(draw: Draw, topic_id: bytes, kinds: dict[Kind, list[tuple[str, int]]], one: Kind, other: Kind) -> None:
    while kinds[one] and kinds[other]:
        first, partition = kinds[one].pop()
        second, wanted = kinds[other].pop()
        draw[first][topic_id].remove(partition)
        draw[second][topic_id].remove(wanted)
        draw[first][topic_id].add(wanted)
        draw[second][topic_id].add(partition)
        kinds[one[0], other[1]].append((first, wanted))
        kinds[other[0], one[1]].append((second, partition))
