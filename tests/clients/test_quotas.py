"""Quotas set over the wire and met by real clients: throttled, never refused, and nothing lost."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of, produce_request


@pytest.fixture(scope="module", params=[1, 3], ids=["1 plane", "3 planes"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    made = BrokerProcess(tmp_path_factory.mktemp("quotas") / "data", num_network_threads=request.param)
    yield made
    made.stop()


def limit(broker: BrokerProcess, client_id: str, **values: float) -> None:
    request = api.ALTER_CLIENT_QUOTAS.request
    entity = [request.Entity(entity_type="client-id", entity_name=client_id)]
    ops = [request.Op(key=key, value=value) for key, value in values.items()]
    with RawClient(broker.host, broker.port) as client:
        body = request(entries=[request.Entry(entity=entity, ops=ops)])
        assert client.call(api.ALTER_CLIENT_QUOTAS, 1, body).entries[0].error_code == 0


def throttles(stats: list[str]) -> bool:
    seen = [each["throttle"]["max"] for text in stats for each in json.loads(text)["brokers"].values()]
    return any(seen)


ONE_TURN = 256 << 10  # what a plane takes from one connection before it looks at quotas again


@pytest.mark.parametrize(
    ("in_flight", "leave"), [(1, 20_000), (1_000, ONE_TURN + 20_000)], ids=["one by one", "pipelined"]
)
def test_a_producer_is_slowed_down(broker: BrokerProcess, in_flight: int, leave: int) -> None:
    """L-03 with librdkafka: what is above the burst takes its time, and every record arrives."""
    topic = client_id = f"slow-{in_flight}"
    limit(broker, client_id, producer_byte_rate=200_000)
    stats: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "client.id": client_id,
            "batch.size": 20_000,
            "max.in.flight": in_flight,
            "statistics.interval.ms": 200,
            "stats_cb": stats.append,
        }
    )
    failed: list[object] = []
    started = time.monotonic()
    for number in range(100):
        producer.produce(topic, bytes(10_000), str(number), on_delivery=lambda error, _: error and failed.append(error))
    assert producer.flush(60) == 0
    took = time.monotonic() - started
    assert not failed
    assert throttles(stats)
    # The floor holds on any machine: a quota is a bound from above. What came last is not waited for.
    assert (1_000_000 - leave) / took <= 1.05 * 200_000 + 2 * 200_000 / took
    with RawClient(broker.host, broker.port) as client:
        assert len(client.values(topic)) == 100


def test_a_consumer_is_slowed_down(broker: BrokerProcess) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create("read")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.size": 20_000})
    for number in range(100):
        producer.produce("read", bytes(10_000), str(number))
    assert producer.flush(60) == 0
    limit(broker, "reader", consumer_byte_rate=300_000)
    settings = {"bootstrap.servers": broker.bootstrap, "client.id": "reader", "group.id": "none"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.assign([TopicPartition("read", 0, 0)])
    keys: list[bytes] = []
    started = time.monotonic()
    while len(keys) < 100 and time.monotonic() < started + 60:
        message = consumer.poll(1)
        if message is not None:
            assert message.error() is None
            keys.append(message.key())
    took = time.monotonic() - started
    consumer.close()
    assert keys == [str(number).encode() for number in range(100)]
    assert (1_000_000 - 20_000) / took <= 1.05 * 300_000 + 2 * 300_000 / took


def test_quotas_survive_a_restart(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    limit(broker, "raw", producer_byte_rate=10)
    broker.restart(crash=True)
    with RawClient(broker.host, broker.port) as client:
        client.create("t")
        answer = client.call(api.PRODUCE, 9, produce_request("t", {0: batch_of([bytes(1000)])}))
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert answer.throttle_time_ms > 60_000
    broker.stop()
