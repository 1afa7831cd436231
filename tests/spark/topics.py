"""Topics of the Spark tests: made, filled and read."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of


def frame(spark: SparkSession, broker: BrokerProcess, schema: str | None = None, **options: object) -> DataFrame:
    return configured(spark.read, broker, schema, options).load()


def stream(spark: SparkSession, broker: BrokerProcess, schema: str | None = None, **options: object) -> DataFrame:
    return configured(spark.readStream, broker, schema, options).load()


def configured(reader: Any, broker: BrokerProcess, schema: str | None, options: dict[str, object]) -> Any:
    """An underscore in an option's name stands for a dot."""
    reader = reader.format("kafpy").option("kafka.bootstrap.servers", broker.bootstrap)
    for name, value in options.items():
        reader = reader.option(name.replace("_", "."), value)
    return reader if schema is None else reader.schema(schema)


def put(broker: BrokerProcess, topic: str, values: list[bytes | None], partition: int = 0, **fields: Any) -> None:
    with RawClient(broker.host, broker.port) as client:
        assert client.produce(topic, batch_of(values, **fields), partition=partition).error_code == 0


def create(broker: BrokerProcess, topic: str, partitions: int = 1, **configs: str) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create(topic, partitions, {name.replace("_", "."): value for name, value in configs.items()})
