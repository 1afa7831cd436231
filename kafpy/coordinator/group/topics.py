"""What groups may know of topics: a cut of the metadata image, and the racks of brokers.

`Image` is what kafpy.metadata.image.Image is anyway; nothing here asks for more. A change is looked for by value, so
that a new leader or another config of a topic is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple, Protocol

NO_RACKS: Mapping[int, str] = MappingProxyType({})


class Partition(Protocol):
    @property
    def replicas(self) -> Sequence[int]: ...


class Topic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> bytes: ...
    @property
    def partitions(self) -> Sequence[Partition]: ...


class Image(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def topics(self) -> Mapping[str, Topic]: ...
    def topic(self, name: str) -> Topic | None: ...
    def topic_by_id(self, topic_id: bytes) -> Topic | None: ...


class NoTopics:
    epoch = 0
    topics: Mapping[str, Topic] = MappingProxyType({})

    def topic(self, name: str) -> Topic | None:
        return None

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        return None


EMPTY: Image = NoTopics()


class Changes(NamedTuple):
    """Names of topics. One that was deleted and created again is in both."""

    created: frozenset[str]
    deleted: frozenset[str]
    altered: frozenset[str]
    """Other partitions, or replicas in other racks."""

    @property
    def names(self) -> frozenset[str]:
        return self.created | self.deleted | self.altered


NO_CHANGES = Changes(frozenset(), frozenset(), frozenset())


class KnownTopics:
    """The image of the moment; everything of a shard looks at the same one."""

    def __init__(self, image: Image = EMPTY, racks: Mapping[int, str] = NO_RACKS) -> None:
        self.image = image
        self.broker_racks = racks

    def change(self, image: Image, racks: Mapping[int, str]) -> Changes:
        """Takes in a new image; what is other in it than before."""
        before, racks_before = self.image, self.broker_racks
        if image.topics is before.topics and (racks is racks_before or dict(racks) == dict(racks_before)):
            self.image = image
            return NO_CHANGES
        created, altered = set(), set()
        deleted = set(before.topics.keys() - image.topics.keys())
        known = before.topics.get
        same_racks = dict(racks) == dict(racks_before)
        others = [name for name, topic in image.topics.items() if known(name) is not topic or not same_racks]
        for name in others:
            topic, old = image.topics[name], known(name)
            if old is None:
                created.add(name)
            elif old.topic_id != topic.topic_id:
                created.add(name)
                deleted.add(name)
            elif _layout(old, racks_before) != _layout(topic, racks):
                altered.add(name)
        self.replace(image, racks)
        return Changes(frozenset(created), frozenset(deleted), frozenset(altered))

    def replace(self, image: Image, racks: Mapping[int, str]) -> None:
        """Where nobody asks what has changed."""
        self.image, self.broker_racks = image, racks

    def ids(self, names: Iterable[str]) -> frozenset[bytes]:
        """Of those that are there."""
        found = map(self.image.topic, names)
        return frozenset(topic.topic_id for topic in found if topic is not None)

    def name(self, topic_id: bytes) -> str | None:
        topic = self.image.topic_by_id(topic_id)
        return None if topic is None else topic.name

    def names(self) -> Iterable[str]:
        return self.image.topics.keys()

    def racks(self, topic: Topic) -> tuple[frozenset[str], ...]:
        """By partition, where its replicas are; nothing at all where no broker has a rack."""
        if not self.broker_racks:
            return ()
        known = self.broker_racks
        return tuple(
            frozenset(known[broker] for broker in each.replicas if broker in known) for each in topic.partitions
        )

    def hash(self, names: Iterable[str]) -> int:
        """Of everything about these topics that assignments depend on (KIP-1101); 0 where none of them is there.

        A number that is only compared with itself, in the log of one broker after another: it need not be Kafka's.
        """
        digest, found = blake2b(digest_size=8), False
        for name in sorted(names):
            topic = self.image.topic(name)
            if topic is not None:
                found = True
                layout = _layout(topic, self.broker_racks)
                digest.update(repr((topic.topic_id, name, layout)).encode())
        return int.from_bytes(digest.digest(), "big", signed=True) if found else 0


def _layout(topic: Topic, racks: Mapping[int, str]) -> tuple[int, tuple[tuple[str, ...], ...]]:
    where: tuple[tuple[str, ...], ...] = ()
    if racks:
        where = tuple(
            tuple(sorted({racks[broker] for broker in each.replicas if broker in racks})) for each in topic.partitions
        )
    return len(topic.partitions), where
