"""df.write.format("kafpy"): other clients read what the frame said, in the partitions that they would have chosen."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from kafka.partitioner.default import murmur2
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession

from tests.broker_process import BrokerProcess
from tests.clients.drivers import CODECS, Confluent, Message
from tests.clients.raw import RawClient, codecs_of

ROWS = "key binary, value string, partition int, headers array<struct<key: string, value: binary>>"


def save(frame: DataFrame, broker: BrokerProcess, *, mode: str | None = "append", **options: str) -> None:
    writer = frame.write.format("kafpy").option("kafka.bootstrap.servers", broker.bootstrap)
    for name, value in options.items():
        writer = writer.option(name.replace("_", "."), value)
    (writer if mode is None else writer.mode(mode)).save()


def create(broker: BrokerProcess, topic: str, partitions: int = 1) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create(topic, partitions)


def messages(broker: BrokerProcess, topic: str, partition: int = 0) -> list[Message]:
    with RawClient(broker.host, broker.port) as client:
        count = client.offset(topic, -1, partition=partition).offset
    found = Confluent(broker.bootstrap).consume(topic, count, partition=partition) if count else []
    return [each.message for each in found]


def by_key(found: Sequence[Message]) -> list[tuple[Any, ...]]:
    return sorted(((each.key, each.value, each.headers) for each in found), key=repr)


@pytest.mark.parametrize("codec", CODECS)
def test_every_row_as_it_was(spark: SparkSession, broker: BrokerProcess, codec: str) -> None:
    topic = f"rows-{codec}"
    create(broker, topic, 3)
    rows, expected = [], defaultdict(list)
    for number in range(900):
        key = None if number % 5 == 0 else b"%d" % number
        value = None if number % 7 == 0 else f"wert ü {number} " * (number % 4)
        headers = [[], None, [("n", b"%d" % number), ("none", None), ("", b"")]][number % 3]
        rows.append((key, value, number % 3, headers))
        raw = None if value is None else value.encode()
        expected[number % 3].append((key, raw, tuple(headers or ())))
    frame = spark.createDataFrame(rows, ROWS).repartition(3)
    save(frame, broker, topic=topic, kafka_compression_type=codec)
    for partition in range(3):
        assert by_key(messages(broker, topic, partition)) == sorted(expected[partition], key=repr)
    with RawClient(broker.host, broker.port) as client:
        records = client.fetch(topic, 0).records
        assert records
        assert codecs_of(records) == {CODECS.index(codec)}


def test_rows_of_one_task_keep_their_order(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "ordered")
    save(spark.range(20_000).coalesce(1).selectExpr("cast(id as string) value"), broker, topic="ordered")
    assert [each.value for each in messages(broker, "ordered")] == [b"%d" % number for number in range(20_000)]


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_keys_go_where_other_clients_send_them(spark: SparkSession, broker: BrokerProcess, kind: str) -> None:
    topic = f"keys-{kind}"
    create(broker, topic, 7)
    save(spark.range(500).selectExpr(f"cast('k' || id as {kind}) key", "'v' value"), broker, topic=topic)
    found = {partition: {each.key for each in messages(broker, topic, partition)} for partition in range(7)}
    expected = defaultdict(set)
    for number in range(500):
        key = b"k%d" % number
        expected[(murmur2(key) & 0x7FFFFFFF) % 7].add(key)
    assert found == expected


def test_the_option_topic_goes_before_the_column(spark: SparkSession, broker: BrokerProcess) -> None:
    for topic in ("even", "odd", "all"):
        create(broker, topic)
    frame = spark.range(100).selectExpr("cast(id as string) value", "if(id % 2 = 0, 'even', 'odd') topic")
    save(frame, broker)
    save(frame, broker, topic="all")
    counts = [len(messages(broker, topic)) for topic in ("even", "odd", "all")]
    assert counts == [50, 50, 100]
    assert all(int(each.value or b"") % 2 == 0 for each in messages(broker, "even"))


def test_a_topic_is_copied_with_its_partitions(spark: SparkSession, broker: BrokerProcess) -> None:
    """A frame that was read has columns that are not written, and they do not matter."""
    create(broker, "copied-from", 3)
    create(broker, "copied-to", 3)
    rows = [(b"%d" % each, f"{each}", each % 3, [("h", b"%d" % each)]) for each in range(60)]
    save(spark.createDataFrame(rows, ROWS), broker, topic="copied-from")
    reader = spark.read.format("kafpy").option("kafka.bootstrap.servers", broker.bootstrap)
    save(reader.option("subscribe", "copied-from").option("includeHeaders", True).load(), broker, topic="copied-to")
    for partition in range(3):
        copied, original = messages(broker, "copied-to", partition), messages(broker, "copied-from", partition)
        assert by_key(copied) == by_key(original)
        assert len(copied) == 20


def test_nothing_to_write(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "nothing")
    save(spark.range(0).selectExpr("cast(id as string) value"), broker, topic="nothing")
    assert messages(broker, "nothing") == []


@pytest.fixture(scope="module")
def two_partitions(broker: BrokerProcess) -> None:
    create(broker, "t", 2)


@pytest.mark.usefixtures("two_partitions")
@pytest.mark.parametrize(
    ("columns", "mode", "options", "said"),
    [
        ("'v' value", "overwrite", {"topic": "t"}, 'a topic is appended to, not overwritten: mode("append")'),
        ("'v' value", None, {"topic": "t"}, "UNSUPPORTED_DATA_SOURCE_SAVE_MODE"),
        ("'v' value", "append", {}, "there is no column topic; the option topic names one for all rows"),
        ("id value", "append", {"topic": "t"}, "the column value is bigint; it can be binary or string"),
        ("'v' value", "append", {"topic": "t", "kafka_key_serializer": "x"}, "kafka.key.serializer cannot be set here"),
        ("'v' value, 9 partition", "append", {"topic": "t"}, "topic t: there is no partition 9; there are 2"),
        ("'v' value, cast(null as string) topic", "append", {}, "a row whose column topic is null"),
    ],
)
def test_what_is_refused(
    spark: SparkSession, broker: BrokerProcess, columns: str, mode: str | None, options: dict[str, str], said: str
) -> None:
    with pytest.raises((AnalysisException, PythonException)) as refused:
        save(spark.range(3).selectExpr(*columns.split(", ")), broker, mode=mode, **options)
    assert said in str(refused.value)
