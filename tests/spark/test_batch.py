"""spark.read.format("kafpy"): the rows of a topic are what was produced, in whatever tasks they are read."""

from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of


def frame(spark: SparkSession, broker: BrokerProcess, schema: str | None = None, **options: object) -> DataFrame:
    reader = spark.read.format("kafpy").option("kafka.bootstrap.servers", broker.bootstrap)
    for name, value in options.items():
        reader = reader.option(name.replace("_", "."), value)  # type: ignore[arg-type]
    return (reader if schema is None else reader.schema(schema)).load()


def put(broker: BrokerProcess, topic: str, values: list[bytes | None], partition: int = 0, **fields: Any) -> None:
    with RawClient(broker.host, broker.port) as client:
        assert client.produce(topic, batch_of(values, **fields), partition=partition).error_code == 0


def create(broker: BrokerProcess, topic: str, partitions: int = 1) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create(topic, partitions)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_row_as_it_was_produced(spark: SparkSession, broker: BrokerProcess, codec: str) -> None:
    topic = f"rows-{codec}"
    create(broker, topic, 3)
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
