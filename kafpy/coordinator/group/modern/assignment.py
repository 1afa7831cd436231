"""Partitions by topic id, in the forms they have here and in records and messages.

    Target    what a member shall have
    Held      what it has, with the epoch of the assignment that gave it each of them (KIP-1251)
    Owned     what it says it has

Values are shared between states and never changed in place.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Target = Mapping[bytes, frozenset[int]]
Held = Mapping[bytes, Mapping[int, int]]
Owned = Mapping[bytes, frozenset[int]]

NO_TARGET: Target = {}
NOTHING: Held = {}


def target_structs(cls: type[Any], target: Target) -> list[Any]:
    return [cls(topic_id=topic_id, partitions=sorted(target[topic_id])) for topic_id in sorted(target)]


def read_target(structs: Iterable[Any]) -> Target:
    return {each.topic_id: frozenset(each.partitions) for each in structs if each.partitions}


def held_structs(cls: type[Any], held: Held) -> list[Any]:
    """With epochs."""
    return [
        cls(
            topic_id=topic_id,
            partitions=sorted(held[topic_id]),
            assignment_epochs=[held[topic_id][each] for each in sorted(held[topic_id])],
        )
        for topic_id in sorted(held)
    ]


def read_held(structs: Iterable[Any], member_epoch: int) -> Held:
    """Records of before KIP-1251 have no epochs: then everything was given at the member's."""
    held: dict[bytes, dict[int, int]] = {}
    for each in structs:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [member_epoch] * len(each.partitions)
        if each.partitions:
            held[each.topic_id] = dict(zip(each.partitions, epochs, strict=True))
    return held


def partitions_of(held: Held) -> Target:
    return {topic_id: frozenset(partitions) for topic_id, partitions in held.items()}


def at_epoch(target: Target, epoch: int) -> Held:
    return {topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in target.items()}


def merged(first: Held, second: Held) -> Held:
    return {topic_id: {**first.get(topic_id, {}), **second.get(topic_id, {})} for topic_id in [*first, *second]}


def is_within(owned: Owned, held: Held) -> bool:
    return all(partitions <= held.get(topic_id, {}).keys() for topic_id, partitions in owned.items() if partitions)


def overlaps(owned: Owned, held: Held) -> bool:
    return any(not partitions.isdisjoint(held.get(topic_id, ())) for topic_id, partitions in owned.items())
