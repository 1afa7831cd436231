"""What handlers may know and do: the image, the settings, the partitions, and the few changes they can ask for.

A change is made durable in the store first, then in folders and logs, then published to the planes, and last in the
image; one at a time, and to its end even when whoever asked has gone.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import trio

from kafpy.broker import topic_config
from kafpy.broker.partitions import Hosted, Partitions
from kafpy.broker.settings import Settings
from kafpy.metadata import Image, MetadataError, Partition, Store, Topic, topic_name
from kafpy.protocol.errors import ErrorCode

MAX_PARTITIONS = 10_000
"""Of one topic, at creation (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""
PRODUCER_ID_BLOCK = 1000


class Connected(Protocol):
    """The part of a Call that tells where its client came in."""

    @property
    def local_host(self) -> str: ...
    @property
    def local_port(self) -> int: ...


class BrokerState:
    def __init__(
        self,
        *,
        settings: Settings,
        cluster_id: str,
        image: Image,
        store: Store,
        partitions: Partitions,
        remove_later: Callable[[list[Path]], None],
    ) -> None:
        self.settings = settings
        self.node_id = settings.node_id
        self.cluster_id = cluster_id
        self.image = image
        self.partitions = partitions
        self._store = store
        self._remove_later = remove_later
        self._changing = trio.Lock()
        self._allocating = trio.Lock()
        self._producer_ids = range(0)
        self._advertised: dict[int, tuple[str, int]] = {}

    def advertise(self, ports: Mapping[int, str]) -> None:
        """`ports`: the listener behind each bound port."""
        advertised = self.settings.advertised()
        self._advertised = {
            port: (advertised[name].host, advertised[name].port) for port, name in ports.items() if name in advertised
        }

    def advertised(self, call: Connected) -> tuple[str, int]:
        """Where this client should connect: advertised.listeners, or the address it already uses."""
        found = self._advertised.get(call.local_port)
        return found or (call.local_host.removeprefix("::ffff:"), call.local_port)

    def check_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str | None]
    ) -> None:
        """What create_topic() would refuse, as Kafka words it; -1 stands for the broker's default."""
        topic_name.check(name)
        if self.image.topic(name) is not None:
            raise MetadataError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        topic_name.check_collision(name, self.image.topics)
        if partitions == 0 or partitions < -1:
            message = "Number of partitions was set to an invalid non-positive value."
            raise MetadataError(ErrorCode.INVALID_PARTITIONS, message)
        if partitions > MAX_PARTITIONS:
            raise MetadataError(
                ErrorCode.POLICY_VIOLATION,
                f"Excessively large number of partitions per request: over {MAX_PARTITIONS}.",
            )
        self._check_replication_factor(replication_factor)
        topic_config.validate(configs)

    def _check_replication_factor(self, wanted: int) -> None:
        if wanted == 0 or wanted < -1:
            message = "Replication factor must be larger than 0, or -1 to use the default value."
            raise MetadataError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
        factor = self.settings.default_replication_factor if wanted == -1 else wanted
        if factor > 1:
            raise MetadataError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot "
                "be reached because only 1 broker(s) are registered or some brokers have all their log directories "
                "cordoned.",
            )

    async def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        topic_id: bytes | None = None,
    ) -> Topic:
        """Durable and served when this returns. MetadataError tells why not."""
        async with self._changing:
            self.check_topic(name, partitions, replication_factor, configs or {})
            count = self.settings.num_partitions if partitions == -1 else partitions
            me = (self.node_id,)
            topic = Topic(
                name,
                topic_id or uuid.uuid4().bytes,
                tuple(Partition(index, self.node_id, 0, me, me) for index in range(count)),
                dict(configs or {}),
            )
            with trio.CancelScope(shield=True):
                epoch, hosted = await trio.to_thread.run_sync(self._create, topic)
                self.partitions.publish(topic, hosted)
                self.image = self.image.with_topic(topic, epoch)
            return topic

    def _create(self, topic: Topic) -> tuple[int, list[Hosted | None]]:
        epoch = self._store.create_topic(topic)
        try:
            return epoch, self.partitions.create(topic)
        except OSError as error:
            self._store.delete_topic(topic.name)
            raise MetadataError(ErrorCode.KAFKA_STORAGE_ERROR, f"Disk error: {error.strerror}.") from error

    async def delete_topic(self, name: str) -> None:
        """Durable, and unknown to clients, when this returns; the files go later."""
        async with self._changing:
            if self.image.topic(name) is None:
                raise MetadataError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
                )
            if not self.settings.delete_topic_enable:
                raise MetadataError(ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
            with trio.CancelScope(shield=True):
                epoch = await trio.to_thread.run_sync(self._store.delete_topic, name)
                self.image = self.image.without_topic(name, epoch)
                withdrawn = self.partitions.withdraw(name)
                aside = await trio.to_thread.run_sync(self.partitions.discard, withdrawn)
                self._remove_later(aside)

    async def lose_leaders(self) -> None:
        """Partitions in failed directories have no leader any more. Not stored: a start finds out anew."""
        async with self._changing:
            for name, indexes in self.partitions.lost().items():
                topic = self.image.topics[name]
                lost = [replace(each, leader=-1) if each.index in indexes else each for each in topic.partitions]
                self.image = self.image.with_topic(replace(topic, partitions=tuple(lost)), self.image.epoch)

    async def allocate_producer_id(self) -> int:
        """From a block that is taken from the store whole; what is left of it at a stop is never used."""
        async with self._allocating:
            if not self._producer_ids:
                allocate = self._store.allocate_producer_ids
                first = await trio.to_thread.run_sync(allocate, PRODUCER_ID_BLOCK)
                self._producer_ids = range(first, first + PRODUCER_ID_BLOCK)
            given = self._producer_ids[0]
            self._producer_ids = self._producer_ids[1:]
            return given
