"""Topics that come by themselves, go, and come again under a new id, while clients use them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import confluent_kafka
import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.drivers import Confluent, Message, Refused
from tests.clients.raw import RawClient, batch_of, fetch_request, produce_request

UNKNOWN, INVALID_NAME, UNKNOWN_ID = 3, 17, 100
Connect = Callable[[BrokerProcess], RawClient]


def delete(raw: RawClient, name: str) -> None:
    request = api.DELETE_TOPICS.request(topic_names=[name], timeout_ms=10_000)
    assert raw.call(api.DELETE_TOPICS, 5, request).responses[0].error_code == 0


def test_metadata_makes_topics_where_it_is_asked_to(raw: RawClient, name: str) -> None:
    assert raw.metadata(name).topics[0].error_code == UNKNOWN
    made = raw.metadata(name, create=True).topics[0]
    if made.error_code:  # Kafka, too, may answer before the topic is there
        made = raw.metadata(name).topics[0]
    assert (made.error_code, len(made.partitions)) == (0, 3)
    assert raw.produce(name, batch_of([b"v"]), partition=2).error_code == 0
    assert raw.metadata("not/a/name", create=True).topics[0].error_code == INVALID_NAME


def test_ten_ask_for_the_same_new_topic(broker: BrokerProcess, connect: Connect, raw: RawClient, name: str) -> None:
    clients = [connect(broker) for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda client: client.metadata(name, create=True), clients))
    ids = {bytes(client.metadata(name).topics[0].topic_id) for client in clients}
    assert len(ids) == 1
    assert raw.produce(ids.pop(), batch_of([b"v"])).base_offset == 0


@pytest.fixture
def strict_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data", auto_create_topics_enable="false")
    yield process
    process.kill()


def test_no_topics_by_themselves(strict_broker: BrokerProcess, connect: Connect) -> None:
    raw = connect(strict_broker)
    assert raw.metadata("t", create=True).topics[0].error_code == UNKNOWN
    with pytest.raises(Refused) as refused:
        Confluent(strict_broker.bootstrap).produce("t", [Message(b"v")], **{"topic.metadata.propagation.max.ms": 100})
    assert refused.value.code in (UNKNOWN, confluent_kafka.KafkaError._UNKNOWN_TOPIC)


def test_a_topic_made_again_is_another_one(raw: RawClient, name: str) -> None:
    first = raw.create(name)
    raw.produce(name, batch_of([b"old"]))
    delete(raw, name)
    assert raw.produce(name, batch_of([b"v"])).error_code == UNKNOWN
    assert raw.produce(first, batch_of([b"v"])).error_code == UNKNOWN_ID
    assert raw.fetch(name).error_code == UNKNOWN
    second = raw.create(name)
    assert second != first
    assert raw.produce(first, batch_of([b"v"])).error_code == UNKNOWN_ID
    assert raw.fetch(first).error_code == UNKNOWN_ID
    assert raw.produce(second, batch_of([b"new"])).base_offset == 0
    assert raw.values(name) == [b"new"]


@pytest.mark.parametrize("by_id", [False, True], ids=["by-name", "by-id"])
def test_who_waits_on_a_topic_hears_of_its_end(
    broker: BrokerProcess, connect: Connect, raw: RawClient, name: str, by_id: bool
) -> None:
    topic_id = raw.create(name)
    reader = connect(broker)
    topic = topic_id if by_id else name
    reader.send((api.FETCH, 13 if by_id else 12, fetch_request({topic: {0: 0}}, wait_ms=10_000)))
    assert reader.quiet(0.05)
    started = monotonic()
    delete(raw, name)
    assert reader.receive().responses[0].partitions[0].error_code == (UNKNOWN_ID if by_id else UNKNOWN)
    assert monotonic() - started < 1


def test_deleted_while_in_use(broker: BrokerProcess, connect: Connect, raw: RawClient, name: str) -> None:
    """Whatever the moment, each request gets an answer, and records go to one of the topics of that name."""
    raw.create(name, 4)
    writer = connect(broker)

    def write() -> set[int]:
        codes = set()
        for _ in range(60):
            request = produce_request(name, dict.fromkeys(range(4), batch_of([b"v"] * 10)))
            writer.send(*((api.PRODUCE, 9, request) for _ in range(5)))
            for _ in range(5):
                answer = writer.receive().responses[0].partition_responses
                codes |= {part.error_code for part in answer}
        return codes

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        for _ in range(5):
            delete(raw, name)
            raw.create(name, 4)
        assert written.result() <= {0, UNKNOWN}
    ends = [raw.offset(name, -1, partition=partition).offset for partition in range(4)]
    assert [len(raw.values(name, partition=partition)) for partition in range(4)] == ends
