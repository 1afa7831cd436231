"""A member of a consumer group: one of the Python clients, which reads, commits and tells of everything it does.

Runs as a thread of the test or, where a test kills it, as a process of its own (`python -m tests.clients.member`).
"""

import asyncio
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

POLL_S = 0.05
AT_ONCE = 100
COMMIT_TIMEOUT_S = 10
COMMITTED_TIMEOUT_S = 3


class Event(NamedTuple):
    at: float
    """Monotonic, the same for all processes."""
    member: str
    kind: str
    """assigned, revoked, lost, consumed, committed, left, killed or failed."""
    partitions: dict[int, list[int]]
    """consumed: the offsets; committed: the offset."""
    detail: str = ""


@dataclass(frozen=True)
class Settings:
    name: str
    client: str
    bootstrap: str
    group: str
    topic: str
    session_ms: int = 20_000
    instance_id: str | None = None
    strategy: str = "range"


class Progress:
    """What a member owns and has read; says so as it happens. Deaf once it is closed."""

    def __init__(self, name: str, emit: Callable[[Event], None]) -> None:
        self._name = name
        self._emit = emit
        self._owned: set[int] = set()
        self._positions: dict[int, int] = {}
        self._committed: dict[int, int] = {}
        self._closed = False

    def say(self, kind: str, partitions: Mapping[int, list[int]], detail: str = "") -> None:
        self._emit(Event(time.monotonic(), self._name, kind, dict(partitions), detail))

    def assigned(self, partitions: Iterable[int]) -> None:
        if not self._closed:
            new = set(partitions) - self._owned
            self._owned |= new
            self.say("assigned", {each: [] for each in sorted(new)})

    def consumed(self, offsets: Mapping[int, list[int]]) -> None:
        if offsets:
            self.say("consumed", offsets)
            self._positions |= {each: found[-1] + 1 for each, found in offsets.items()}

    def due(self, partitions: Iterable[int] | None = None) -> dict[int, int]:
        """What has been read and not committed."""
        if self._closed:
            return {}
        wanted = self._owned if partitions is None else self._owned & set(partitions)
        return {
            each: self._positions[each]
            for each in sorted(wanted)
            if each in self._positions and self._committed.get(each) != self._positions[each]
        }

    def committed(self, offsets: Mapping[int, int]) -> None:
        if offsets:
            self._committed |= offsets
            self.say("committed", {each: [offset] for each, offset in offsets.items()})

    def gave_up(self, partitions: Iterable[int] | None = None, *, why: str = "") -> None:
        """Without `why`, in good order: all that was read is committed."""
        if self._closed:
            return
        gone = self._owned & set(partitions) if partitions is not None else set(self._owned)
        self._owned -= gone
        for each in gone:
            self._positions.pop(each, None)
            self._committed.pop(each, None)
        if gone:
            self.say("lost" if why else "revoked", {each: [] for each in sorted(gone)}, why)

    def close(self) -> None:
        self.gave_up()
        self._closed = True


class Face(Protocol):
    def __init__(self, settings: Settings, progress: Progress) -> None: ...
    def poll(self) -> None:
        """Read a little and commit it."""

    def leave(self) -> None:
        """Commit, give everything up, close."""


