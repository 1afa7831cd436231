"""The broker's clock moves on, and all that goes by it follows; connections stay."""

import time

import confluent_kafka
import pytest

import kafpy
from kafpy._core import batch
from kafpy.client.cluster import Cluster
from kafpy.client.groups import Groups
from kafpy.protocol import api
from tests.clients.raw import RawClient, fetch_request
from tests.embedded.test_broker import put, values


@pytest.fixture
def client(broker: kafpy.Broker):  # type: ignore[no-untyped-def]
    with RawClient("127.0.0.1", broker.port) as client:
        yield client


def join(client: RawClient, session_ms: int) -> str:
    """A classic group's only member, which never beats."""
    request = api.JOIN_GROUP.request
    body = request(
        group_id="g",
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=session_ms,
        member_id="",
        protocol_type="consumer",
        protocols=[request.Protocol(name="range", metadata=b"")],
    )
    while True:
        answer = client.call(api.JOIN_GROUP, 3, body)
        if answer.error_code not in (14, 15, 16):
            assert answer.error_code == 0
            return str(answer.member_id)


def members(client: RawClient) -> int:
    answer = client.call(api.DESCRIBE_GROUPS, 5, api.DESCRIBE_GROUPS.request(groups=["g"]))
    return len(answer.groups[0].members)


def test_eight_days_later_records_are_gone(broker: kafpy.Broker) -> None:
    broker.create_topic("t")
    put(broker, "t", b"a", b"b")
    broker.clock.advance("6d")
    assert values(broker, "t") == [b"a", b"b"]
    broker.clock.advance("2d")
    assert values(broker, "t") == []
    put(broker, "t", b"c")
    assert broker.records("t")[0].offset == 2
    assert abs(broker.clock.now_ms - 8 * 86_400_000 - time.time_ns() // 1_000_000) < 60_000


def test_a_member_that_is_silent_leaves_its_group(broker: kafpy.Broker, client: RawClient) -> None:
    find = api.FIND_COORDINATOR.request
    client.call(api.FIND_COORDINATOR, 3, find(key="g", key_type=0))
    join(client, 45_000)
    broker.clock.advance("40s")
    assert members(client) == 1
    broker.clock.advance("6s")
    assert members(client) == 0


def test_a_fetch_stops_waiting(broker: kafpy.Broker, client: RawClient) -> None:
    broker.create_topic("t")
    client.send((api.FETCH, 12, fetch_request({"t": {0: 0}}, wait_ms=3_600_000)))
    assert client.quiet(0.05)
    broker.clock.advance("2h")
    while client.quiet(1):  # it may have arrived after that
        broker.clock.advance("2h")
    assert client.receive().responses[0].partitions[0].records in (b"", None)


def test_idle_connections_stay(broker: kafpy.Broker, client: RawClient) -> None:
    broker.clock.advance("30d")
    assert client.metadata().brokers[0].port == broker.port


def test_offsets_of_a_group_that_is_gone(broker: kafpy.Broker) -> None:
    broker.create_topic("t", configs={"retention.ms": -1})
    put(broker, "t", b"a")
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["t"])
    assert len(consumer.consume(1, 60)) == 1
    consumer.commit(asynchronous=False)
    consumer.close()
    with Cluster(broker.bootstrap_servers) as cluster:
        groups = Groups(cluster)
        assert [each.group_id for each in groups.list()] == ["g"]
        broker.clock.advance("6d")
        assert [each.group_id for each in groups.list()] == ["g"]
        broker.clock.advance("2d")
        assert groups.list() == []


def test_a_consumer_goes_on_after_a_month(broker: kafpy.Broker) -> None:
    """Its session was over; it joins its group again and misses nothing."""
    broker.create_topic("t", configs={"retention.ms": -1})
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 200,
        }
    )
    consumer.subscribe(["t"])
    put(broker, "t", b"a")
    assert [each.value() for each in consumer.consume(1, 60)] == [b"a"]
    broker.clock.advance("30d")
    put(broker, "t", b"b")
    found: list[bytes | None] = []
    while b"b" not in found:
        found += [each.value() for each in consumer.consume(1, 60)]
    consumer.close()


def test_append_time_is_the_brokers(broker: kafpy.Broker) -> None:
    broker.create_topic("t", configs={"message.timestamp.type": "LogAppendTime"})
    broker.clock.advance("365d")
    with RawClient("127.0.0.1", broker.port) as client:
        client.produce("t", batch.encode([b"a"], timestamps=1))
    assert abs(broker.records("t")[0].timestamp - broker.clock.now_ms) < 60_000
