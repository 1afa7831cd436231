"""spark.read.format("kafpy"): the rows of a topic are what was produced, in whatever tasks they are read."""

from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from kafpy.client.cluster import Cluster
from kafpy.client.settings import from_properties
from kafpy.client.topics import Topics
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of
from tests.core import reference
from tests.core.reference import Record
from tests.spark.topics import create, frame, put


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_row_as_it_was_produced(spark: SparkSession, broker: BrokerProcess, codec: str) -> None:
    topic = f"rows-{codec}"
    create(broker, topic, 3, retention_ms="-1")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 20})
    expected = []
    for number in range(600):
        key = None if number % 3 == 0 else b"%d" % number
        value = None if number % 7 == 0 else b"value %d" % number * (number % 5)
        headers = [("n", b"%d" % number), ("none", None)] if number % 2 else None
        producer.produce(topic, value, key, number % 3, timestamp=1_700_000_000_000 + number, headers=headers)
        at = (1_700_000_000_000 + number) * 1000
        expected.append((number % 3, number // 3, key, value, topic, at, 0, headers))
    assert producer.flush(30) == 0
    found = frame(spark, broker, subscribe=topic, includeHeaders=True, minPartitions=5)
    assert found.rdd.getNumPartitions() >= 5
    rows = [
        (
            row.partition,
            row.offset,
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            row.topic,
            row.at,
            row.timestampType,
            row.headers and [(each.key, None if each.value is None else bytes(each.value)) for each in row.headers],
        )
        for row in found.selectExpr("*", "unix_micros(timestamp) at").collect()
    ]
    assert sorted(rows, key=lambda row: row[:2]) == sorted(expected, key=lambda row: row[:2])


def test_a_schema_of_some_columns_reads_those(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "pruned")
    put(broker, "pruned", [b"a", b"b"])
    found = frame(spark, broker, "offset BIGINT, value BINARY", subscribe="pruned")
    assert found.columns == ["offset", "value"]
    assert sorted((row.offset, bytes(row.value)) for row in found.collect()) == [(0, b"a"), (1, b"b")]


@pytest.mark.parametrize(
    ("schema", "said"),
    [("value STRING", "the column value is binary, not string"), ("words BINARY", "there is no column words")],
)
def test_a_schema_that_cannot_be(spark: SparkSession, broker: BrokerProcess, schema: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        frame(spark, broker, schema, subscribe="pruned").count()


def offsets(found: DataFrame) -> list[tuple[int, int]]:
    return sorted((row.partition, row.offset) for row in found.select("partition", "offset").collect())


def test_where_a_read_begins_and_ends(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "bounded", 2)
    put(broker, "bounded", [b"%d" % at for at in range(10)], 0, timestamps=[1000 + 10 * at for at in range(10)])
    put(broker, "bounded", [b"%d" % at for at in range(4)], 1, timestamps=[1000 + 10 * at for at in range(4)])

    def read(**options: object) -> list[tuple[int, int]]:
        return offsets(frame(spark, broker, subscribe="bounded", **options))

    def between(first: tuple[int, int], second: tuple[int, int]) -> list[tuple[int, int]]:
        return [(0, at) for at in range(*first)] + [(1, at) for at in range(*second)]

    assert read() == between((0, 10), (0, 4))
    assert read(startingOffsets='{"bounded": {"0": 7, "1": -2}}') == between((7, 10), (0, 4))
    assert read(endingOffsets='{"bounded": {"0": 3, "1": -1}}') == between((0, 3), (0, 4))
    assert read(startingTimestamp=1025) == between((3, 10), (3, 4))
    assert read(endingTimestamp=1055) == between((0, 6), (0, 4))
    by_time = '{"bounded": {"0": 1080, "1": 1020}}'
    assert read(startingOffsetsByTimestamp=by_time, startingOffsets="earliest") == between((8, 10), (2, 4))
    assert read(endingOffsetsByTimestamp=by_time) == between((0, 8), (0, 2))
    with pytest.raises(Exception, match=r"bounded \[1\]: no record is at or after the starting time"):
        read(startingTimestamp=1050)
    assert read(startingTimestamp=1050, startingOffsetsByTimestampStrategy="latest") == between((5, 10), (4, 4))
    assigned = frame(spark, broker, assign='{"bounded": [1]}', startingOffsets='{"bounded": {"1": 3}}')
    assert offsets(assigned) == [(1, 3)]


def test_topics_by_pattern_and_by_list(spark: SparkSession, broker: BrokerProcess) -> None:
    for name in ("many-a", "many-b", "other-c"):
        create(broker, name)
        put(broker, name, [name.encode()])

    def topics(**options: object) -> list[str]:
        return sorted(row.topic for row in frame(spark, broker, "topic STRING", **options).collect())

    assert topics(subscribePattern="many-.*") == ["many-a", "many-b"]
    assert topics(subscribe="many-a, other-c") == ["many-a", "other-c"]


def test_nothing_to_read(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "empty", 3)
    found = frame(spark, broker, subscribe="empty")
    assert found.count() == 0
    assert found.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert frame(spark, broker, subscribePattern="no-such-.*").count() == 0


def test_two_hundred_partitions_share_tasks(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "wide", 200)
    with RawClient(broker.host, broker.port) as client:
        for index in range(200):
            assert client.produce("wide", batch_of([b"%d" % index] * 2), partition=index).error_code == 0
    found = frame(spark, broker, "partition INT, value BINARY", subscribe="wide")
    assert found.rdd.getNumPartitions() <= 4
    assert sorted((row.partition, bytes(row.value)) for row in found.collect()) == [
        (index, b"%d" % index) for index in range(200) for _ in range(2)
    ]


def test_one_large_partition_makes_many_tasks(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "skewed", 2)
    for _ in range(10):
        put(broker, "skewed", [bytes(1000)] * 100, 0)
    put(broker, "skewed", [b"small"], 1)
    found = frame(spark, broker, "partition INT, offset BIGINT", subscribe="skewed", kafpy_split_bytes=100_000)
    assert found.rdd.getNumPartitions() >= 10
    assert offsets(found) == [(0, at) for at in range(1000)] + [(1, 0)]
    assert frame(spark, broker, subscribe="skewed", minPartitions=7).rdd.getNumPartitions() >= 7
    assert frame(spark, broker, subscribe="skewed", maxRecordsPerPartition=250).rdd.getNumPartitions() >= 4


def test_what_was_deleted_meanwhile_is_told_of(spark: SparkSession, broker: BrokerProcess) -> None:
    create(broker, "shrinking")
    for at in range(10):
        put(broker, "shrinking", [b"%d" % at])
    strict = frame(spark, broker, subscribe="shrinking", kafpy_read="tcp")
    lenient = frame(spark, broker, subscribe="shrinking", kafpy_read="tcp", failOnDataLoss="false")
    assert strict.count() == lenient.count() == 10
    with Cluster(from_properties({"bootstrap.servers": broker.bootstrap})) as cluster:
        Topics(cluster).delete_records({("shrinking", 0): 4})
    with pytest.raises(
        Exception, match=rf"shrinking \[0\] at offset 0, broker 1 \({broker.bootstrap}\).*begins at 4 and ends at 10"
    ):
        strict.collect()
    assert offsets(lenient) == [(0, at) for at in range(4, 10)]


def test_holes_are_no_loss(spark: SparkSession, tmp_path: Path) -> None:
    """As compaction leaves them: within a batch, between batches, and before the end."""
    broker = BrokerProcess(tmp_path / "data")
    create(broker, "compacted", cleanup_policy="compact")
    put(broker, "compacted", [b"v"] * 30, keys=[b"%d" % at for at in range(30)])
    broker.stop()
    folder = tmp_path / "data" / "compacted-0"
    kept = b"".join(
        reference.frame(
            b"".join(reference.encode_record(Record(b"%d" % (first + delta)), 0, delta) for delta in deltas),
            base_offset=first,
            last_offset_delta=last,
            record_count=len(deltas),
            leader_epoch=0,
        )
        for first, deltas, last in ((0, (2, 5, 6), 9), (11, (0,), 0), (20, (0, 4), 9))
    )
    (folder / f"{0:020}.log").write_bytes(kept)
    for name in (f"{0:020}.index", f"{0:020}.timeindex"):
        (folder / name).unlink(missing_ok=True)
    broker.start()
    try:
        for read in ("tcp", "local"):
            found = frame(spark, broker, "partition INT, offset BIGINT", subscribe="compacted", kafpy_read=read)
            assert [at for _, at in offsets(found)] == [2, 5, 6, 11, 20, 24]
    finally:
        broker.stop()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": "not-there"}, "topic not-there"),
        ({"assign": '{"bounded": [9]}'}, "topic bounded has no partition 9"),
        ({"subscribe": "a", "assign": "{}"}, "exactly one of"),
        ({"subscribe": "bounded", "startingOffsets": "latest"}, "a batch query would read nothing"),
        ({"subscribe": "bounded", "startingOffsets": '{"bounded": {"0": 1}}'}, r"lack bounded \[1\]"),
        ({"subscribe": "bounded", "minPartitions": "many"}, "minPartitions=many: a whole number"),
        ({"subscribe": "bounded", "kafka_group_id": "g", "kafka_enable_auto_commit": "true"}, "cannot be set here"),
    ],
)
def test_options_that_cannot_be(spark: SparkSession, broker: BrokerProcess, options: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match=said):
        frame(spark, broker, **options).count()


def test_nobody_answers(spark: SparkSession) -> None:
    reader = spark.read.format("kafpy").option("subscribe", "t").option("kafka.bootstrap.servers", "127.0.0.1:1")
    with pytest.raises(Exception, match=r"cannot reach 127\.0\.0\.1:1"):
        reader.option("kafka.request.timeout.ms", 300).load().count()
