"""What handlers may know and do: the image, the settings, the partitions, and the few changes they can ask for.

A change is made durable in the store first, then in folders and logs, then published to the planes, and last in the
image; one at a time, and to its end even when whoever asked has gone.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import trio

from kafpy.broker import config_entries, dynamic_config, retention, topic_config
from kafpy.broker.config_entries import Entry, Layers, TopicEntries
from kafpy.broker.group_coordinator import GroupCoordinator
from kafpy.broker.mutation_quota import MutationQuota
from kafpy.broker.partitions import Contents, Hosted, Partitions
from kafpy.broker.quota_alterations import altered
from kafpy.broker.replica_moves import Future, ReplicaMoves
from kafpy.broker.settings import Settings
from kafpy.handlers.registry import Origin
from kafpy.metadata import Image, MetadataError, Partition, Store, Topic, topic_name
from kafpy.metadata.client_quota import Alteration
from kafpy.protocol.errors import ErrorCode
from kafpy.storage.checkpoints import TopicPartition

logger = logging.getLogger(__name__)

MAX_PARTITIONS = 10_000
"""Of one topic, at a time (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""
PRODUCER_ID_BLOCK = 1000

ConfigChange = Callable[[Mapping[str, str], Mapping[str, str]], dict[str, str]]
"""From a resource's configs, and the names of lists with their defaults, to its new configs."""


class BrokerState:
    def __init__(
        self,
        *,
        settings: Settings,
        cluster_id: str,
        image: Image,
        store: Store,
        partitions: Partitions,
        remove_later: Callable[[list[Path], int], None],
        limit: Callable[[Settings, Image], None],
        groups: GroupCoordinator,
        wall_ms: Callable[[], int],
        start_soon: Callable[[Callable[[], Awaitable[None]]], None] | None = None,
    ) -> None:
        """`remove_later`: files and folders, and after how many milliseconds. `limit`: has the planes follow changed
        limits. Without `start_soon`, whoever asks for a move of a replica waits for its end."""
        self._static = settings
        self.settings = settings_now(settings, image)
        self.node_id = settings.node_id
        self.cluster_id = cluster_id
        self._image = image
        self.groups = groups
        self.partitions = partitions
        self._store = store
        self._remove_later = remove_later
        self._limit = limit
        self._wall_ms = wall_ms
        self._mutations = MutationQuota(
            settings.controller_quota_window_num * settings.controller_quota_window_size_seconds
        )
        self._changing = trio.Lock()
        self._half_made: set[str] = set()
        self._start_soon = start_soon
        self._moves = ReplicaMoves(partitions, self._changing, lambda name: self.image.topic(name), remove_later)
        self._allocating = trio.Lock()
        self._producer_ids = range(0)
        self._advertised: dict[int, tuple[str, int]] = {}
        self._topic_entries = TopicEntries(self._layers())
        groups.image_changed(image)

    @property
    def image(self) -> Image:
        return self._image

    @image.setter
    def image(self, image: Image) -> None:
        self._image = image
        self.groups.image_changed(image)

    def advertise(self, ports: Mapping[int, str]) -> None:
        """`ports`: the listener behind each bound port."""
        advertised = self.settings.advertised()
        self._advertised = {
            port: (advertised[name].host, advertised[name].port) for port, name in ports.items() if name in advertised
        }

    def advertised(self, origin: Origin) -> tuple[str, int]:
        """Where this client should connect: advertised.listeners, or the address it already uses."""
        found = self._advertised.get(origin.local_port)
        return found or (origin.local_host.removeprefix("::ffff:"), origin.local_port)

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
            logger.info("topic %s is created, partitions: %d", name, count)
            return topic

    async def create_group_topic(self) -> None:
        """The topic that groups are kept in, where it is missing; on one broker it has one replica."""
        try:
            groups = self.groups
            await self.create_topic(topic_name.GROUP_METADATA, groups.topic_partitions, 1, groups.topic_configs())
        except MetadataError as error:
            if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise

    def _create(self, topic: Topic) -> tuple[int, list[Hosted | None]]:
        self._forget_half_made(topic.name)
        epoch = self._store.create_topic(topic)
        try:
            return epoch, self.partitions.create(topic)
        except OSError as error:
            self._half_made.add(topic.name)
            self._forget_half_made(topic.name)
            raise MetadataError(ErrorCode.KAFKA_STORAGE_ERROR, f"Disk error: {error.strerror}.") from error

    def _forget_half_made(self, name: str) -> None:
        """Of a topic that got no folders; a store on the same full disk may refuse it until somebody asks again."""
        if name in self._half_made:
            self._store.delete_topic(name)
            self._half_made.discard(name)

    async def delete_topic(self, name: str) -> None:
        """Durable, and unknown to clients, when this returns; the files go later."""
        async with self._changing:
            topic = self.image.topic(name)
            if topic is None:
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
                delay = topic_config.Effective(self.settings, topic.configs).whole("file.delete.delay.ms")
                self._remove_later(aside, delay)
            logger.info("topic %s is deleted", name)

    async def add_partitions(self, name: str, count: int) -> None:
        """`count` in all; checked by check_partitions()."""
        async with self._changing:
            self.check_partitions(name, count)
            topic = self.image.topics[name]
            me = (self.node_id,)
            have = len(topic.partitions)
            added = tuple(Partition(index, self.node_id, 0, me, me) for index in range(have, count))
            grown = replace(topic, partitions=topic.partitions + added)
            with trio.CancelScope(shield=True):
                epoch, hosted = await trio.to_thread.run_sync(self._add_partitions, grown, have)
                self.partitions.extend(grown, hosted)
                self.image = self.image.with_topic(grown, epoch)
            logger.info("topic %s has more partitions: %d, before %d", name, count, have)

    def _add_partitions(self, grown: Topic, have: int) -> tuple[int, list[Hosted | None]]:
        """The folders first: those that a crash leaves alone are set aside at the next start."""
        try:
            hosted = self.partitions.create(grown, have)
        except OSError as error:
            raise MetadataError(ErrorCode.KAFKA_STORAGE_ERROR, f"Disk error: {error.strerror}.") from error
        try:
            return self._store.add_partitions(grown.name, grown.partitions[have:]), hosted
        except BaseException:
            self.partitions.discard([each for each in hosted if each is not None])
            raise

    def check_partitions(self, name: str, count: int) -> None:
        """What add_partitions() would refuse, as Kafka words it."""
        topic = self.image.topic(name)
        if topic is None:
            raise MetadataError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
        have = len(topic.partitions)
        if count == have:
            raise MetadataError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
        if count < have:
            message = f"The topic {name} currently has {have} partition(s); {count} would not be an increase."
            raise MetadataError(ErrorCode.INVALID_PARTITIONS, message)
        if count - have > MAX_PARTITIONS:
            raise MetadataError(
                ErrorCode.POLICY_VIOLATION,
                f"Excessively large number of partitions per request: over {MAX_PARTITIONS}.",
            )

    async def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | Exception]:
        """New log starts, durable when this returns; IndexError beyond the high watermark, OSError for a failed log."""
        async with self._changing:
            known = {key: offset for key, offset in offsets.items() if key[0] in self.image.topics}
            results: dict[TopicPartition, int | Exception] = {}
            with trio.CancelScope(shield=True):
                results.update(await trio.to_thread.run_sync(self.partitions.delete_records, known))
            for (name, index), start in results.items():
                if isinstance(start, int):
                    logger.info("records of %s-%d are deleted, it begins at %d", name, index, start)
            return results

    async def delete_old_segments(self) -> None:
        """What retention has over is gone for clients when this returns; its files go later."""
        async with self._changing:
            with trio.CancelScope(shield=True):
                aside = await trio.to_thread.run_sync(
                    retention.delete_old_segments, self.partitions, self.image, self.settings, self._wall_ms()
                )
            for delay, files in aside.items():
                self._remove_later(files, delay)

    async def settle(self) -> None:
        """What is due by the clock is done, changes of topics and retention among it; clients are not waited for."""
        from trio.testing import wait_all_tasks_blocked

        await wait_all_tasks_blocked()
        async with self._changing:
            pass
        await wait_all_tasks_blocked()

    async def describe_directories(self) -> tuple[list[Contents], dict[TopicPartition, Future]]:
        """What they hold, and which partitions are on their way into them."""
        return (
            await trio.to_thread.run_sync(self.partitions.contents),
            await trio.to_thread.run_sync(self._moves.futures),
        )

    async def move_replica(self, name: str, index: int, path: str) -> ErrorCode:
        """NONE says that it lies there, or is on its way."""
        code, work = self._moves.begin(name, index, path)
        if work is not None and self._start_soon is not None:
            self._start_soon(work)
        elif work is not None:
            await work()
        return code

    def topic_cleanup_policy(self, topic: Topic) -> tuple[str, ...]:
        return topic_config.Effective(self.settings, topic.configs).cleanup_policy()

    def topic_config_entries(self, configs: Mapping[str, str]) -> list[Entry]:
        return self._topic_entries.of(configs)

    def broker_config_entries(self) -> list[Entry]:
        return config_entries.of_broker(self._layers())

    def cluster_config_entries(self) -> list[Entry]:
        return config_entries.of_cluster(self._layers().default)

    def _layers(self) -> Layers:
        configs = self.image.broker_configs
        return Layers(self._static, configs.get("", {}), configs.get(str(self.node_id), {}), self.settings)

    async def alter_topic_configs(self, name: str, change: ConfigChange, validate_only: bool) -> None:
        """Durable and in effect when this returns. MetadataError tells why not."""
        async with self._changing:
            topic = self.image.topic(name)
            if topic is None:
                raise MetadataError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
            configs = change(topic.configs, topic_config.LISTS)
            topic_config.validate(configs)
            if validate_only:
                return
            altered = replace(topic, configs=configs)
            with trio.CancelScope(shield=True):
                epoch = await trio.to_thread.run_sync(self._store.set_topic_configs, name, configs)
                await trio.to_thread.run_sync(self.partitions.configure, [altered], self.settings)
                self.image = self.image.with_topic(altered, epoch)
            logger.info("topic %s: %s", name, _changes(topic.configs, configs))

    async def alter_broker_configs(self, broker: str, change: ConfigChange, validate_only: bool) -> None:
        """`broker` is this broker's id, or "" for all brokers."""
        async with self._changing:
            current = self.image.broker_configs.get(broker, {})
            configs = change(current, dynamic_config.LISTS)
            dynamic_config.validate(configs)
            if validate_only:
                return
            with trio.CancelScope(shield=True):
                epoch = await trio.to_thread.run_sync(self._store.set_broker_configs, broker, configs)
                self.image = self.image.with_broker_configs(broker, configs, epoch)
                self.settings = settings_now(self._static, self.image)
                self._topic_entries = TopicEntries(self._layers())
                topics = list(self.image.topics.values())
                await trio.to_thread.run_sync(self.partitions.configure, topics, self.settings)
                await trio.to_thread.run_sync(self._limit, self.settings, self.image)
            logger.info("%s: %s", f"broker {broker}" if broker else "all brokers", _changes(current, configs))

    async def alter_client_quotas(
        self, alterations: Sequence[Alteration], validate_only: bool
    ) -> list[MetadataError | None]:
        """Each on its own; what is not refused is durable and in effect when this returns."""
        async with self._changing:
            results, changed = await trio.to_thread.run_sync(altered, self.image.client_quotas, alterations)
            if changed and not validate_only:
                with trio.CancelScope(shield=True):
                    try:
                        epoch = await trio.to_thread.run_sync(self._store.set_client_quotas, changed)
                    except MetadataError as error:
                        return [refused or error for refused in results]
                    self.image = self.image.with_client_quotas(changed, epoch)
                    await trio.to_thread.run_sync(self._limit, self.settings, self.image)
                logger.info("client quotas are changed, entities: %d", len(changed))
            return results

    def charge_mutation(self, client_id: str | None, partitions: int, strict: bool) -> int:
        """Partitions to create or delete; milliseconds for the reply. MetadataError 89 has a strict client wait."""
        quotas = self.image.client_quotas
        return self._mutations.charge(quotas, client_id or "", partitions, trio.current_time(), strict)

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


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    changed = [f"{name}={after[name]}" for name in sorted(after) if before.get(name) != after[name]]
    dropped = [f"{name} as by default" for name in sorted(before.keys() - after.keys())]
    return ", ".join([*changed, *dropped]) or "configs as before"


def settings_now(static: Settings, image: Image) -> Settings:
    """The settings that the broker was started with, and what was changed since."""
    configs = image.broker_configs
    return dynamic_config.effective(static, configs.get("", {}), configs.get(str(static.node_id), {}))
