"""The tasks of a write, without Spark around them: a broker that restarts under one, and what ends one."""

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafpy.client.arrow_batches import data_type
from spark_source import sink_options, writing
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data")
    yield process
    writing._forget()
    process.stop()


def told(broker: BrokerProcess, columns: Sequence[str] = ("value",), **more: str) -> writing.Writing:
    given = {"kafka.bootstrap.servers": broker.bootstrap} | {
        name.replace("_", "."): each for name, each in more.items()
    }
    return writing.Writing.of(sink_options.parse(given), columns)


def create(broker: BrokerProcess, topic: str, partitions: int = 1, **configs: str) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create(topic, partitions, {name.replace("_", "."): value for name, value in configs.items()})


def values(broker: BrokerProcess, topic: str, partition: int = 0) -> list[bytes | None]:
    with RawClient(broker.host, broker.port) as client:
        return client.values(topic, partition=partition)


def rows(values: Sequence[bytes | None], **more: Any) -> pa.RecordBatch:
    return pa.record_batch({"value": pa.array(values, pa.binary()), **more})


def numbered(first: int, count: int) -> list[bytes]:
    return [b"%0100d" % number for number in range(first, first + count)]


def test_a_broker_that_crashes_under_a_task_loses_and_doubles_nothing(broker: BrokerProcess) -> None:
    create(broker, "t")

    def batches() -> Iterator[pa.RecordBatch]:
        for turn in range(60):
            if turn == 30:
                broker.restart(crash=True)
            yield rows(numbered(turn * 500, 500))

    assert writing.write(told(broker, topic="t", kafka_batch_size="4000"), batches()) == writing.Written(30_000)
    assert values(broker, "t") == numbered(0, 30_000)


def test_tasks_share_a_producer_until_one_fails(broker: BrokerProcess) -> None:
    create(broker, "t")
    same = told(broker, topic="t")
    for number in range(3):
        writing.write(same, [rows([b"%d" % number])])
        broker.restart(crash=number == 1)
    assert values(broker, "t") == [b"0", b"1", b"2"]
    kept = writing._kept
    assert kept is not None
    writing.write(same, [])
    assert writing._kept is kept

    def fails() -> Iterator[pa.RecordBatch]:
        yield rows([b"3"])
        raise LookupError("upstream")

    with pytest.raises(LookupError, match="upstream"):
        writing.write(same, fails())
    assert writing._kept is None
    writing.write(same, [rows([b"again"])])
    assert values(broker, "t")[3:] == [b"again"]


def test_other_options_or_an_old_producer_make_a_new_one(broker: BrokerProcess) -> None:
    create(broker, "t")
    writing.write(told(broker, topic="t"), [rows([b"a"])])
    first = writing._kept
    writing.write(told(broker, topic="t", kafka_acks="1"), [rows([b"b"])])
    second = writing._kept
    writing.write(told(broker, topic="t", kafka_metadata_max_age_ms="0"), [rows([b"c"])])
    third = writing._kept
    writing.write(told(broker, topic="t", kafka_metadata_max_age_ms="0"), [rows([b"d"])])
    assert len({id(each) for each in (first, second, third, writing._kept)}) == 4
    assert values(broker, "t") == [b"a", b"b", b"c", b"d"]


def test_each_row_to_its_topic(broker: BrokerProcess) -> None:
    for topic in ("a", "b", "c"):
        create(broker, topic)
    names = ["a", "b", "a", "c", "b", "a"]
    batch = rows([b"%d" % number for number in range(6)], topic=pa.array(names))
    writing.write(told(broker, ["value", "topic"]), [batch, rows([b"6"], topic=pa.array(["b"])), batch.slice(0, 0)])
    assert [values(broker, topic) for topic in ("a", "b", "c")] == [[b"0", b"2", b"5"], [b"1", b"4", b"6"], [b"3"]]


def test_what_waits_for_brokers_is_bounded(broker: BrokerProcess) -> None:
    create(broker, "t", 50)
    narrow = told(broker, ["value", "partition"], topic="t", kafka_buffer_memory="5000", kafka_batch_size="16000")
    places = pa.array([number % 50 for number in range(10_000)], pa.int32())
    assert writing.write(narrow, [rows(numbered(0, 10_000), partition=places)]).rows == 10_000
    assert values(broker, "t", 49) == numbered(0, 10_000)[49::50]


@pytest.mark.parametrize(
    ("columns", "more", "said"),
    [
        (["value", "topic"], {"topic": pa.array([None], pa.string())}, "a row whose column topic is null"),
        (["value", "topic"], {"topic": pa.array(["gone"])}, "there is no topic gone"),
        (
            ["value", "partition"],
            {"partition": pa.array([3], pa.int32())},
            "topic t: there is no partition 3; there are 2",
        ),
        (["value", "partition"], {"partition": pa.array([-1], pa.int32())}, "there is no partition -1"),
        (
            ["value", "headers"],
            {"headers": pa.array([[{"key": None, "value": b""}]], data_type("headers"))},
            "topic t: a header without a key",
        ),
    ],
)
def test_rows_that_cannot_be_written(tmp_path: Path, columns: list[str], more: dict[str, Any], said: str) -> None:
    process = BrokerProcess(tmp_path / "data", auto_create_topics_enable=False)
    create(process, "t", 2)
    try:
        option = {} if "topic" in columns else {"topic": "t"}
        with pytest.raises(writing.WriteError, match=said):
            writing.write(told(process, columns, kafka_max_block_ms="200", **option), [rows([b"v"], **more)])
    finally:
        process.stop()


def test_a_record_that_a_broker_does_not_take_ends_the_task(broker: BrokerProcess) -> None:
    create(broker, "small", 2, max_message_bytes="1000")
    batch = rows([b"x" * 5000], partition=pa.array([1], pa.int32()))
    said = rf"small \[1\] on {broker.bootstrap}: MESSAGE_TOO_LARGE; 1 records were not taken"
    with pytest.raises(writing.WriteError, match=said):
        writing.write(told(broker, ["value", "partition"], topic="small"), [batch])


def test_no_broker_at_all() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        given = {"kafka.bootstrap.servers": address, "topic": "t", "kafka.request.timeout.ms": "300"}
        with pytest.raises(writing.WriteError, match=f"cannot reach {address}"):
            writing.write(writing.Writing.of(sink_options.parse(given), ["value"]), [rows([b"v"])])