class Confluent:
    def __init__(self, settings: Settings, progress: Progress) -> None:
        import confluent_kafka

        self._kafka, self._topic, self._progress = confluent_kafka, settings.topic, progress
        given: dict[str, Any] = {
            "bootstrap.servers": settings.bootstrap,
            "group.id": settings.group,
            "client.id": settings.name,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 100,
            "log_level": 2,
        }
        given |= self._membership(settings)
        if settings.instance_id is not None:
            given["group.instance.id"] = settings.instance_id
        self._first: dict[int, int] = {}
        """The committed offset of each partition when it was assigned."""
        self._consumer = confluent_kafka.Consumer(given)
        self._consumer.subscribe(
            [settings.topic],
            on_assign=lambda _, parts: self._assigned(parts),
            on_revoke=lambda _, parts: self._revoked([each.partition for each in parts]),
            on_lost=lambda _, parts: progress.gave_up([each.partition for each in parts], why="lost"),
        )

    def _assigned(self, parts: list[Any]) -> None:
        # librdkafka 2.16 may hand out a message that it read when it owned the partition some generations ago
        if parts:
            # it may not get an answer either, while its coordinator comes back: then it is taken at its word
            with suppress(self._kafka.KafkaException):
                found = self._consumer.committed(parts, timeout=COMMITTED_TIMEOUT_S)
                self._first |= {each.partition: each.offset for each in found}
        self._progress.assigned(each.partition for each in parts)

    def _take(self, message: Any) -> None:
        if message.error() is None and message.offset() >= self._first.get(message.partition(), 0):
            self._progress.consumed({message.partition(): [message.offset()]})

    def _membership(self, settings: Settings) -> dict[str, Any]:
        return {
            "session.timeout.ms": settings.session_ms,
            "heartbeat.interval.ms": 100,
            "partition.assignment.strategy": settings.strategy,
        }

    def _commit(self, offsets: Mapping[int, int]) -> None:
        if offsets:
            wanted = [self._kafka.TopicPartition(self._topic, each, offset) for each, offset in offsets.items()]
            for each in self._consumer.commit(offsets=wanted, asynchronous=False):
                if each.error is not None:
                    raise self._kafka.KafkaException(each.error)
            self._progress.committed(offsets)

    def _revoked(self, partitions: list[int]) -> None:
        try:
            self._commit(self._progress.due(partitions))
        except self._kafka.KafkaException as error:
            self._progress.gave_up(partitions, why=str(error))
        else:
            self._progress.gave_up(partitions)

    def poll(self) -> None:
        """One message at a time: a batch may be handed out after the revocation that came while it was gathered."""
        message = self._consumer.poll(POLL_S)
        for _ in range(AT_ONCE):
            if message is None:
                break
            self._take(message)
            message = self._consumer.poll(0)
        if message is not None:
            self._take(message)
        with suppress(self._kafka.KafkaException):  # in a rebalance, or without a coordinator: the next time will do
            self._commit(self._progress.due())

    def leave(self) -> None:
        self._commit(self._progress.due())
        self._progress.close()
        self._consumer.close()


class ConfluentModern(Confluent):
    """KIP-848: the broker says how often to send heartbeats, and who gets what."""

    def _membership(self, settings: Settings) -> dict[str, Any]:
        return {"group.protocol": "consumer"}


class KafkaPython:
    def __init__(self, settings: Settings, progress: Progress) -> None:
        import logging

        import kafka
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._kafka, self._topic, self._progress = kafka, settings.topic, progress
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            group_id=settings.group,
            client_id=settings.name,
            group_instance_id=settings.instance_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=settings.session_ms,
            heartbeat_interval_ms=100,
            fetch_max_wait_ms=50,
            retry_backoff_ms=20,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=100,
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        face = self

        class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_assigned(self, assigned: Any) -> None:
                progress.assigned(each.partition for each in assigned)

            def on_partitions_revoked(self, revoked: Any) -> None:
                face._revoked([each.partition for each in revoked])

            def on_partitions_lost(self, lost: Any) -> None:
                progress.gave_up([each.partition for each in lost], why="lost")

        # 3.0.12, leading a group before it knows the topic, may never take up the assignment that comes after that
        self._consumer.partitions_for_topic(settings.topic)
        self._consumer.subscribe([settings.topic], listener=Listener())

    def _commit(self, offsets: Mapping[int, int]) -> None:
        if offsets:
            self._consumer.commit(
                {
                    self._kafka.TopicPartition(self._topic, each): self._kafka.OffsetAndMetadata(offset, "", -1)
                    for each, offset in offsets.items()
                },
                timeout_ms=COMMIT_TIMEOUT_S * 1000,
            )
            self._progress.committed(offsets)

    def _revoked(self, partitions: list[int]) -> None:
        try:
            self._commit(self._progress.due(partitions))
        except self._kafka.errors.KafkaError as error:
            self._progress.gave_up(partitions, why=repr(error))
        else:
            self._progress.gave_up(partitions)

    def poll(self) -> None:
        found = self._consumer.poll(int(POLL_S * 1000), max_records=AT_ONCE)
        self._progress.consumed({where.partition: [each.offset for each in some] for where, some in found.items()})
        with suppress(self._kafka.errors.KafkaError):
            self._commit(self._progress.due())

    def leave(self) -> None:
        self._commit(self._progress.due())
        self._progress.close()
        self._consumer.close(autocommit=False)


