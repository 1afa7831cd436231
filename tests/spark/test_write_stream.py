"""writeStream.format("kafpy"): rows come once over restarts of the query, and of the broker between its batches."""

from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient


class Lines:
    """A folder that a query follows: each file is a batch, or part of one."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "lines"
        self.folder.mkdir()
        self._place = place
        self._files = 0
        self.count = 0

    def add(self, count: int) -> None:
        """Written elsewhere first: a file is seen whole or not at all."""
        drafted = self._place / "draft"
        drafted.write_text("".join(f"{number}\n" for number in range(self.count, self.count + count)))
        drafted.rename(self.folder / f"{self._files:06}.txt")
        self.count += count
        self._files += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.format("text").load(str(self.folder))


def sink(frame: DataFrame, broker: BrokerProcess, place: Path, topic: str) -> DataStreamWriter:
    return (
        frame.writeStream.format("kafpy")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("topic", topic)
        .option("checkpointLocation", str(place / f"checkpoint-{topic}"))
    )


def written(broker: BrokerProcess, topic: str, partitions: int) -> Counter[int]:
    with RawClient(broker.host, broker.port) as client:
        values = [value for index in range(partitions) for value in client.values(topic, partition=index)]
    return Counter(int(value or b"") for value in values)


def test_rows_come_once_over_restarts(spark: SparkSession, own_broker: BrokerProcess, tmp_path: Path) -> None:
    lines, broker = Lines(tmp_path), own_broker
    with RawClient(broker.host, broker.port) as client:
        client.create("t", 3)

    def start() -> StreamingQuery:
        return sink(lines.stream(spark).selectExpr("value", "value key"), broker, tmp_path, "t").start()

    for crash in (False, True):
        query = start()
        lines.add(700)
        query.processAllAvailable()
        broker.restart(crash=crash)
        lines.add(500)
        query.processAllAvailable()
        query.stop()
        lines.add(300)
    query = start()
    query.processAllAvailable()
    query.stop()
    assert written(broker, "t", 3) == Counter(range(lines.count))


def test_a_query_that_stops_by_itself_goes_on_where_it_was(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    lines = Lines(tmp_path)
    with RawClient(broker.host, broker.port) as client:
        client.create("now")
    for _ in range(3):
        lines.add(50)
        query = sink(lines.stream(spark), broker, tmp_path, "now").trigger(availableNow=True).start()
        assert query.awaitTermination(60)
    assert written(broker, "now", 1) == Counter(range(150))


def test_complete_brings_the_whole_result_each_time(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    lines = Lines(tmp_path)
    with RawClient(broker.host, broker.port) as client:
        client.create("counted")
    counts = lines.stream(spark).groupBy().count().selectExpr("cast(count as string) value")
    query = sink(counts, broker, tmp_path, "counted").outputMode("complete").start()
    for _ in range(2):
        lines.add(10)
        query.processAllAvailable()
    query.stop()
    assert written(broker, "counted", 1) == Counter([10, 20])


def test_update_goes_through_foreach_batch(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    lines = Lines(tmp_path)
    with RawClient(broker.host, broker.port) as client:
        client.create("updated")

    def save(rows: DataFrame, number: int) -> None:
        writer = rows.write.format("kafpy").mode("append").option("kafka.bootstrap.servers", broker.bootstrap)
        writer.option("topic", "updated").save()

    counts = lines.stream(spark).groupBy("value").count().selectExpr("cast(int(value) + 100 * count as string) value")
    query = (
        counts.writeStream.outputMode("update")
        .foreachBatch(save)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    for _ in range(2):
        lines.add(3)
        query.processAllAvailable()
    query.stop()
    assert written(broker, "updated", 1) == Counter(range(100, 106))
