"""A broker in memory, and a way to ask it over the wire's bytes."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.broker import topic_config
from kafpy.broker.config_entries import Entry, Layers, TopicEntries
from kafpy.broker.settings import Settings
from kafpy.handlers.registry import SERVED, Call
from kafpy.metadata import Image, MetadataError, Partition, Topic, topic_name
from kafpy.protocol import codec
from kafpy.protocol.errors import ErrorCode
from kafpy.protocol.table import Api
from tests.handlers.real import ORIGIN, Origin, RealBroker


@dataclass
class MemoryLog:
    """Records are (offset, timestamp)."""

    records: list[tuple[int, int]] = field(default_factory=list)
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0
    last_stable_offset: int = 0

    def batch_for_time(self, timestamp: int) -> bytes | None:
        """Every record is a batch of its own."""
        for offset, time in self.records:
            if time >= timestamp:
                return batch.encode([b""], timestamps=time, base_offset=offset)
        return None

    def max_timestamp(self) -> int:
        return max((time for _, time in self.records), default=-1)


class MemoryPartitions:
    def __init__(self) -> None:
        self.logs: dict[tuple[str, int], MemoryLog] = {}

    def log(self, topic: str, partition: int) -> MemoryLog | None:
        return self.logs.get((topic, partition))


class MemoryBroker:
    node_id = 1
    cluster_id = "memory-cluster"

    def __init__(self) -> None:
        self.settings = Settings()
        self.image = Image()
        self.partitions = MemoryPartitions()
        self.producer_ids = 4000

    def advertised(self, origin: Origin) -> tuple[str, int]:
        return origin.local_host, origin.local_port

    def check_topic(self, name: str, partitions: int, factor: int, configs: Mapping[str, str | None]) -> None:
        topic_name.check(name)
        if name in self.image.topics:
            raise MetadataError(ErrorCode.TOPIC_ALREADY_EXISTS, "exists")
        topic_name.check_collision(name, self.image.topics)
        if partitions == 0 or partitions < -1:
            raise MetadataError(ErrorCode.INVALID_PARTITIONS, "partitions")
        if factor not in (1, -1):
            raise MetadataError(ErrorCode.INVALID_REPLICATION_FACTOR, "factor")
        topic_config.validate(configs)

    async def create_topic(
        self, name: str, partitions: int, factor: int, configs: Mapping[str, str], topic_id: bytes | None = None
    ) -> Topic:
        self.check_topic(name, partitions, factor, configs)
        count = self.settings.num_partitions if partitions == -1 else partitions
        parts = tuple(Partition(index, self.node_id, 0, (self.node_id,), (self.node_id,)) for index in range(count))
        topic = Topic(name, topic_id or name.encode()[:16].ljust(16, b"!"), parts, dict(configs))
        self.image = self.image.with_topic(topic, self.image.epoch + 1)
        for index in range(count):
            self.partitions.logs[name, index] = MemoryLog()
        return topic

    def topic_config_entries(self, configs: Mapping[str, str]) -> list[Entry]:
        return TopicEntries(Layers(self.settings, {}, {}, self.settings)).of(configs)

    async def delete_topic(self, name: str) -> None:
        if name not in self.image.topics:
            raise MetadataError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "unknown")
        self.image = self.image.without_topic(name, self.image.epoch + 1)

    def charge_mutation(self, client_id: str | None, partitions: int, strict: bool) -> int:
        return 0

    async def allocate_producer_id(self) -> int:
        self.producer_ids += 1
        return self.producer_ids

    def have(self, *names: str, partitions: int = 1) -> None:
        for name in names:
            finish(self.create_topic(name, partitions, 1, {}))

    def ask(self, spoken: Api, version: int, **fields: Any) -> Any:
        """Through the bytes of both messages, as a client would."""
        frame = codec.write_request(spoken.key, version, 5, "test", spoken.request(**fields))
        header, body = codec.read_request(frame)
        answer = SERVED[spoken.key].handler(self, Call(header, body, ORIGIN, no_reply_later, lambda _: None))  # type: ignore[arg-type]
        answer = finish(answer) if inspect.isawaitable(answer) else answer
        payload = codec.write_response(spoken.key, version, header.correlation_id, answer)
        return codec.read_response(spoken.key, version, payload)[1]


def no_reply_later(answer: Any) -> None:
    raise AssertionError("these handlers answer at once")


def finish(work: Any) -> Any:
    """Runs a coroutine that never really waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealBroker]:
    """With two directories."""
    broker = RealBroker(tmp_path / "one", tmp_path / "two")
    yield broker
    broker.close()
