"""The consumer: positions, ends, transactions that were aborted, offsets that are not there, brokers that restart."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafpy._core.batch import decode_pairs
from kafpy.client.cluster import EARLIEST, Cluster
from kafpy.client.connection import ClientError
from kafpy.client.consumer import Consumer, Fetched, OutOfRange, Terms, end_of, opened, without_aborted
from kafpy.client.membership import assign_by_range, write_subscription
from kafpy.coordinator.group.consumer_protocol import read_subscription
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of

QUICK = Terms(max_wait_ms=50)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data")
    with RawClient(process.host, process.port) as client:
        client.create("t", 3)
    yield process
    process.stop()


def produce(broker: BrokerProcess, values: list[bytes], partition: int = 0) -> None:
    with RawClient(broker.host, broker.port) as client:
        assert client.produce("t", batch_of(values), partition=partition).error_code == 0


def values(found: list[Fetched]) -> list[bytes | None]:
    return [value for each in found for at, _, value in decode_pairs(each.records, opened)[0] if at >= each.start]


def drained(consumer: Consumer) -> list[bytes | None]:
    found = []
    while not consumer.finished:
        found += values(consumer.poll())
    return found


def test_to_the_end_of_every_partition(broker: BrokerProcess) -> None:
    for partition in range(3):
        for turn in range(4):
            produce(broker, [b"%d.%d.%d" % (partition, turn, number) for number in range(5)], partition)
    with Cluster(broker.bootstrap) as cluster, Consumer(cluster, Terms(partition_bytes=100)) as consumer:
        consumer.assign({("t", 0): 0, ("t", 1): 7, ("t", 2): 20}, {("t", index): 20 for index in range(3)})
        found = drained(consumer)
        assert len(found) == 20 + 13
        assert next(each for each in found if each and each.startswith(b"1.")) == b"1.1.2"
        assert consumer.positions == {("t", index): 20 for index in range(3)}
        assert consumer.poll(0) == []


def test_assigned_anew_while_an_answer_is_under_way(broker: BrokerProcess) -> None:
    produce(broker, [b"0"])
    with Cluster(broker.bootstrap) as cluster, Consumer(cluster, Terms(max_wait_ms=300)) as consumer:
        consumer.assign({("t", 0): 1})
        assert consumer.poll(0) == []  # a Fetch waits at the broker now
        consumer.assign({("t", 0): 0}, {("t", 0): 1})
        assert drained(consumer) == [b"0"]


def test_a_live_tail_over_a_restart(broker: BrokerProcess) -> None:
    with Cluster(broker.bootstrap) as cluster, Consumer(cluster, QUICK) as consumer:
        consumer.assign({("t", 0): 0})
        produce(broker, [b"before"])
        assert values(consumer.poll(60)) == [b"before"]
        restart = threading.Thread(target=broker.restart, kwargs={"crash": True})
        restart.start()
        while restart.is_alive():
            assert consumer.poll(0.05) == []
        restart.join()
        produce(broker, [b"after"])
        assert values(consumer.poll(60)) == [b"after"]


def test_offsets_that_are_not_there(broker: BrokerProcess) -> None:
    produce(broker, [b"0", b"1"])
    with Cluster(broker.bootstrap) as cluster:
        with Consumer(cluster, Terms(max_wait_ms=50, reset=EARLIEST)) as consumer:
            consumer.assign({("t", 0): 100})
            found: list[bytes | None] = []
            while len(found) < 2:
                found += values(consumer.poll())
            assert found == [b"0", b"1"]
        with Consumer(cluster, Terms(max_wait_ms=50, reset=None)) as consumer:
            consumer.assign({("t", 0): 100})
            with pytest.raises(OutOfRange, match=r"t \[0\] has no offset 100"):
                consumer.poll(60)
        with Consumer(cluster, QUICK) as consumer, pytest.raises(ClientError, match="there is no topic nosuch"):
            consumer.assign({("nosuch", 0): 0})


def transaction(producer_id: int, offset: int, value: bytes) -> bytes:
    more = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    return batch_of([value], base_offset=offset, **more)


def marker(producer_id: int, offset: int) -> bytes:
    more = {"producer_id": producer_id, "producer_epoch": 0, "transactional": True, "control": True}
    return batch_of([b"\0\0\0\0\0\0"], base_offset=offset, keys=[b"\0\0\0\0"], **more)


def test_batches_of_aborted_transactions_are_taken_out() -> None:
    log = [
        transaction(1, 0, b"aborted"),
        transaction(2, 1, b"kept"),
        batch_of([b"plain"], base_offset=2),
        marker(1, 3),
        transaction(1, 4, b"kept too"),
        transaction(2, 5, b"still kept"),
        transaction(1, 6, b"aborted again"),
        marker(2, 7),
    ]
    aborted = [SimpleNamespace(producer_id=1, first_offset=6), SimpleNamespace(producer_id=1, first_offset=0)]
    kept = without_aborted(b"".join(log), aborted)
    assert [value for _, _, value in decode_pairs(kept)[0]] == [b"kept", b"plain", b"kept too", b"still kept"]
    assert end_of(b"".join(log)) == 8
    assert end_of(log[0][:-1]) == -1


def test_range_assignment() -> None:
    wanted = {"b": ["x", "y"], "a": ["x"], "c": ["y", "gone"]}
    assert assign_by_range(wanted, {"x": 3, "y": 1}) == {"a": {"x": [0, 1]}, "b": {"x": [2], "y": [0]}, "c": {}}
    assert assign_by_range({}, {"x": 3}) == {}


def test_subscriptions_are_what_the_broker_reads() -> None:
    read = read_subscription(write_subscription(["one", "zwei"]))
    assert (read.version, read.topics) == (0, {"one", "zwei"})
