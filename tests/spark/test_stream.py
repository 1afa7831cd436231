"""spark.readStream.format("kafpy"): micro-batches in which nothing is lost and nothing comes twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafpy.client.cluster import Cluster
from kafpy.client.groups import Groups
from kafpy.client.settings import from_properties
from kafpy.client.topics import Topics
from tests.broker_process import BrokerProcess
from tests.spark.topics import create, put, stream

Batches = dict[int, list[str]]


class Query:
    """One query, which can be stopped and started again: what each of its batches held."""

    def __init__(self, make: Callable[[], DataFrame], checkpoint: Path) -> None:
        self.batches: Batches = {}
        self._make = make
        self._checkpoint = checkpoint
        self._running: StreamingQuery | None = None

    def begin(self, **trigger: Any) -> StreamingQuery:
        def keep(frame: DataFrame, number: int) -> None:
            self.batches[number] = sorted(row.value for row in frame.selectExpr("string(value) value").collect())

        writer = self._make().writeStream.foreachBatch(keep).option("checkpointLocation", str(self._checkpoint))
        self._running = (writer.trigger(**trigger) if trigger else writer).start()
        return self._running

    def rows(self) -> list[str]:
        return sorted(value for held in self.batches.values() for value in held)

    def all_there_is(self) -> list[str]:
        """Runs once through all that is there; the rows of the batches of this run."""
        before = set(self.batches)
        assert self.begin(availableNow=True).awaitTermination(90)
        assert self._running is not None
        if self._running.exception() is not None:
            raise self._running.exception()  # type: ignore[misc]
        return sorted(value for number, held in self.batches.items() if number not in before for value in held)


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Callable[..., Query]:
    def of(broker: BrokerProcess, **options: object) -> Query:
        return Query(lambda: stream(spark, broker, **options), tmp_path / "checkpoint")

    return of


def numbers(first: int, last: int) -> list[bytes]:
    return [b"%03d" % each for each in range(first, last)]


def texts(first: int, last: int) -> list[str]:
    return [each.decode() for each in numbers(first, last)]


def test_runs_go_on_where_the_last_one_ended(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "going-on", 2)
    put(broker, "going-on", numbers(0, 5))
    reader = query(broker, subscribe="going-on", startingOffsets="earliest")
    assert reader.all_there_is() == texts(0, 5)
    assert reader.all_there_is() == []
    put(broker, "going-on", numbers(5, 9), 1)
    assert reader.all_there_is() == texts(5, 9)


def test_batches_are_limited(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "limited", 2)
    put(broker, "limited", numbers(0, 30), 0)
    put(broker, "limited", numbers(30, 40), 1)
    reader = query(broker, subscribe="limited", startingOffsets="earliest", maxOffsetsPerTrigger=10)
    assert reader.all_there_is() == texts(0, 40)
    sizes = [len(held) for _, held in sorted(reader.batches.items()) if held]
    assert len(sizes) >= 4
    assert max(sizes) <= 11


def test_too_little_waits(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "patient")
    put(broker, "patient", numbers(0, 3))
    reader = query(
        broker, subscribe="patient", startingOffsets="earliest", minOffsetsPerTrigger=5, maxTriggerDelay="10m"
    )
    running = reader.begin()
    try:
        running.processAllAvailable()
        assert reader.rows() == []
        put(broker, "patient", numbers(3, 6))
        running.processAllAvailable()
        assert reader.rows() == texts(0, 6)
    finally:
        running.stop()
    put(broker, "patient", numbers(6, 8))
    assert reader.all_there_is() == texts(6, 8), "a run to the end takes what there is"


def test_a_live_query_sees_new_records_and_partitions(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "live")
    put(broker, "live", [b"before"])
    reader = query(broker, subscribe="live")
    running = reader.begin()
    try:
        running.processAllAvailable()
        put(broker, "live", numbers(0, 3))
        running.processAllAvailable()
        with Cluster(from_properties({"bootstrap.servers": broker.bootstrap})) as cluster:
            Topics(cluster).grow({"live": 2}, {})
        put(broker, "live", numbers(3, 5), 1)
        running.processAllAvailable()
        progress = json.loads(running.lastProgress.json)
    finally:
        running.stop()
    assert reader.rows() == texts(0, 5)
    source = progress["sources"][0]
    assert source["latestOffset"]["live"] == {"0": 4, "1": 2}
    assert source["endOffset"]["@topicIds"].keys() == {"live"}


def test_restarts_of_query_and_broker_lose_nothing(own_broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(own_broker, "durable", 3)
    reader = query(own_broker, subscribe="durable", startingOffsets="earliest", maxOffsetsPerTrigger=40)
    put(own_broker, "durable", numbers(0, 50), 0)
    running = reader.begin()
    running.processAllAvailable()
    own_broker.restart(crash=True)
    put(own_broker, "durable", numbers(50, 120), 1)
    running.processAllAvailable()
    running.stop()
    own_broker.restart(crash=False)
    put(own_broker, "durable", numbers(120, 200), 2)
    reader.all_there_is()
    assert reader.rows() == texts(0, 200)


def test_a_broker_that_is_away_is_waited_for(own_broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(own_broker, "away")
    put(own_broker, "away", numbers(0, 5))
    reader = query(own_broker, subscribe="away", startingOffsets="earliest")
    running = reader.begin()
    running.processAllAvailable()
    own_broker.kill()
    assert not running.awaitTermination(2)
    own_broker.start()
    put(own_broker, "away", numbers(5, 9))
    running.processAllAvailable()
    running.stop()
    assert reader.rows() == texts(0, 9)


def test_commits_for_others_to_see(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "seen", 2)
    put(broker, "seen", numbers(0, 5), 0)
    put(broker, "seen", numbers(5, 12), 1)
    reader = query(
        broker, subscribe="seen", startingOffsets="earliest", maxOffsetsPerTrigger=4, kafpy_commit_group="spark-seen"
    )
    reader.all_there_is()
    with Cluster(from_properties({"bootstrap.servers": broker.bootstrap})) as cluster:
        committed = Groups(cluster).committed("spark-seen")
    assert {each: found.offset for each, found in committed.items()} == {("seen", 0): 5, ("seen", 1): 7}


# ---- what is gone


def delete_records(broker: BrokerProcess, topic: str, offset: int) -> None:
    with Cluster(from_properties({"bootstrap.servers": broker.bootstrap})) as cluster:
        Topics(cluster).delete_records({(topic, 0): offset})


def create_again(broker: BrokerProcess, topic: str) -> None:
    with Cluster(from_properties({"bootstrap.servers": broker.bootstrap})) as cluster:
        assert [each.code for each in Topics(cluster).delete([topic])] == [0]
    create(broker, topic)


def test_loss_ends_a_query_or_is_passed_over(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "trimmed")
    put(broker, "trimmed", numbers(0, 4))
    options = {"subscribe": "trimmed", "startingOffsets": "earliest", "kafpy_read": "tcp"}
    strict, lenient = query(broker, **options), query(broker, **options, failOnDataLoss="false")
    assert strict.all_there_is() == texts(0, 4)
    for at in range(4, 9):
        put(broker, "trimmed", numbers(at, at + 1))
    delete_records(broker, "trimmed", 6)
    with pytest.raises(Exception, match=r"trimmed \[0\].*4.*failOnDataLoss=false"):
        strict.all_there_is()
    assert lenient.all_there_is() == texts(6, 9)


def test_what_was_read_already_is_no_loss(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "cleaned")
    put(broker, "cleaned", numbers(0, 4))
    reader = query(broker, subscribe="cleaned", startingOffsets="earliest")
    assert reader.all_there_is() == texts(0, 4)
    delete_records(broker, "cleaned", 4)
    put(broker, "cleaned", numbers(4, 6))
    assert reader.all_there_is() == texts(4, 6)


def test_a_topic_made_again_is_another(broker: BrokerProcess, query: Callable[..., Query]) -> None:
    create(broker, "again")
    put(broker, "again", numbers(0, 3))
    options = {"subscribe": "again", "startingOffsets": "earliest"}
    strict, lenient = query(broker, **options), query(broker, **options, failOnDataLoss="false")
    assert strict.all_there_is() == texts(0, 3)
    create_again(broker, "again")
    put(broker, "again", numbers(3, 8))
    with pytest.raises(Exception, match="topic again was deleted and created again"):
        strict.all_there_is()
    assert lenient.all_there_is() == texts(3, 8)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"endingOffsets": "latest"}, "endingOffsets is of batch queries"),
        ({"maxOffsetsPerTrigger": 2, "minOffsetsPerTrigger": 3}, "minOffsetsPerTrigger=3 is above"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay=soon: a time such as"),
    ],
)
def test_options_that_cannot_be(
    broker: BrokerProcess, query: Callable[..., Query], options: dict[str, object], said: str
) -> None:
    with pytest.raises(Exception, match=said):
        query(broker, subscribe="refused", **options).all_there_is()
