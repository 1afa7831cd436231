"""The Python clients behind one face, so that a test is written once and run with each of them.

Consumers are given their partition: they belong to no group.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import aiokafka
import aiokafka.structs
import confluent_kafka
import kafka
import kafka.structs

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT_S = 30
LARGEST = 4 << 20
"""No client stands in the way of what the broker is asked."""


class Message(NamedTuple):
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = 1_700_000_000_000
    partition: int = 0


class Read(NamedTuple):
    offset: int
    message: Message


class Refused(Exception):
    """With Kafka's error code."""

    @property
    def code(self) -> int:
        return int(self.args[0])


class Driver(Protocol):
    def __init__(self, bootstrap: str) -> None: ...

    def produce(
        self, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: str = "all", **more: Any
    ) -> list[int]:
        """The offset of each. `more`: settings in the client's own words."""

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Read]:
        """So many from there on."""

    def offsets_for_time(self, topic: str, timestamp: int) -> tuple[int | None, int, int]:
        """Of partition 0: the first that is not older, the earliest and the latest."""


class Confluent:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def produce(
        self, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: str = "all", **more: Any
    ) -> list[int]:
        settings = {
            "bootstrap.servers": self._bootstrap,
            "compression.type": codec,
            "acks": acks,
            "message.max.bytes": LARGEST,
            "linger.ms": 5,
            **more,
        }
        producer = confluent_kafka.Producer(settings)
        offsets: dict[int, int] = {}
        errors = []

        def delivered(index: int, error: Any, message: Any) -> None:
            if error:
                errors.append(error.code())
            offsets[index] = message.offset()

        for index, each in enumerate(messages):
            producer.produce(
                topic,
                each.value,
                each.key,
                each.partition,
                timestamp=each.timestamp,
                headers=list(each.headers),
                on_delivery=lambda error, message, index=index: delivered(index, error, message),
            )
            producer.poll(0)
        assert producer.flush(TIMEOUT_S) == 0
        if errors:
            raise Refused(errors[0])
        return [offsets[index] for index in range(len(messages))]

    def consumer(self, **more: Any) -> confluent_kafka.Consumer:
        settings = {
            "bootstrap.servers": self._bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
            "auto.offset.reset": "error",
        }
        return confluent_kafka.Consumer({**settings, **more})

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Read]:
        consumer = self.consumer()
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, offset)])
        found: list[Read] = []
        while len(found) < count:
            batch = consumer.consume(count - len(found), TIMEOUT_S)
            assert batch, f"{len(found)} of {count}"
            for each in batch:
                assert each.error() is None
                headers = tuple(each.headers() or ())
                message = Message(each.value(), each.key(), headers, each.timestamp()[1], each.partition())
                found.append(Read(each.offset(), message))
        consumer.close()
        return found

    def offsets_for_time(self, topic: str, timestamp: int) -> tuple[int | None, int, int]:
        consumer = self.consumer()
        asked = confluent_kafka.TopicPartition(topic, 0, timestamp)
        (found,) = consumer.offsets_for_times([asked], TIMEOUT_S)
        earliest, latest = consumer.get_watermark_offsets(asked, TIMEOUT_S)
        consumer.close()
        return None if found.offset < 0 else found.offset, earliest, latest


