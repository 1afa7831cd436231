import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from billing import Billing
from confluent_kafka import Producer

import kafpy


@pytest.fixture
def broker(kafpy_broker: kafpy.Broker) -> kafpy.Broker:
    kafpy_broker.create_topic("orders")
    kafpy_broker.create_topic("totals")
    return kafpy_broker


@contextmanager
def billing(broker: kafpy.Broker, **settings: str | int) -> Iterator[Billing]:
    service = Billing(broker.bootstrap_servers, **settings)
    try:
        yield service
    finally:
        service.close()


def order(broker: kafpy.Broker, *orders: tuple[str, int]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
    for customer, cents in orders:
        producer.produce("orders", json.dumps({"customer": customer, "cents": cents}))
    assert producer.flush(20) == 0


def take(service: Billing, count: int) -> None:
    deadline = time.monotonic() + 30
    while count > 0 and time.monotonic() < deadline:
        count -= service.run_once()
    assert count == 0


def totals(broker: kafpy.Broker) -> list[tuple[str, int]]:
    return [(record.key.decode(), int(record.value)) for record in broker.records("totals")]


@pytest.mark.kafpy_broker(num_partitions=1)
def test_totals(broker: kafpy.Broker) -> None:
    order(broker, ("ann", 100), ("bob", 250), ("ann", 50))
    with billing(broker) as service:
        take(service, 3)
    assert totals(broker) == [("ann", 100), ("bob", 250), ("ann", 150)]


def test_a_restart_goes_on_where_it_stopped(broker: kafpy.Broker) -> None:
    order(broker, ("ann", 100))
    with billing(broker) as service:
        take(service, 1)
    order(broker, ("ann", 11))
    with billing(broker) as service:
        take(service, 1)
    assert totals(broker) == [("ann", 100), ("ann", 111)]


def test_no_total_is_lost_on_a_bad_network(broker: kafpy.Broker) -> None:
    order(broker, ("ann", 1), ("ann", 2), ("ann", 3))
    with billing(broker) as service:
        broker.round_trip_time("20ms")
        broker.request_errors("Fetch", "NOT_LEADER_OR_FOLLOWER")
        broker.request_errors("Produce", "NOT_ENOUGH_REPLICAS", "DISCONNECT", "REQUEST_TIMED_OUT")
        take(service, 3)
        broker.broker_down()
        broker.broker_up()
        order(broker, ("ann", 4))
        take(service, 1)
    assert totals(broker) == [("ann", 1), ("ann", 3), ("ann", 6), ("ann", 10)]


def test_a_stalled_service_is_replaced(broker: kafpy.Broker) -> None:
    order(broker, ("ann", 5))
    with billing(broker, **{"session.timeout.ms": 45_000, "heartbeat.interval.ms": 40_000}) as stalled:
        take(stalled, 1)
        broker.clock.advance("46s")  # it has not been heard of for so long
        order(broker, ("bob", 7))
        with billing(broker) as service:
            take(service, 1)
    assert totals(broker) == [("ann", 5), ("bob", 7)]


def test_old_totals_go(broker: kafpy.Broker) -> None:
    order(broker, ("ann", 100))
    with billing(broker) as service:
        take(service, 1)
    broker.clock.advance("8d")
    assert totals(broker) == []
