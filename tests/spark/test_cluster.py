"""Executors of a standalone cluster, on two workers, read a topic; so they do for a client of Spark Connect."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy.client.cluster import Cluster
from kafpy.client.settings import from_properties
from kafpy.client.topics import Topics
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient
from tests.spark.standalone import SETTINGS, connect_server, drive, standalone
from tests.spark.topics import create, put

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROWS = 3000
DRIVER = f"""
import json, os, sys
from pyspark.sql import SparkSession
master, bootstrap = sys.argv[1:]
builder = SparkSession.builder.master(master).appName("kafpy")
for name, value in {SETTINGS!r}.items():
    builder.config(name, value)
spark = builder.getOrCreate()
def source():
    return spark.read.format("kafpy").option("kafka.bootstrap.servers", bootstrap).option("kafpy.read", "tcp")
"""
BULK = """
def counted(rows):
    numbers = [int(row.value) for row in rows]
    yield {"place": os.getcwd(), "rows": len(numbers), "total": sum(numbers)}

frame = source().schema("value BINARY").option("subscribe", "bulk").option("minPartitions", 8).load()
print(json.dumps(frame.rdd.mapPartitions(counted).collect()))
"""
COPY = """
broker = {"kafka.bootstrap.servers": bootstrap}
frame.write.format("kafpy").mode("append").options(**broker, topic="bulk-copy").save()
"""
LOSS = """
frame = source().option("assign", '{"trimmed": [0]}').option("startingOffsets", '{"trimmed": {"0": 2}}').load()
try:
    frame.count()
except Exception as error:
    print(json.dumps(str(error)))
"""
CLIENT = """
import json, sys
from pyspark.sql import SparkSession
remote, bootstrap, checkpoint = sys.argv[1:]
spark = SparkSession.builder.remote(remote).getOrCreate()
def configured(reader):
    return reader.format("kafpy").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "bulk")
frame = configured(spark.read).load()
counts = frame.groupBy("partition").count().orderBy("partition").collect()
stream = configured(spark.readStream).option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 2000).load()
query = (stream.selectExpr("CAST(CAST(value AS STRING) AS BIGINT) n").writeStream.format("parquet")
    .option("path", checkpoint + "/rows").option("checkpointLocation", checkpoint + "/state")
    .trigger(availableNow=True).start())
assert query.awaitTermination(300)
streamed = spark.read.parquet(checkpoint + "/rows").selectExpr("count(*) c", "sum(n) s", "count(DISTINCT n) d").first()
frame.select("key", "value").write.format("kafpy").mode("append").options(
    **{"kafka.bootstrap.servers": bootstrap, "topic": "connected"}).save()
copying = (configured(spark.readStream).option("startingOffsets", "earliest").load().select("key", "value")
    .writeStream.format("kafpy").option("kafka.bootstrap.servers", bootstrap).option("topic", "connected-stream")
    .option("checkpointLocation", checkpoint + "/copying").trigger(availableNow=True).start())
assert copying.awaitTermination(300)
print(json.dumps([[each["count"] for each in counts], list(streamed)]))
"""


@pytest.fixture(scope="module")
def filled(broker: BrokerProcess) -> BrokerProcess:
    """bulk: the numbers below ROWS in three partitions; trimmed: begins at 4."""
    create(broker, "bulk", 3, retention_ms="-1")
    for partition in range(3):
        numbers = range(partition, ROWS, 3)
        for start in range(0, len(numbers), 100):
            put(broker, "bulk", [b"%d" % each for each in numbers[start : start + 100]], partition)
    create(broker, "trimmed", retention_ms="-1")
    for copy in ("bulk-copy", "connected", "connected-stream"):
        create(broker, copy, 3)
    put(broker, "trimmed", [b"x"] * 6)
    with Cluster(from_properties({"bootstrap.servers": broker.bootstrap})) as cluster:
        Topics(cluster).delete_records({("trimmed", 0): 4})
    return broker


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(tmp_path_factory.mktemp("cluster")) as address:
        yield address


def numbers_of(broker: BrokerProcess, topic: str) -> list[int]:
    with RawClient(broker.host, broker.port) as client:
        return sorted(int(value or b"") for index in range(3) for value in client.values(topic, partition=index))


def test_executors_on_both_workers_read_and_write(master: str, filled: BrokerProcess, tmp_path: Path) -> None:
    done = drive(tmp_path, DRIVER + BULK + COPY + LOSS, master, filled.bootstrap)
    assert done.returncode == 0, done.stderr
    found, error = map(json.loads, done.stdout.splitlines())
    assert sum(each["rows"] for each in found) == ROWS
    assert sum(each["total"] for each in found) == sum(range(ROWS))
    assert len(found) >= 8
    places = {part for each in found for part in Path(each["place"]).parts}
    assert {"worker-1", "worker-2"} <= places
    assert filled.bootstrap in error
    assert "trimmed [0]" in error
    assert "offset 2" in error
    assert numbers_of(filled, "bulk-copy") == list(range(ROWS))


def test_a_client_of_connect(master: str, filled: BrokerProcess, tmp_path: Path) -> None:
    with connect_server(master, tmp_path) as address:
        done = drive(tmp_path, CLIENT, address, filled.bootstrap, str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[ROWS // 3] * 3, [ROWS, sum(range(ROWS)), ROWS]]
    for copy in ("connected", "connected-stream"):
        assert numbers_of(filled, copy) == list(range(ROWS))
