"""What was acknowledged is there after a clean stop and after kill -9; topics keep their ids and configs."""

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import confluent_kafka
import pytest

from tests.broker_process import BrokerProcess
from tests.clients.drivers import CODECS, DRIVERS, Message
from tests.clients.raw import RawClient, batch_of

Connect = Callable[[BrokerProcess], RawClient]


@pytest.fixture(params=[False, True], ids=["stopped", "killed"])
def crash(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_records_of_every_client_and_codec(own_broker: BrokerProcess, connect: Connect, crash: bool) -> None:
    connect(own_broker).create("t", 3)
    sent = [Message(b"%d" % number * 50, b"k") for number in range(30)]
    for codec in CODECS:
        for kind in DRIVERS.values():
            kind(own_broker.bootstrap).produce("t", sent, codec=codec)
    before = [connect(own_broker).values("t", partition=partition) for partition in range(3)]
    own_broker.restart(crash=crash)
    raw = connect(own_broker)
    assert [raw.values("t", partition=partition) for partition in range(3)] == before
    assert len(before[0]) == 30 * len(CODECS) * len(DRIVERS)
    assert raw.produce("t", batch_of([b"next"])).base_offset == len(before[0])
    assert raw.offset("t", -1, partition=1).offset == 0


def test_segments_and_times(own_broker: BrokerProcess, connect: Connect, crash: bool) -> None:
    raw = connect(own_broker)
    raw.create("t", configs={"segment.bytes": "1048576"})
    for number in range(50):
        raw.produce("t", batch_of([b"%d" % number * 40_000], timestamps=1_700_000_000_000 + number))
    before = raw.values("t")
    own_broker.restart(crash=crash)
    raw = connect(own_broker)
    assert raw.values("t") == before
    assert len(list((own_broker.directory / "t-0").glob("*.log"))) > 1
    for number in range(50):
        assert raw.offset("t", 1_700_000_000_000 + number).offset == number


def test_topics_keep_ids_and_configs(own_broker: BrokerProcess, connect: Connect, crash: bool) -> None:
    raw = connect(own_broker)
    ids = {
        "stamped": raw.create("stamped", configs={"message.timestamp.type": "LogAppendTime"}),
        "small": raw.create("small", 4, configs={"max.message.bytes": "500"}),
        "packed": raw.create("packed", configs={"compression.type": "zstd"}),
    }
    own_broker.restart(crash=crash)
    raw = connect(own_broker)
    found = raw.metadata(*ids).topics
    assert {topic.name: bytes(topic.topic_id) for topic in found} == ids
    assert {topic.name: len(topic.partitions) for topic in found} == {"stamped": 1, "small": 4, "packed": 1}
    assert raw.produce("stamped", batch_of([b"v"], timestamps=1)).log_append_time_ms > 1_700_000_000_000
    assert raw.produce("small", batch_of([b"v" * 500])).error_code == 10
    assert raw.produce(ids["packed"], batch_of([b"v" * 500])).error_code == 0
    assert raw.fetch(ids["packed"]).records[22] & 7 == 4


def test_many_restarts(own_broker: BrokerProcess, connect: Connect) -> None:
    connect(own_broker).create("t")
    for number in range(6):
        assert connect(own_broker).produce("t", batch_of([b"%d" % number])).base_offset == number
        own_broker.restart(crash=number % 2 == 0)
    assert connect(own_broker).values("t") == [b"%d" % number for number in range(6)]


IN_FLIGHT = 100


class Stream:
    """A librdkafka producer that goes on until told to stop."""

    def __init__(self, bootstrap: str, idempotent: bool) -> None:
        self.acknowledged: list[bytes] = []
        self.enough = Event()
        self._stop = Event()
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": idempotent,
            "acks": "all",
            "linger.ms": 1,
            "batch.num.messages": 10,
            "reconnect.backoff.max.ms": 100,
            "log_level": 0,
            "retry.backoff.ms": 20,
        }
        self._producer = confluent_kafka.Producer(settings)
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            self._producer.produce("t", b"%d" % number, partition=0, on_delivery=self._delivered)
            number += 1
            self._producer.poll(0)
            while len(self._producer) > IN_FLIGHT:
                self._producer.poll(0.01)
        assert self._producer.flush(30) == 0

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.acknowledged.append(message.value())
            if len(self.acknowledged) % 300 == 0:
                self.enough.set()

    def wait_for_more(self) -> None:
        self.enough.clear()
        assert self.enough.wait(30)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def test_a_producer_at_work_meanwhile(own_broker: BrokerProcess, connect: Connect, crash: bool) -> None:
    connect(own_broker).create("t")
    stream = Stream(own_broker.bootstrap, idempotent=True)
    for _ in range(3):
        stream.wait_for_more()
        own_broker.restart(crash=crash)
    stream.wait_for_more()
    stream.stop()
    values = connect(own_broker).values("t")
    assert values == stream.acknowledged, "each once and in order, what was retried included"


def test_nothing_acknowledged_is_lost_without_idempotence(
    own_broker: BrokerProcess, connect: Connect, crash: bool
) -> None:
    connect(own_broker).create("t")
    stream = Stream(own_broker.bootstrap, idempotent=False)
    stream.wait_for_more()
    own_broker.restart(crash=crash)
    stream.wait_for_more()
    stream.stop()
    assert set(stream.acknowledged) <= set(connect(own_broker).values("t"))
