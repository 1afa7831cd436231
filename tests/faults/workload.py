"""150 operations on a broker, and what must be true of its directories wherever it died in them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from kafpy.broker.server import Broker
from kafpy.broker.settings import Settings
from kafpy.protocol import api
from tests.clients.raw import RawClient, produce_request
from tests.core.logs import batches, read_all
from tests.faults.nursery import Nursery

OPERATIONS = 150
SEGMENT_BYTES = 1500
SETTINGS: dict[str, Any] = {
    "log_segment_bytes": SEGMENT_BYTES,
    "log_index_interval_bytes": 200,
    "log_segment_delete_delay_ms": 0,
    "log_flush_offset_checkpoint_interval_ms": 3_600_000,
}
PRODUCER = 4000


@dataclass
class Kept:
    """What a partition owes its clients: the values by offset from `start`; `tried` may be there too, or not."""

    values: list[bytes] = field(default_factory=list)
    tried: bytes | None = None
    start: int = 0
    tried_start: int = 0
    """Of a DeleteRecords that was not answered; otherwise `start`."""
    sequence: int = 0
    last_batch: bytes = b""
    tried_batch: bytes = b""


@dataclass
class Promises:
    topics: dict[str, tuple[bytes, list[Kept]]] = field(default_factory=dict)
    unsure: str | None = None
    """A topic that was being created or deleted."""


def operations() -> Iterator[tuple[str, str, int]]:
    """(what, topic, partition), the same every time."""
    chosen = random.Random(20)
    yield "create", "plain", 2
    yield "create", "flushed", 1
    partitions = [("plain", 0), ("plain", 0), ("plain", 1), ("flushed", 0)]
    for number in range(OPERATIONS - 2):
        match number % 30:
            case 5:
                yield "create", "short.lived", 1
            case 17:
                yield "delete", "short.lived", 0
            case 9 | 24:
                yield "checkpoint", "", 0
            case 20:
                yield "delete most", "plain", 0
            case 26:
                yield "delete some", "flushed", 0
            case 28 if number > 60:
                yield "delete all", "plain", 1
            case 11 | 14:
                yield "append", "short.lived", 0
            case _:
                yield "append", *chosen.choice(partitions)


class Driver:
    """Runs the operations until they end or the broker does."""

    def __init__(self, nursery: Nursery, port: int | None) -> None:
        self.promises = Promises()
        self._nursery = nursery
        self._port = port
        self._made = 0

    def run(self) -> Promises:
        if self._port is None:
            return self.promises
        try:
            client = RawClient("127.0.0.1", self._port)
            try:
                for operation in operations():
                    self._one(client, *operation)
            finally:
                client.close()
        except OSError:
            pass
        return self.promises

    def _one(self, client: RawClient, what: str, topic: str, partition: int) -> None:
        if what == "append":
            self._append(client, topic, partition)
        elif what == "create":
            self.promises.unsure = topic
            configs = {"flush.messages": "1"} if topic == "flushed" else {}
            topic_id = client.create(topic, partition, configs)
            self.promises.topics[topic] = topic_id, [Kept() for _ in range(partition)]
            self.promises.unsure = None
        elif what == "delete":
            self.promises.unsure = topic
            request = api.DELETE_TOPICS.request
            answer = client.call(api.DELETE_TOPICS, 6, request(topics=[request.Topic(name=topic)], timeout_ms=10_000))
            assert answer.responses[0].error_code == 0
            del self.promises.topics[topic]
            self.promises.unsure = None
        elif what.startswith("delete "):
            self._delete_records(client, what, topic, partition)
        elif not self._nursery.run(what):
            raise ConnectionResetError

    def _delete_records(self, client: RawClient, what: str, topic: str, partition: int) -> None:
        kept = self.promises.topics[topic][1][partition]
        end = len(kept.values)
        wanted = {"delete most": end - 3, "delete some": (kept.start + end) // 2, "delete all": -1}[what]
        kept.tried_start = end if wanted == -1 else max(wanted, kept.start)
        request = api.DELETE_RECORDS.request
        part = request.Partition(partition_index=partition, offset=wanted)
        body = request(topics=[request.Topic(name=topic, partitions=[part])], timeout_ms=10_000)
        answer = client.call(api.DELETE_RECORDS, 2, body).topics[0].partitions[0]
        assert (answer.error_code, answer.low_watermark) == (0, kept.tried_start)
        kept.start = kept.tried_start

    def _append(self, client: RawClient, topic: str, partition: int) -> None:
        kept = self.promises.topics[topic][1][partition]
        self._made += 1
        kept.tried = b"%d:" % self._made + b"x" * (37 * self._made % 200)
        data = batch.encode(
            [kept.tried],
            timestamps=1_700_000_000_000 + self._made,
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=kept.sequence,
        )
        kept.tried_batch = data
        request = produce_request(topic, {partition: data})
        answer = client.call(api.PRODUCE, 9, request).responses[0].partition_responses[0]
        assert answer.error_code == 0
        assert answer.base_offset == len(kept.values)
        kept.values.append(kept.tried)
        kept.tried = None
        kept.sequence += 1
        kept.last_batch = data


# ---- afterwards


def settings(directory: Path) -> Settings:
    return Settings(listeners="PLAINTEXT://127.0.0.1:0", log_dirs=(str(directory),), **SETTINGS)


def check(directory: Path, promises: Promises) -> None:
    """Two restarts. The first may have to recover, and appends a record to each log; the second has nothing to do."""
    starts: dict[tuple[str, int], int] = {}
    ends: dict[tuple[str, int], int] = {}
    with Broker(settings(directory)) as broker:
        names = set(broker._image.topics)
        unsure = {promises.unsure} - {None}
        assert set(promises.topics) - unsure <= names <= set(promises.topics) | unsure
        for name in names & set(promises.topics):
            topic_id, kept = promises.topics[name]
            assert broker._image.topics[name].topic_id == topic_id
            for index, each in enumerate(kept):
                check_log(log_of(broker, name, index), each)
        for name in names:
            for index in range(len(broker._image.topics[name].partitions)):
                log = log_of(broker, name, index)
                error, offset, _ = log.append(batch.encode([b"after"], timestamps=1_700_000_000_000))
                assert (error, offset) == (0, log.log_end_offset - 1)
                starts[name, index], ends[name, index] = log.log_start_offset, log.log_end_offset
    assert (directory / ".kafka_cleanshutdown").exists()
    before = contents(directory)
    with Broker(settings(directory)) as broker:
        assert set(broker._image.topics) == names
        for (name, index), end in ends.items():
            log = log_of(broker, name, index)
            assert log.log_end_offset == log.recovery_point == end
            assert log.log_start_offset == starts[name, index]
            epochs = (directory / f"{name}-{index}" / "leader-epoch-checkpoint").read_text()
            assert epochs == f"0\n1\n0 {log.log_start_offset}\n"
            assert batch.header(read_all(log)[-1]).base_offset == end - 1
    assert contents(directory) == before, "the second start had something to repair"
    check_indexes(directory)


def log_of(broker: Broker, topic: str, partition: int) -> Log:
    log = broker.partitions.log(topic, partition)
    assert log is not None
    assert not log.offline
    return log


def check_log(log: Log, kept: Kept) -> None:
    start = log.log_start_offset
    if start not in (kept.start, kept.tried_start):
        # Segments go before the checkpoint is written, the oldest first: the log starts with one that is left.
        assert kept.start < start < kept.tried_start
        assert start == min(int(path.stem) for path in Path(log.directory).glob("*.log"))
    values = kept.values[:start]
    for number, data in enumerate(read_all(log), start):
        assert batch.header(data).base_offset == number
        columns = batch.decode_columns(data, None)
        values.append(bytes(memoryview(columns.values.data)))
    assert values[: len(kept.values)] == kept.values
    assert values[len(kept.values) :] in ([], [kept.tried])
    assert log.log_end_offset == log.high_watermark == len(values)
    # What a client may send again: the batch that was not answered, where it is stored, else the last one. An older one
    # is not owed: a snapshot, Kafka's too, knows a producer's last batch only.
    repeat = kept.tried_batch if len(values) > len(kept.values) else kept.last_batch
    if repeat:
        assert log.append(repeat)[:2] == (0, len(values) - 1), f"a repeat was not recognised in {log.directory}"
        assert log.log_end_offset == len(values)


def contents(directory: Path) -> dict[str, bytes]:
    """Segments, indexes and snapshots."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.glob("*-[0-9]/*"))
        if path.suffix in (".log", ".index", ".timeindex", ".snapshot")
    }


def check_indexes(directory: Path) -> None:
    """Each equals what a recovery makes of its segment; together the segments are one log without a gap."""
    runtime = Runtime(1)
    try:
        for folder in directory.glob("*-[0-9]"):
            indexes = {path: path.read_bytes() for path in folder.glob("*index")}
            assert len(indexes) == 2 * len(list(folder.glob("*.log")))
            segments = sorted(folder.glob("*.log"))
            end = int(segments[0].stem)
            for path in segments:
                assert int(path.stem) == end
                for data in batches(path.read_bytes()):
                    assert batch.intact(data)
                    assert batch.header(data).base_offset == end
                    end += batch.header(data).last_offset_delta + 1
            for path in indexes:
                path.unlink()
            Log(runtime, str(folder), segment_bytes=SEGMENT_BYTES, index_interval_bytes=200).close()
            assert {path: path.read_bytes() for path in folder.glob("*index")} == indexes
    finally:
        runtime.close()
