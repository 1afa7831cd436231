"""A replica moves from one directory to the other: under load, when a disk fails, and when the broker dies in it."""

import errno
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.protocol import api
from tests.clients.raw import RawClient, batch_of, column, opened, produce_request
from tests.core.logs import batches
from tests.faults.nursery import KILLED, Nursery
from tests.faults.test_disk_errors import until

SETTINGS: dict[str, Any] = {
    "log_segment_bytes": 2000,
    "log_index_interval_bytes": 300,
    "log_flush_offset_checkpoint_interval_ms": 3_600_000,
}
NOT_LEADER, STORAGE_ERROR, LOG_DIR_NOT_FOUND, UNKNOWN = 6, 56, 57, 3
RECORDS = 60


def move(client: RawClient, path: Path, topic: str = "t", index: int = 0) -> int:
    request = api.ALTER_REPLICA_LOG_DIRS.request
    asked = request.Dir(path=str(path), topics=[request.Topic(name=topic, partitions=[index])])
    answer = client.call(api.ALTER_REPLICA_LOG_DIRS, 2, request(dirs=[asked])).results[0]
    return int(answer.partitions[0].error_code)


def places(client: RawClient) -> dict[str, bool]:
    """Where the partition is listed; True: it is on its way there."""
    described = client.call(api.DESCRIBE_LOG_DIRS, 4, api.DESCRIBE_LOG_DIRS.request(topics=None))
    return {
        each.log_dir: part.is_future_key
        for each in described.results
        for topic in each.topics
        if topic.name == "t"
        for part in topic.partitions
    }


def lies_in(client: RawClient, path: Path) -> bool:
    return places(client) == {str(path): False}


