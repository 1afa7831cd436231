"""What Spark's own Kafka connector reads, our data source reads, row for row: from kafpy and from Apache Kafka."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from bench.spark.contestants import jars
from bench.suite.kafka import Missing
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient
from tests.peers.apache import ApacheKafka

pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
KEPT = {"retention.ms": "-1"}
"""The records are of 2023."""
TIMEOUT_S = 280


@pytest.fixture(scope="module")
def connector() -> str:
    try:
        return ",".join(map(str, jars()))
    except Missing as missing:
        pytest.skip(str(missing))


def differences(connector: str, asked: list[dict[str, str]], ours: list[dict[str, str]]) -> list[dict[str, object]]:
    program = [sys.executable, "-m", "tests.peers.spark_rows", connector, json.dumps(asked), *map(json.dumps, ours)]
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "\tat " not in line)[-4000:]
    found: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return found


def fill(bootstrap: str, topic: str, codec: str, *, transactions: bool) -> None:
    settings = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 10}
    producer = Producer({**settings, **({"transactional.id": f"{topic}-writer"} if transactions else {})})
    if transactions:
        producer.init_transactions(60)
    for round_ in range(6):
        if transactions:
            producer.begin_transaction()
        for number in range(100 * round_, 100 * round_ + 100):
            key = None if number % 3 == 0 else b"" if number % 3 == 1 else b"key %d" % number
            value = None if number % 7 == 0 else b"value %d" % number * (number % 5)
            headers = [("n", b"%d" % number), ("none", None)] if number % 2 else None
            producer.produce(topic, value, key, number % 3, timestamp=1_700_000_000_000 + number, headers=headers)
        assert producer.flush(30) == 0
        if transactions:
            producer.abort_transaction(30) if round_ % 2 else producer.commit_transaction(30)


def questions(bootstrap: str, topic: str) -> list[dict[str, str]]:
    base = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "includeHeaders": "true"}
    by_partition = json.dumps({topic: {"0": 20, "1": -2, "2": 33}})
    ends = json.dumps({topic: {"0": 120, "1": 90, "2": -1}})
    return [
        base,
        {**base, "includeHeaders": "false", "minPartitions": "7"},
        {**base, "startingOffsets": by_partition, "endingOffsets": ends},
        {**base, "startingTimestamp": "1700000000111", "endingTimestamp": "1700000000333"},
        {**base, "kafka.isolation.level": "read_committed"},
    ]


def test_rows_of_a_kafpy_broker(connector: str, broker: BrokerProcess) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create("spark-rows", 3, KEPT)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        fill(broker.bootstrap, "spark-rows", codec, transactions=False)
    found = differences(
        connector, questions(broker.bootstrap, "spark-rows"), [{"kafpy.read": "tcp"}, {"kafpy.read": "local"}]
    )
    assert all(each["same"] == [True, True] for each in found), found
    assert found[0]["rows"] == 3000
    assert all(each["rows"] for each in found)


def test_rows_of_apache_kafka_with_transactions(connector: str, apache: ApacheKafka) -> None:
    with RawClient(*apache.bootstrap.split(":")) as client:  # type: ignore[arg-type]
        client.create("spark-rows", 3, KEPT)
    fill(apache.bootstrap, "spark-rows", "lz4", transactions=True)
    found = differences(
        connector, questions(apache.bootstrap, "spark-rows"), [{"kafpy.read": "tcp"}, {"kafpy.read": "local"}]
    )
    assert all(each["same"] == [True, True] for each in found), found
    assert found[0]["rows"] == 600
    assert found[-1]["rows"] == 300