class AioKafka:
    """Its rebalances run beside its reader: a lock keeps a commit of the one from overtaking one of the other."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        import logging

        import aiokafka
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor

        logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)
        self._kafka, self._topic, self._progress = aiokafka, settings.topic, progress
        self._loop = asyncio.new_event_loop()
        self._lock = asyncio.Lock()
        self._range = RangePartitionAssignor
        self._loop.run_until_complete(self._start(settings))

    async def _start(self, settings: Settings) -> None:
        self._consumer = self._kafka.AIOKafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            group_id=settings.group,
            client_id=settings.name,
            group_instance_id=settings.instance_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=settings.session_ms,
            heartbeat_interval_ms=100,
            fetch_max_wait_ms=50,
            retry_backoff_ms=20,
            partition_assignment_strategy=[self._range],
        )
        face, progress = self, self._progress

        class Listener(self._kafka.ConsumerRebalanceListener):  # type: ignore[misc,name-defined]
            async def on_partitions_assigned(self, assigned: Any) -> None:
                progress.assigned(each.partition for each in assigned)

            async def on_partitions_revoked(self, revoked: Any) -> None:
                async with face._lock:
                    await face._revoked([each.partition for each in revoked])

        self._consumer.subscribe([settings.topic], listener=Listener())
        await self._consumer.start()

    async def _commit(self, offsets: Mapping[int, int]) -> None:
        if offsets:
            where = self._kafka.TopicPartition
            wanted = {where(self._topic, each): offset for each, offset in offsets.items()}
            await asyncio.wait_for(self._consumer.commit(wanted), COMMIT_TIMEOUT_S)
            self._progress.committed(offsets)

    async def _revoked(self, partitions: list[int]) -> None:
        try:
            await self._commit(self._progress.due(partitions))
        except (self._kafka.errors.KafkaError, TimeoutError) as error:
            self._progress.gave_up(partitions, why=repr(error))
        else:
            self._progress.gave_up(partitions)

    def poll(self) -> None:
        self._loop.run_until_complete(self._poll())

    async def _poll(self) -> None:
        found = await self._consumer.getmany(timeout_ms=int(POLL_S * 1000), max_records=AT_ONCE)
        self._progress.consumed({where.partition: [each.offset for each in some] for where, some in found.items()})
        async with self._lock:
            with suppress(self._kafka.errors.KafkaError, TimeoutError):
                await self._commit(self._progress.due())

    def leave(self) -> None:
        self._loop.run_until_complete(self._leave())
        self._loop.close()

    async def _leave(self) -> None:
        async with self._lock:
            await self._commit(self._progress.due())
            self._progress.close()
        await self._consumer.stop()


FACES: dict[str, type[Face]] = {
    "confluent-kafka": Confluent,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
    "confluent-kafka-848": ConfluentModern,
}


def run(settings: Settings, emit: Callable[[Event], None], stop: threading.Event) -> None:
    progress = Progress(settings.name, emit)
    try:
        face = FACES[settings.client](settings, progress)
        while not stop.is_set():
            face.poll()
        face.leave()
        progress.say("left", {})
    except Exception:
        progress.say("failed", {}, traceback.format_exc())


class ThreadMember:
    def __init__(self, settings: Settings, emit: Callable[[Event], None]) -> None:
        self.settings = settings
        self._stop = threading.Event()
        self._thread = threading.Thread(target=run, args=(settings, emit, self._stop), daemon=True)
        self._thread.start()

    def ask_to_leave(self) -> None:
        self._stop.set()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), f"{self.settings.name} does not end"


def main() -> None:
    """Settings in the first argument, events on standard output; the end of standard input asks it to leave."""
    settings, stop = Settings(**json.loads(sys.argv[1])), threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    run(settings, lambda event: print(json.dumps(event), flush=True), stop)


def read_event(line: str) -> Event | None:
    """None for a line that a killed member did not end."""
    if not line.endswith("\n"):
        return None
    at, member, kind, partitions, detail = json.loads(line)
    return Event(at, member, kind, {int(each): offsets for each, offsets in partitions.items()}, detail)


def to_json(settings: Settings) -> str:
    return json.dumps(asdict(settings))


if __name__ == "__main__":
    main()