class Bench:
    """`t` lies in `here`."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.nursery = nursery
        self.directories = [folder / "one", folder / "two"]
        self.errors = folder / "errors"
        self.values: list[bytes] = []
        with self.start() as client:
            client.create("t")
            self.here = next(each for each in self.directories if (each / "t-0").exists())
            self.there = next(each for each in self.directories if each != self.here)
            for _ in range(RECORDS):
                self.produce(client)
            self.producer, _ = client.producer_id()

    def start(self, **more: Any) -> RawClient:
        port = self.nursery.start(self.directories, errors=self.errors, **SETTINGS, **more)
        assert port is not None, self.errors.read_text()
        return RawClient("127.0.0.1", port)

    def produce(self, client: RawClient) -> None:
        value = b"%d:" % len(self.values) + b"x" * (53 * len(self.values) % 300)
        answer = client.produce("t", batch_of([value]))
        assert (answer.error_code, answer.base_offset) == (0, len(self.values))
        self.values.append(value)

    def folders(self) -> list[str]:
        return sorted(
            f"{each.name}/{path.name}" for each in self.directories for path in each.glob("t-0*") if path.is_dir()
        )


@pytest.fixture
def bench(nursery: Nursery, folder: Path) -> Iterator[Bench]:
    yield Bench(nursery, folder)
    if nursery.status is None:
        nursery.stop()


@pytest.fixture
def client(bench: Bench) -> Iterator[RawClient]:
    """Of the broker that the bench was made with."""
    assert bench.nursery.stop() == 0
    with bench.start() as client:
        yield client


def test_a_move(bench: Bench, client: RawClient) -> None:
    assert lies_in(client, bench.here)
    assert move(client, bench.there) == 0
    until(lambda: lies_in(client, bench.there))
    assert client.values("t") == bench.values
    bench.produce(client)
    until(lambda: bench.folders() == [f"{bench.there.name}/t-0"])
    assert bench.nursery.kill() == KILLED
    with bench.start() as again:
        assert lies_in(again, bench.there)
        assert again.values("t") == bench.values
    assert bench.errors.read_text() == ""


def test_refusals(bench: Bench, client: RawClient) -> None:
    assert move(client, bench.here) == 0
    assert move(client, Path("/no/where")) == LOG_DIR_NOT_FOUND
    assert move(client, bench.there, "no") == UNKNOWN
    assert move(client, bench.there, "t", 1) == UNKNOWN
    assert lies_in(client, bench.here)


class Load:
    """One idempotent producer that tries again when it is told so, and one consumer that follows it."""

    def __init__(self, port: int, producer: int, start: int) -> None:
        self.sent: list[bytes] = []
        self.read: list[bytes | None] = []
        self.refused = 0
        self.faults: list[object] = []
        self._start = start
        self._end, self._all_sent = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work, port)) for work in (self._produce, self._consume)
        ]
        self._producer = producer

    def __enter__(self) -> "Load":
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        producer, consumer = self._threads
        producer.join()
        self._all_sent.set()
        consumer.join()

    def _guarded(self, work: Any, port: int) -> None:
        try:
            with RawClient("127.0.0.1", port) as client:
                work(client)
        except BaseException as error:
            self.faults.append(error)

    def _produce(self, client: RawClient) -> None:
        while not self._end.is_set():
            value = b"load %d" % len(self.sent) * 20
            fields = {"producer_id": self._producer, "producer_epoch": 0, "base_sequence": len(self.sent)}
            data = batch.encode([value], timestamps=1_700_000_000_000, **fields)
            answer = client.call(api.PRODUCE, 9, produce_request("t", {0: data})).responses[0].partition_responses[0]
            if answer.error_code == NOT_LEADER:
                self.refused += 1
            else:
                assert (answer.error_code, answer.base_offset) == (0, self._start + len(self.sent))
                self.sent.append(value)

    def _consume(self, client: RawClient) -> None:
        while not self._all_sent.is_set() or len(self.read) < len(self.sent):
            part = client.fetch("t", self._start + len(self.read), wait_ms=50)
            assert part.error_code in (0, NOT_LEADER)
            if part.records:
                self.read += column(opened(part.records).values)


def test_moves_under_load(bench: Bench, client: RawClient) -> None:
    port = client._socket.getpeername()[1]
    with Load(port, bench.producer, RECORDS) as load:
        for number in range(6):
            before = len(load.sent)
            target = (bench.there, bench.here)[number % 2]
            assert move(client, target) == 0
            until(lambda target=target: lies_in(client, target))
            until(lambda before=before: len(load.sent) > before + 5 or bool(load.faults))
    assert load.faults == []
    assert load.read == load.sent
    assert client.values("t") == [*bench.values, *load.sent]
    assert bench.nursery.stop() == 0
    assert bench.errors.read_text() == ""


def test_deleted_records_stay_deleted(bench: Bench, client: RawClient) -> None:
    request = api.DELETE_RECORDS.request
    part = request.Partition(partition_index=0, offset=RECORDS - 2)
    body = request(topics=[request.Topic(name="t", partitions=[part])], timeout_ms=10_000)
    assert client.call(api.DELETE_RECORDS, 2, body).topics[0].partitions[0].low_watermark == RECORDS - 2
    assert move(client, bench.there) == 0
    until(lambda: lies_in(client, bench.there))
    assert bench.nursery.kill() == KILLED
    with bench.start() as again:
        assert again.offset("t", -2).offset == RECORDS - 2
        assert again.offset("t", -1).offset == RECORDS


@pytest.mark.parametrize("call", ["write", "fdatasync", "mkdir", "rename", "fsync"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["full", "EIO"])
def test_the_target_fails(bench: Bench, client: RawClient, call: str, error: int) -> None:
    """The partition stays where it is. A disk that is only full is not offline for a copy that it did not take."""
    bench.nursery.fail(call, f"{bench.there.name}/t-0" if call == "rename" else "-future", 1, error)
    assert move(client, bench.there) == 0
    until(lambda: "was not moved to" in bench.errors.read_text())
    until(lambda: lies_in(client, bench.here))
    bench.produce(client)
    assert client.values("t") == bench.values
    if error == errno.EIO or call == "rename":
        until(lambda: f"{bench.there} is offline" in bench.errors.read_text())
        assert move(client, bench.there) == STORAGE_ERROR
    else:
        until(lambda: bench.folders() == [f"{bench.here.name}/t-0"])
        assert move(client, bench.there) == 0
        until(lambda: lies_in(client, bench.there))
        assert "offline" not in bench.errors.read_text()
    assert client.values("t") == bench.values


def script(bench: Bench, client: RawClient) -> None:
    bench.produce(client)
    assert move(client, bench.there) == 0
    for _ in range(500):
        if lies_in(client, bench.there):
            break
    bench.produce(client)
    bench.produce(client)


def crash(bench: Bench, kill_at: int) -> bool:
    """Whether it died in the script."""
    port = bench.nursery.start(bench.directories, errors=bench.errors, kill_at=kill_at, **SETTINGS)
    if port is not None:
        try:
            with RawClient("127.0.0.1", port) as client:
                script(bench, client)
        except OSError:
            pass
    if bench.nursery.status is None:
        bench.nursery.run("stop")
    return bench.nursery.wait() == KILLED


def check(bench: Bench) -> None:
    with bench.start() as client:
        found = client.values("t")
        assert found[: len(bench.values)] == bench.values
        assert len(found) - len(bench.values) <= 1
        assert len(places(client)) == 1
    assert bench.nursery.stop() == 0
    names = [each for each in bench.folders() if each.endswith("t-0")]
    assert len(names) == 1
    (folder,) = (each / "t-0" for each in bench.directories if (each / "t-0").exists())
    stored = [data for path in sorted(folder.glob("*.log")) for data in batches(path.read_bytes())]
    assert [batch.header(each).base_offset for each in stored] == list(range(len(found)))
    assert all(map(batch.intact, stored))


def crash_points(bench: Bench, folder: Path, stride: int) -> None:
    assert bench.nursery.stop() == 0
    left = folder / "left"
    left.mkdir()
    for each in bench.directories:
        shutil.copytree(each, left / each.name)
    values = list(bench.values)
    point, moved, stayed = 1, 0, 0
    while True:
        for each in bench.directories:
            shutil.rmtree(each)
            shutil.copytree(left / each.name, each)
        bench.values = list(values)
        died = crash(bench, point)
        moved += (bench.there / "t-0").exists()
        stayed += (bench.here / "t-0").exists()
        try:
            check(bench)
        except AssertionError as error:
            error.add_note(f"killed at storage call {point}: {bench.folders()}")
            raise
        if not died:
            break
        point += stride
    assert moved > 1 < stayed


def test_some_crash_points_of_a_move(bench: Bench, folder: Path) -> None:
    crash_points(bench, folder, 7)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_crash_point_of_a_move(bench: Bench, folder: Path) -> None:
    crash_points(bench, folder, 1)
