"""What holds of every consumer group, whatever happens to it.

From what members say: a partition has at most one owner at a time; each owner begins where the one before it
committed, and reads on without a gap; in good order nothing is read twice.
From the log of `__consumer_offsets`: every generation gives a partition to one member, and no committed offset goes
back.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kafpy._core import batch
from kafpy.client.groups import assigned_partitions
from kafpy.coordinator.group.offset_record import read_key, read_value
from kafpy.coordinator.group.partition_for import partition_for
from kafpy.coordinator.group.records import GROUP_METADATA
from kafpy.storage import compression
from tests.clients.member import Event
from tests.clients.raw import RawClient

OFFSETS_TOPIC = "__consumer_offsets"
ENDED = {"killed", "left"}


@dataclass
class Checker:
    owners: dict[int, str] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    """After the last record that anybody read."""
    committed: dict[int, int] = field(default_factory=dict)
    begun: set[int] = field(default_factory=set)
    """Partitions whose owner has read something."""
    uncertain: set[int] = field(default_factory=set)
    """Partitions whose last owner went without a commit."""

    def check(self, events: Sequence[Event]) -> None:
        for event in sorted(events):
            for partition, offsets in event.partitions.items():
                try:
                    getattr(self, f"_{event.kind}")(event, partition, offsets)
                except AssertionError as error:
                    about = [each for each in sorted(events) if partition in each.partitions and each.at <= event.at]
                    error.add_note("\n".join(map(str, about[-40:])))
                    raise
            if event.kind in ENDED:
                for partition in [each for each, owner in self.owners.items() if owner == event.member]:
                    assert event.kind == "killed", f"{event} still owns {partition}"
                    self._lost(event, partition, [])

    def _assigned(self, event: Event, partition: int, _: list[int]) -> None:
        owner = self.owners.get(partition)
        assert owner is None, f"{partition} has two owners: {owner} and {event}"
        self.owners[partition] = event.member
        self.begun.discard(partition)

    def _revoked(self, event: Event, partition: int, _: list[int]) -> None:
        assert self.owners.pop(partition) == event.member, event
        if partition in self.begun:
            assert self.committed[partition] == self.ends[partition], f"{partition} was given up too early: {event}"

    def _lost(self, event: Event, partition: int, _: list[int]) -> None:
        assert self.owners.pop(partition) == event.member, event
        self.uncertain.add(partition)

    def _consumed(self, event: Event, partition: int, offsets: list[int]) -> None:
        assert self.owners.get(partition) == event.member, f"{event} does not own {partition}"
        end = self.ends.get(partition, 0)
        if partition in self.uncertain and partition not in self.begun:
            assert self.committed.get(partition, 0) <= offsets[0] <= end, f"{partition}: {event}"
            self.uncertain.discard(partition)
        else:
            assert offsets[0] == end, f"{partition} goes on at {offsets[0]}, not {end}: {event}"
        self.begun.add(partition)
        assert all(after == before + 1 for before, after in pairwise(offsets)), event
        self.ends[partition] = offsets[-1] + 1

    def _committed(self, event: Event, partition: int, offsets: list[int]) -> None:
        before = self.committed.get(partition, 0)
        assert before <= offsets[0] <= self.ends[partition], f"{partition} goes back from {before}: {event}"
        self.committed[partition] = offsets[0]


@dataclass(frozen=True)
class Generation:
    number: int
    owners: dict[int, list[str]]
    members: set[str]


def group_records(client: RawClient, group: str, partitions: int = 50) -> list[tuple[bytes, bytes | None]]:
    """All of the partition of `__consumer_offsets` that keeps the group, other groups' included."""
    index, offset, found = partition_for(group, partitions), 0, []
    while True:
        part = client.fetch(OFFSETS_TOPIC, offset, partition=index)
        assert part.error_code == 0
        if not part.records:
            return found
        pairs, offset = batch.decode_pairs(
            part.records, lambda codec, data: compression.decompress(codec, bytes(data), 64 << 20)
        )
        found += [(key, value) for _, key, value in pairs if key is not None]


def generations(records: Iterable[tuple[bytes, bytes | None]], group: str) -> list[Generation]:
    """As they were stored, those without members left out."""
    found = []
    for key, value in records:
        if key[:2] != b"\0\2" or value is None or GROUP_METADATA.read_key(key).group != group:
            continue
        stored: Any = GROUP_METADATA.read_value(value)
        owners: dict[int, list[str]] = defaultdict(list)
        for member in stored.members:
            for _, index in assigned_partitions(member.assignment):
                owners[index].append(member.member_id)
        if stored.members:
            found.append(Generation(stored.generation, dict(owners), {each.member_id for each in stored.members}))
    return found


def commits(records: Iterable[tuple[bytes, bytes | None]], group: str) -> dict[int, list[int | None]]:
    """Of each partition, in the order of the log; None for a tombstone."""
    found: dict[int, list[int | None]] = defaultdict(list)
    for key, value in records:
        if key[:2] == b"\0\1" and read_key(key)[0] == group:
            found[read_key(key)[2]].append(None if value is None else read_value(value).offset)
    return dict(found)


def check_log(client: RawClient, group: str, partitions: int, *, whole: bool = True) -> list[Generation]:
    """`whole`: every generation gives away every partition, as eager assignors do."""
    records = group_records(client, group)
    found = generations(records, group)
    for each in found:
        assert all(len(owners) == 1 for owners in each.owners.values()), each
        unknown = not each.owners  # kafka-python's leader may not have seen the topic yet
        assert not whole or unknown or each.owners.keys() == set(range(partitions)), each
    assert all(before.number <= after.number for before, after in pairwise(found)), found
    for partition, offsets in commits(records, group).items():
        known = [offset for offset in offsets if offset is not None]
        assert known == sorted(known), f"{partition} goes back: {offsets}"
    return found
