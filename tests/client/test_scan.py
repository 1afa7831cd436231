"""kafpy.scan against a broker: every codec and shape of record, ranges, threads, and what goes wrong in between."""

import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from confluent_kafka import Producer

import kafpy
from kafpy.client.arrow_batches import COLUMNS
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.range_reader import OffsetsGone, Range, RangeReader
from kafpy.client.scan import scan
from kafpy.client.topics import Topics
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("scan") / "data")
    yield process
    process.stop()


def create(broker: BrokerProcess, topic: str, partitions: int = 1) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create(topic, partitions)


def put(broker: BrokerProcess, topic: str, values: list[bytes], partition: int = 0, **fields: Any) -> None:
    with RawClient(broker.host, broker.port) as client:
        assert client.produce(topic, batch_of(values, **fields), partition=partition).error_code == 0


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_librdkafka_wrote(broker: BrokerProcess, codec: str) -> None:
    topic = f"written-{codec}"
    create(broker, topic, 3)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 20})
    expected = set()
    for number in range(3000):
        key = None if number % 3 == 0 else b"" if number % 3 == 1 else b"key %d" % number
        value = None if number % 7 == 0 else b"value %d" % number * (number % 5)
        headers = [("n", b"%d" % number), ("none", None)] if number % 2 else None
        at = 1_700_000_000_000 + number
        producer.produce(topic, value, key, number % 3, timestamp=at, headers=headers)
        expected.add((key, value, number % 3, at * 1000, None if headers is None else tuple(headers)))
    assert producer.flush(30) == 0
    table = scan(topic, bootstrap_servers=broker.bootstrap, batch_rows=500).read_all()
    table.validate(full=True)
    assert table.schema.names == list(COLUMNS)
    found = set()
    for partition in range(3):
        part = table.filter(pc.equal(table["partition"], partition))
        assert part["offset"].to_pylist() == list(range(1000))
        for row in part.set_column(5, "timestamp", part["timestamp"].cast(pa.int64())).to_pylist():
            assert (row["topic"], row["timestampType"]) == (topic, 0)
            headers = row["headers"] and tuple((each["key"], each["value"]) for each in row["headers"])
            found.add((row["key"], row["value"], row["partition"], row["timestamp"], headers))
    assert found == expected


def test_ranges_columns_and_partitions(broker: BrokerProcess) -> None:
    create(broker, "ranges", 3)
    for partition in range(3):
        put(broker, "ranges", [b"%d.%d" % (partition, at) for at in range(20)], partition, timestamps=list(range(20)))

    def found(**given: Any) -> list[bytes]:
        reader = scan("ranges", bootstrap_servers=broker.bootstrap, columns=["value"], **given)
        assert reader.schema.names == ["value"]
        return sorted(reader.read_all()["value"].to_pylist())

    assert found(partitions=[1], start=17) == [b"1.17", b"1.18", b"1.19"]
    assert found(start=5, end=6) == [b"0.5", b"1.5", b"2.5"]
    assert found(start={0: 19, 1: "latest", 2: 0}, end={0: 20, 1: 20, 2: 1}) == [b"0.19", b"2.0"]
    assert found(start=datetime.fromtimestamp(0.019, UTC)) == [b"0.19", b"1.19", b"2.19"]
    assert found(end=datetime.fromtimestamp(0.001, UTC), threads=1) == [b"0.0", b"1.0", b"2.0"]
    assert found(start=datetime.now(UTC)) == []
    assert len(found(start=0, end=10**9)) == 60
    assert found(start=15, end=12) == []


def test_several_topics_and_an_empty_one(broker: BrokerProcess) -> None:
    for name in ("left", "right", "empty"):
        create(broker, name, 2)
    put(broker, "left", [b"l"], 1)
    put(broker, "right", [b"r"] * 2)
    table = scan(["left", "right", "empty"], bootstrap_servers=broker.bootstrap, columns=["topic", "partition"])
    rows = sorted((row["topic"], row["partition"]) for row in table.read_all().to_pylist())
    assert rows == [("left", 1), ("right", 0), ("right", 0)]
    assert scan("empty", bootstrap_servers=broker.bootstrap).read_all().num_rows == 0


def test_many_partitions_by_several_threads_each_in_order(broker: BrokerProcess) -> None:
    create(broker, "many", 40)
    for partition in range(40):
        for start in range(0, 30, 10):
            put(broker, "many", [b"%d" % (start + at) for at in range(10)], partition)
    for threads in (1, 4, 100):
        table = scan("many", bootstrap_servers=broker.bootstrap, threads=threads, batch_rows=7).read_all()
        assert table.num_rows == 1200
        for partition in (0, 17, 39):
            part = table.filter(pc.equal(table["partition"], partition))
            assert part["offset"].to_pylist() == list(range(30))
            assert part["value"].to_pylist() == [b"%d" % at for at in range(30)]


