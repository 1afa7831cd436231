"""The group coordinator of one broker: the runtime over the partitions of `__consumer_offsets` that it leads."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from kafpy._core.commits import Commits
from kafpy._core.runtime import Runtime
from kafpy.broker.partitions import Partitions
from kafpy.broker.settings import Settings
from kafpy.broker.topic_config import Effective
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.partition_for import partition_for
from kafpy.coordinator.group.shard import GroupShard, Overview
from kafpy.coordinator.result import Result
from kafpy.coordinator.runtime import CoordinatorRuntime, RuntimeConfig
from kafpy.coordinator.ticket import Ticket
from kafpy.metadata import Image
from kafpy.metadata.topic_name import GROUP_METADATA
from kafpy.protocol.errors import ErrorCode

GROUPS_REMEMBERED = 1 << 14
LONGEST_REMEMBERED = 256
"""Anyone may name a group, in 32 KB if they like."""


class GroupCoordinator:
    def __init__(self, runtime: Runtime, partitions: Partitions, settings: Settings) -> None:
        self._settings = settings
        self._node_id = settings.node_id
        self._image = Image()
        self._racks = {settings.node_id: settings.broker_rack} if settings.broker_rack else {}
        self._commits = Commits(runtime)
        self._count = 0
        self._config = GroupConfig(
            **{each.name: getattr(settings, each.name) for each in fields(GroupConfig) if hasattr(settings, each.name)}
        )
        self._runtime = CoordinatorRuntime(
            RuntimeConfig(
                GROUP_METADATA,
                settings.offsets_load_buffer_size,
                settings.offsets_commit_timeout_ms,
                settings.offsets_topic_compression_codec,
            ),
            new_shard=self._new_shard,
            find_log=lambda index: partitions.log(GROUP_METADATA, index),
            max_batch_bytes=self._max_batch_bytes,
            commits=self._commits,
            wall_ms=runtime.wall_ms,
            now=lambda: runtime.monotonic_ns() / 1e9,  # the clock that trio reads here, without asking trio
        )
        self._partition_for: Callable[[str], int] = self._remember_partitions()

    async def serve(self) -> None:
        await self._runtime.serve()

    def close(self) -> None:
        self._commits.close()

    def topic_configs(self) -> dict[str, str]:
        """What the topic of the coordinator is created with (GroupCoordinatorService.groupMetadataTopicConfigs)."""
        return {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(self._settings.offsets_topic_segment_bytes),
        }

    @property
    def topic_partitions(self) -> int:
        return self._settings.offsets_topic_num_partitions

    # ---- asked by handlers

    def partition_of(self, group_id: str) -> int:
        return self._partition_for(group_id) if self._count else 0

    def is_led(self, index: int) -> bool:
        topic = self._image.topic(GROUP_METADATA)
        return topic is not None and index < len(topic.partitions) and topic.partitions[index].leader == self._node_id

    def run(self, group_id: str, ticket: Ticket, operation: Callable[[GroupShard, int], Result]) -> None:
        if self._count:
            self._runtime.run(self._partition_for(group_id), ticket, operation)
        else:
            ticket.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def run_in(self, index: int, ticket: Ticket, operation: Callable[[GroupShard, int], Result]) -> None:
        self._runtime.run(index, ticket, operation)

    @property
    def led(self) -> list[int]:
        return sorted(self._runtime.led)

    def overviews(self) -> Iterator[list[Overview]]:
        """Of the groups that are led here; between two answers the loop may turn."""
        return self._runtime.ask_each(GroupShard.overview)

    def flush(self) -> None:
        """After every drain of the inbox, and after anything else that ran operations."""
        self._runtime.flush()

    # ---- told by the broker

    def image_changed(self, image: Image) -> None:
        before, self._image = self._image, image
        if before.topics is image.topics:
            return
        self._follow_leadership(image)
        gone = before.topics.keys() - image.topics.keys()
        if gone:
            self._runtime.run_everywhere(lambda shard, _: shard.topics_deleted(gone))
        self._runtime.run_everywhere(lambda shard, now_ms: shard.image_changed(image, self._racks, now_ms))
        self.flush()

    def _follow_leadership(self, image: Image) -> None:
        topic = image.topic(GROUP_METADATA)
        partitions = topic.partitions if topic is not None else ()
        if len(partitions) != self._count:
            self._count = len(partitions)
            self._partition_for = self._remember_partitions()
        led = {each.index for each in partitions if each.leader == self._node_id}
        for index in self._runtime.led - led:
            self._runtime.resign(index)
        for index in sorted(led - self._runtime.led):
            self._runtime.lead(index)

    def _remember_partitions(self) -> Callable[[str], int]:
        count = self._count
        remembered = lru_cache(GROUPS_REMEMBERED)(lambda group_id: partition_for(group_id, count))

        def find(group_id: str) -> int:
            return remembered(group_id) if len(group_id) <= LONGEST_REMEMBERED else partition_for(group_id, count)

        return find

    def _new_shard(self) -> GroupShard:
        config = replace(self._config, message_max_bytes=self._max_batch_bytes())
        return GroupShard(config, self._image, self._racks)

    def _max_batch_bytes(self) -> int:
        topic = self._image.topic(GROUP_METADATA)
        configs: Any = topic.configs if topic is not None else {}
        return Effective(self._settings, configs).whole("max.message.bytes")
