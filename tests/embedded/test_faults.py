"""Faults on a real broker, seen by raw requests and by clients that have to live with them."""

import socket
import time
from typing import Any

import confluent_kafka
import pytest

import kafpy
from kafpy._core import batch
from kafpy.broker.fault_answers import fault_answer
from kafpy.protocol import api, codec
from kafpy.protocol.errors import ErrorCode
from kafpy.protocol.program import Message
from kafpy.protocol.schema import Field
from tests.clients.raw import RawClient, fetch_request, produce_request
from tests.embedded.test_broker import put, values
from tests.protocol.filler import Filler

DATA = batch.encode([b"a"], timestamps=1)
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.fixture
def client(broker: kafpy.Broker):  # type: ignore[no-untyped-def]
    broker.create_topic("t", 2)
    with RawClient("127.0.0.1", broker.port) as client:
        yield client


@pytest.mark.parametrize("version", [3, 9, 12])
def test_produce_fails_natively(broker: kafpy.Broker, client: RawClient, version: int) -> None:
    broker.request_errors("Produce", "NOT_LEADER_OR_FOLLOWER", 0, ErrorCode.REQUEST_TIMED_OUT)
    codes = []
    for _ in range(4):
        answer = client.call(api.PRODUCE, version, produce_request("t", {0: DATA, 1: DATA}))
        codes.append([each.error_code for each in answer.responses[0].partition_responses])
    assert codes == [[6, 6], [0, 0], [7, 7], [0, 0]]
    assert len(broker.records("t")) == 4


@pytest.mark.parametrize("version", [4, 11, 12])
def test_fetch_fails_natively(broker: kafpy.Broker, client: RawClient, version: int) -> None:
    client.produce("t", DATA)
    broker.request_errors("Fetch", "KAFKA_STORAGE_ERROR")
    request = fetch_request({"t": {0: 0, 1: 0}})
    failed, after = client.call(api.FETCH, version, request), client.call(api.FETCH, version, request)
    assert [each.error_code for each in failed.responses[0].partitions] == [56, 56]
    assert [each.error_code for each in after.responses[0].partitions] == [0, 0]
    assert after.responses[0].partitions[0].records


def test_a_session_that_waits_for_nothing_new_fails_too(broker: kafpy.Broker, client: RawClient) -> None:
    first = client.call(api.FETCH, 12, fetch_request({"t": {0: 0, 1: 0}}, session=(0, 0)))
    broker.request_errors("Fetch", NOT_LEADER)
    failed = client.call(api.FETCH, 12, fetch_request({}, session=(first.session_id, 1), wait_ms=5000))
    assert [each.error_code for each in failed.responses[0].partitions] == [6, 6]
    put(broker, "t", b"a")
    after = client.call(api.FETCH, 12, fetch_request({}, session=(first.session_id, 2), wait_ms=5000))
    shown = after.responses[0].partitions[0]
    assert (shown.error_code, bool(shown.records)) == (0, True)


def test_a_lost_session_is_told_in_the_head(broker: kafpy.Broker, client: RawClient) -> None:
    broker.request_errors("Fetch", "FETCH_SESSION_ID_NOT_FOUND")
    answer = client.call(api.FETCH, 12, fetch_request({"t": {0: 0}}))
    assert (answer.error_code, answer.responses) == (70, [])


def test_requests_that_python_answers(broker: kafpy.Broker, client: RawClient) -> None:
    broker.request_errors("ListOffsets", "LEADER_NOT_AVAILABLE")
    broker.request_errors("create_topics", "POLICY_VIOLATION")
    broker.request_errors(3, "UNKNOWN_TOPIC_OR_PARTITION")
    assert client.offset("t", -1).error_code == 5
    assert client.offset("t", -1).offset == 0
    request = api.CREATE_TOPICS.request
    answer = client.call(api.CREATE_TOPICS, 5, request(topics=[request.Topic(name="u", num_partitions=1)]))
    assert [(each.name, each.error_code) for each in answer.topics] == [("u", 44)]
    answer = client.metadata("t")
    assert [(each.name, each.error_code) for each in answer.topics] == [("t", 3)]
    assert [each.port for each in answer.brokers] == [broker.port]
    assert [each.name for each in client.metadata("t").topics] == ["t"]


def test_a_heartbeat_that_would_be_answered_by_heart(broker: kafpy.Broker, client: RawClient) -> None:
    from tests.embedded.test_clock import join

    find = api.FIND_COORDINATOR.request
    client.call(api.FIND_COORDINATOR, 3, find(key="g", key_type=0))
    member = join(client, 45_000)
    sync = api.SYNC_GROUP.request
    assigned = [sync.Assignment(member_id=member, assignment=b"")]
    body = sync(group_id="g", generation_id=1, member_id=member, assignments=assigned)
    assert client.call(api.SYNC_GROUP, 3, body).error_code == 0
    beat = api.HEARTBEAT.request(group_id="g", generation_id=1, member_id=member)

    def beats(count: int) -> list[int]:
        return [client.call(api.HEARTBEAT, 3, beat).error_code for _ in range(count)]

    assert beats(3) == [0, 0, 0]
    broker.request_errors("Heartbeat", "REBALANCE_IN_PROGRESS")
    assert beats(3) == [27, 0, 0]


