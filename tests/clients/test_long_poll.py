"""Fetches that wait: woken by an append, bounded by min.bytes and by their time."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import confluent_kafka
import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.drivers import Confluent, Message
from tests.clients.raw import RawClient, batch_of, fetch_request

LONG_MS = 5_000
SOON_S = 1.0


@pytest.fixture
def reader(broker: BrokerProcess, connect: Callable[[BrokerProcess], RawClient]) -> RawClient:
    return connect(broker)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_an_append_wakes_the_waiting(raw: RawClient, reader: RawClient, topic: str) -> None:
    for number in range(20):
        reader.send((api.FETCH, 12, fetch_request({topic: {0: number}}, wait_ms=LONG_MS)))
        if number == 0:
            assert reader.quiet(0.1), "there is nothing yet"
        started = monotonic()
        raw.produce(topic, batch_of([b"v"]))
        (part,) = reader.receive().responses[0].partitions
        assert monotonic() - started < SOON_S
        assert part.records and part.high_watermark == number + 1


def test_min_bytes_are_awaited(raw: RawClient, reader: RawClient, topic: str) -> None:
    size = len(batch_of([b"v"]))
    reader.send((api.FETCH, 12, fetch_request({topic: {0: 0}}, wait_ms=LONG_MS, min_bytes=3 * size)))
    for _ in range(2):
        raw.produce(topic, batch_of([b"v"]))
        assert reader.quiet(0.05)
    started = monotonic()
    raw.produce(topic, batch_of([b"v"]))
    assert len(reader.receive().responses[0].partitions[0].records) == 3 * size
    assert monotonic() - started < SOON_S


def test_min_bytes_over_partitions(raw: RawClient, reader: RawClient, name: str) -> None:
    raw.create(name, 3)
    size = len(batch_of([b"v"]))
    request = fetch_request({name: {0: 0, 1: 0, 2: 0}}, wait_ms=LONG_MS, min_bytes=2 * size)
    reader.send((api.FETCH, 12, request))
    raw.produce(name, batch_of([b"v"]), partition=2)
    assert reader.quiet(0.05)
    raw.produce(name, batch_of([b"v"]), partition=0)
    found = reader.receive().responses[0].partitions
    assert [len(part.records) for part in found] == [size, 0, size]


def test_time_runs_out(reader: RawClient, raw: RawClient, topic: str) -> None:
    raw.produce(topic, batch_of([b"v"]))
    started = monotonic()
    answer = reader.call(api.FETCH, 12, fetch_request({topic: {0: 0}}, wait_ms=300, min_bytes=1_000_000))
    assert 0.29 <= monotonic() - started < 0.3 + SOON_S
    assert answer.responses[0].partitions[0].records, "what there is"


def test_no_wait_where_there_is_an_error(reader: RawClient, raw: RawClient, topic: str) -> None:
    started = monotonic()
    request = fetch_request({topic: {0: 0, 1: 0}}, wait_ms=LONG_MS)
    found = reader.call(api.FETCH, 12, request).responses[0].partitions
    assert sorted(part.error_code for part in found) == [0, 3]
    assert monotonic() - started < SOON_S


def test_many_wait_for_one(
    broker: BrokerProcess, raw: RawClient, connect: Callable[[BrokerProcess], RawClient], topic: str
) -> None:
    readers = [connect(broker) for _ in range(30)]
    for each in readers:
        each.send((api.FETCH, 12, fetch_request({topic: {0: 0}}, wait_ms=LONG_MS)))
    started = monotonic()
    raw.produce(topic, batch_of([b"v"]))
    for each in readers:
        assert each.receive().responses[0].partitions[0].records
    assert monotonic() - started < SOON_S


def test_librdkafka_gets_it_at_once(broker: BrokerProcess, topic: str, pool: ThreadPoolExecutor) -> None:
    driver = Confluent(broker.bootstrap)
    consumer = driver.consumer(**{"fetch.wait.max.ms": LONG_MS})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    driver.produce(topic, [Message(b"0")])
    assert consumer.poll(30).value() == b"0"
    for number in range(1, 6):
        next_one = pool.submit(consumer.poll, 30)
        started = monotonic()
        driver.produce(topic, [Message(b"%d" % number)])
        assert next_one.result().value() == b"%d" % number
        assert monotonic() - started < SOON_S
    consumer.close()