def test_batches_larger_than_a_fetch(broker: BrokerProcess) -> None:
    create(broker, "large")
    values = [bytes([at]) * 900_000 for at in range(8)]
    for value in values:
        put(broker, "large", [value])
    with Cluster(broker.bootstrap) as cluster, RangeReader(cluster, fetch_bytes=1000) as reader:
        offsets = [each.next_offset for each in reader.read(Range("large", 0, 0, 8))]
        assert offsets == list(range(1, 9))
    found = scan("large", bootstrap_servers=broker.bootstrap, columns=["value"], batch_bytes=1)
    assert [batch["value"].to_pylist() for batch in found] == [[value] for value in values]


def test_what_cannot_be_read_is_said_in_a_line(broker: BrokerProcess) -> None:
    create(broker, "known", 2)
    put(broker, "known", [b"v"] * 5)
    where = {"bootstrap_servers": broker.bootstrap}
    with pytest.raises(ClientError, match=r"there is no topic|UNKNOWN_TOPIC_OR_PARTITION"):
        scan("unknown", **where)
    with pytest.raises(ClientError, match="known: there is no partition 2, 5"):
        scan("known", partitions=[5, 0, 2], **where)
    with pytest.raises(ValueError, match="not colour"):
        scan("known", columns=["colour"], **where)
    with pytest.raises(ValueError, match="isolation_level"):
        scan("known", isolation_level="serializable", **where)
    with pytest.raises(ValueError, match="not -5"):
        scan("known", start=-5, **where)
    with pytest.raises(ValueError, match="but not 1"):
        scan("known", start={0: 0}, **where)
    with pytest.raises(ClientError, match=r"cannot reach 127.0.0.1:1: connection refused"):
        scan("known", bootstrap_servers="127.0.0.1:1")
    with Cluster(broker.bootstrap) as cluster, RangeReader(cluster) as reader:
        gone = rf"known \[0\] at offset 99, broker 1 \({broker.bootstrap}\): .*; the log begins at 0 and ends at 5 now"
        with pytest.raises(OffsetsGone, match=gone):
            list(reader.read(Range("known", 0, 99, 100)))
        assert [each.next_offset for each in reader.read(Range("known", 0, 0, 5))] == [5]


def test_records_deleted_under_a_scan_are_told_of(broker: BrokerProcess) -> None:
    create(broker, "shrinking")
    for at in range(10):
        put(broker, "shrinking", [b"%d" % at])
    with Cluster(broker.bootstrap) as cluster, RangeReader(cluster, fetch_bytes=1) as reader:
        found = reader.read(Range("shrinking", 0, 0, 10))
        assert next(found).next_offset == 1  # the second one is on its way
        delete_records(broker, "shrinking", 8)
        with pytest.raises(OffsetsGone, match="the log begins at 8 and ends at 10 now"):
            list(found)


def delete_records(broker: BrokerProcess, topic: str, before: int) -> None:
    with Cluster(broker.bootstrap) as cluster:
        assert Topics(cluster).delete_records({(topic, 0): before}) == {(topic, 0): (before, 0)}


def test_a_scan_that_is_left_leaves_nothing(broker: BrokerProcess) -> None:
    create(broker, "left-early", 4)
    for partition in range(4):
        for _ in range(50):
            put(broker, "left-early", [bytes(1000)] * 10, partition)
    before = threading.active_count()
    for threads in (1, 4):
        reader = scan("left-early", bootstrap_servers=broker.bootstrap, threads=threads, batch_rows=10)
        assert len(reader.read_next_batch()) == 10
        reader.close()
        del reader
    deadline = time.monotonic() + 20
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_broker_that_goes_and_comes_back(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    create(broker, "t")
    for at in range(30):
        put(broker, "t", [b"%d" % at])
    with Cluster(broker.bootstrap) as cluster, RangeReader(cluster, fetch_bytes=1) as reader:
        found = []
        for each in reader.read(Range("t", 0, 0, 30)):
            found.append(each.next_offset)
            if len(found) in (3, 10):
                broker.restart(crash=len(found) == 3)
        assert found == list(range(1, 31))
    broker.stop()


def test_pyarrow_is_asked_for(monkeypatch: pytest.MonkeyPatch, broker: BrokerProcess) -> None:
    assert kafpy.scan is scan
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ClientError, match=r"pip install 'kafpy-broker\[arrow\]'"):
        scan("any", bootstrap_servers=broker.bootstrap)