def codes_in(answer: Any) -> set[int]:
    found: set[int] = set()
    if isinstance(answer, list):
        for each in answer:
            found |= codes_in(each)
    elif hasattr(answer, "__slots__"):
        for name in answer.__slots__:
            value = getattr(answer, name)
            found |= {value} if name == "error_code" else codes_in(value)
    return found


class OneOfEach(Filler):
    """No null, and one item in every array."""

    def field(self, message: Message, field: Field, version: int) -> Any:
        return [self.one(message, field, version)] if field.array else self.one(message, field, version)


@pytest.mark.parametrize(
    ("key", "version"),
    [(key, each) for key, spoken in api.ALL.items() for each in spoken.versions if key not in (0, 1)],
)
def test_every_request_can_fail(broker: kafpy.Broker, key: int, version: int) -> None:
    """One item in every array of the request; the code comes back in every version that has a place for it."""
    spoken = api.by_key(key)
    frame = codec.write_request(key, version, 1, "c", OneOfEach(1).message(spoken.request_message, version))
    _, body = codec.read_request(frame)

    class Here:
        frame, local_host, local_port, peer_host = b"", "127.0.0.1", broker.port, "127.0.0.1"

    answer = fault_answer(broker._state, Here(), key, body, 42)
    _, read = codec.read_response(key, version, codec.write_response(key, version, 1, answer))
    assert codes_in(read) - {0} == {42}


def test_what_is_no_fault(broker: kafpy.Broker) -> None:
    with pytest.raises(ValueError, match="no API 'Prodcue' is served here; there are AlterClientQuotas, "):
        broker.request_errors("Prodcue", 1)
    with pytest.raises(ValueError, match="did you mean 'NOT_COORDINATOR'"):
        broker.request_errors("Produce", "NOT_COORDINATO")
    with pytest.raises(ValueError, match="Kafka has no error code 4711"):
        broker.request_errors("Produce", 4711)


def test_codes_can_be_taken_back(broker: kafpy.Broker, client: RawClient) -> None:
    broker.request_errors("Produce", *[NOT_LEADER] * 3)
    broker.request_errors("Metadata", NOT_LEADER)
    broker.clear_request_errors("Produce")
    assert client.produce("t", DATA).error_code == 0
    broker.clear_request_errors()
    assert client.metadata("t").topics[0].error_code == 0


def test_hanging_up_instead_of_an_answer(broker: kafpy.Broker, client: RawClient) -> None:
    broker.request_errors("Produce", "DISCONNECT")
    client.send((api.PRODUCE, 9, produce_request("t", {0: DATA})))
    assert client.closed()
    assert values(broker, "t") == []
    put(broker, "t", b"b")


def test_round_trip_time(broker: kafpy.Broker, client: RawClient) -> None:
    broker.round_trip_time("120ms")
    for work in (lambda: client.produce("t", DATA), lambda: client.metadata("t"), lambda: client.fetch("t")):
        started = time.monotonic()
        work()
        assert time.monotonic() - started >= 0.119
    broker.round_trip_time("1s")
    started = time.monotonic()
    client.send(*[(api.PRODUCE, 9, produce_request("t", {0: DATA}))] * 60)
    for _ in range(60):
        client.receive()
    assert 0.999 <= time.monotonic() - started < 30, "replies wait together, not one after the other"
    broker.round_trip_time(0)
    broker.clock.advance("1d")
    client.produce("t", DATA)
    assert len(broker.records("t")) >= 1


def test_dropped_connections(broker: kafpy.Broker, client: RawClient) -> None:
    waiting = RawClient("127.0.0.1", broker.port)
    waiting.send((api.FETCH, 12, fetch_request({"t": {0: 0}}, wait_ms=60_000)))
    client.metadata("t")
    broker.drop_connections()
    assert client.closed()
    assert waiting.closed()
    waiting.close()
    put(broker, "t", b"a")


def test_down_and_up(broker: kafpy.Broker, client: RawClient) -> None:
    for _ in range(3):
        broker.broker_down()
        broker.broker_down()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", broker.port))
        broker.broker_up()
        broker.broker_up()
        put(broker, "t", b"a")
    assert client.closed()
    assert values(broker, "t") == [b"a"] * 3


def test_a_producer_lives_with_all_of_it(broker: kafpy.Broker) -> None:
    """Errors that may be tried again, lost connections, a broker that is away: each record is there once, in order."""
    broker.create_topic("t")
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "enable.idempotence": True,
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 5,
            "reconnect.backoff.max.ms": 20,
            "linger.ms": 0,
        }
    )
    broker.request_errors("InitProducerId", "COORDINATOR_LOAD_IN_PROGRESS")
    for number in range(30):
        producer.produce("t", b"%d" % number)
        producer.poll(0)
        if number == 5:
            broker.request_errors("Produce", "NOT_LEADER_OR_FOLLOWER", "DISCONNECT", "NOT_ENOUGH_REPLICAS")
        elif number == 10:
            broker.drop_connections()
        elif number == 20:
            broker.records("t", count=1)
            broker.broker_down()
            producer.poll(0.05)
            broker.broker_up()
    assert producer.flush(100) == 0
    assert values(broker, "t") == [b"%d" % number for number in range(30)]
