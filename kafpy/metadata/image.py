"""What the cluster has agreed on, as brokers read it: frozen values.

A change makes a new Image with the next epoch; whoever cached something made from an image compares epochs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kafpy.metadata.client_quota import Entity, Quotas


@dataclass(frozen=True, slots=True)
class Partition:
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: bytes
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Image:
    epoch: int = 0
    topics: Mapping[str, Topic] = field(default_factory=lambda: MappingProxyType({}))
    topics_by_id: Mapping[bytes, Topic] = field(default_factory=lambda: MappingProxyType({}))
    broker_configs: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    """Dynamic configs by the broker's id; under "" those of all brokers."""
    client_quotas: Quotas = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(
        cls,
        epoch: int,
        topics: list[Topic],
        broker_configs: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
        client_quotas: Quotas = MappingProxyType({}),
    ) -> Image:
        by_name = {topic.name: topic for topic in topics}
        by_id = {topic.topic_id: topic for topic in topics}
        return cls(
            epoch,
            MappingProxyType(by_name),
            MappingProxyType(by_id),
            MappingProxyType(dict(broker_configs)),
            MappingProxyType(dict(client_quotas)),
        )

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        return self.topics_by_id.get(topic_id)

    def with_topic(self, topic: Topic, epoch: int) -> Image:
        by_name = {**self.topics, topic.name: topic}
        by_id = {**self.topics_by_id, topic.topic_id: topic}
        return replace(self, epoch=epoch, topics=MappingProxyType(by_name), topics_by_id=MappingProxyType(by_id))

    def without_topic(self, name: str, epoch: int) -> Image:
        gone = self.topics[name].topic_id
        by_name = {key: value for key, value in self.topics.items() if key != name}
        by_id = {key: value for key, value in self.topics_by_id.items() if key != gone}
        return replace(self, epoch=epoch, topics=MappingProxyType(by_name), topics_by_id=MappingProxyType(by_id))

    def with_broker_configs(self, broker: str, configs: Mapping[str, str], epoch: int) -> Image:
        return replace(self, epoch=epoch, broker_configs=MappingProxyType({**self.broker_configs, broker: configs}))

    def with_client_quotas(self, changed: Mapping[Entity, Mapping[str, float]], epoch: int) -> Image:
        """An entity without values is one without quotas."""
        quotas = {entity: values for entity, values in {**self.client_quotas, **changed}.items() if values}
        return replace(self, epoch=epoch, client_quotas=MappingProxyType(quotas))