class KafkaPython:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def produce(
        self, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: str = "all", **more: Any
    ) -> list[int]:
        settings = {
            "bootstrap_servers": self._bootstrap,
            "compression_type": None if codec == "none" else codec,
            "acks": acks if acks == "all" else int(acks),
            "enable_idempotence": acks == "all",
            "linger_ms": 5,
            "max_request_size": LARGEST,
            **more,
        }
        producer = kafka.KafkaProducer(**settings)
        futures = [
            producer.send(
                topic,
                each.value,
                each.key,
                headers=list(each.headers),
                partition=each.partition,
                timestamp_ms=each.timestamp,
            )
            for each in messages
        ]
        try:
            return [future.get(TIMEOUT_S).offset for future in futures]
        except kafka.errors.BrokerResponseError as error:
            raise Refused(error.errno) from None
        finally:
            producer.close()

    def _consumer(self) -> kafka.KafkaConsumer:
        return kafka.KafkaConsumer(
            bootstrap_servers=self._bootstrap, group_id=None, auto_offset_reset="none", fetch_max_wait_ms=100
        )

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Read]:
        consumer = self._consumer()
        where = kafka.TopicPartition(topic, partition)
        consumer.assign([where])
        consumer.seek(where, offset)
        found: list[Read] = []
        while len(found) < count:
            batch = consumer.poll(TIMEOUT_S * 1000, max_records=count - len(found))
            assert batch, f"{len(found)} of {count}"
            found += [_read(each) for each in batch[where]]
        consumer.close()
        return found

    def offsets_for_time(self, topic: str, timestamp: int) -> tuple[int | None, int, int]:
        consumer = self._consumer()
        where = kafka.TopicPartition(topic, 0)
        found = consumer.offsets_for_times({where: timestamp})[where]
        earliest, latest = consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]
        consumer.close()
        return found.offset if found else None, earliest, latest


class AioKafka:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def produce(
        self, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: str = "all", **more: Any
    ) -> list[int]:
        return asyncio.run(self._produce(topic, messages, codec, acks, more))

    async def _produce(
        self, topic: str, messages: Iterable[Message], codec: str, acks: str, more: dict[str, Any]
    ) -> list[int]:
        settings = {
            "compression_type": None if codec == "none" else codec,
            "acks": acks if acks == "all" else int(acks),
            "enable_idempotence": acks == "all",
            "linger_ms": 5,
            "max_request_size": LARGEST,
            **more,
        }
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=self._bootstrap, **settings) as producer:
            futures = [
                await producer.send(topic, each.value, each.key, each.partition, each.timestamp, list(each.headers))
                for each in messages
            ]
            try:
                answers = [await asyncio.wait_for(future, TIMEOUT_S) for future in futures]
            except aiokafka.errors.BrokerResponseError as error:
                raise Refused(error.errno) from None
            return [-1 if acks == "0" else answer.offset for answer in answers]

    def _consumer(self) -> aiokafka.AIOKafkaConsumer:
        return aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap, group_id=None, auto_offset_reset="none", fetch_max_wait_ms=100
        )

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Read]:
        return asyncio.run(self._consume(topic, count, partition, offset))

    async def _consume(self, topic: str, count: int, partition: int, offset: int) -> list[Read]:
        where = aiokafka.structs.TopicPartition(topic, partition)
        async with self._consumer() as consumer:
            consumer.assign([where])
            consumer.seek(where, offset)
            found: list[Read] = []
            while len(found) < count:
                batch = await consumer.getmany(timeout_ms=TIMEOUT_S * 1000, max_records=count - len(found))
                assert batch, f"{len(found)} of {count}"
                found += [_read(each) for each in batch[where]]
            return found

    def offsets_for_time(self, topic: str, timestamp: int) -> tuple[int | None, int, int]:
        return asyncio.run(self._offsets_for_time(topic, timestamp))

    async def _offsets_for_time(self, topic: str, timestamp: int) -> tuple[int | None, int, int]:
        where = aiokafka.structs.TopicPartition(topic, 0)
        async with self._consumer() as consumer:
            found = (await consumer.offsets_for_times({where: timestamp}))[where]
            earliest = (await consumer.beginning_offsets([where]))[where]
            latest = (await consumer.end_offsets([where]))[where]
            return found.offset if found else None, earliest, latest


def _read(record: Any) -> Read:
    message = Message(record.value, record.key, tuple(record.headers), record.timestamp, record.partition)
    return Read(record.offset, message)


DRIVERS: dict[str, type[Driver]] = {"confluent-kafka": Confluent, "kafka-python": KafkaPython, "aiokafka": AioKafka}
