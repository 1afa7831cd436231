"""A batch that comes twice is kept once, for as many as five of them, also over restarts."""

from collections.abc import Callable

import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.drivers import DRIVERS, Message
from tests.clients.raw import RawClient, batch_of, produce_request

OUT_OF_ORDER, INVALID_EPOCH = 45, 47


class Producer:
    """An idempotent one, whose sequences a test chooses."""

    def __init__(self, raw: RawClient) -> None:
        self.id, self.epoch = raw.producer_id()

    def batch(self, sequence: int, count: int = 1, epoch: int = 0, codec: int = 0) -> bytes:
        values = [b"%d.%d" % (epoch, number) for number in range(sequence, sequence + count)]
        fields = {"producer_id": self.id, "producer_epoch": self.epoch + epoch, "base_sequence": sequence}
        return batch_of(values, codec=codec, **fields)


@pytest.fixture
def producer(raw: RawClient) -> Producer:
    return Producer(raw)


def sent(raw: RawClient, topic: str, records: bytes) -> tuple[int, int]:
    answer = raw.produce(topic, records)
    return answer.error_code, answer.base_offset


@pytest.mark.parametrize("codec", [0, 3], ids=["plain", "lz4"])
def test_a_retry_keeps_one_copy(raw: RawClient, producer: Producer, topic: str, codec: int) -> None:
    first, second = producer.batch(0, 3, codec=codec), producer.batch(3, 2, codec=codec)
    assert [sent(raw, topic, records) for records in (first, second, first, second)] == [(0, 0), (0, 3), (0, 0), (0, 3)]
    assert raw.values(topic) == [b"0.%d" % number for number in range(5)]


def test_the_last_five_are_remembered(raw: RawClient, producer: Producer, topic: str) -> None:
    for sequence in range(6):
        assert sent(raw, topic, producer.batch(sequence)) == (0, sequence)
    for sequence in range(1, 6):
        assert sent(raw, topic, producer.batch(sequence)) == (0, sequence)
    assert sent(raw, topic, producer.batch(0)) == (OUT_OF_ORDER, -1)
    assert sent(raw, topic, producer.batch(7)) == (OUT_OF_ORDER, -1)
    assert sent(raw, topic, producer.batch(6)) == (0, 6)


def test_retries_within_one_write(raw: RawClient, producer: Producer, topic: str) -> None:
    batches = [producer.batch(sequence) for sequence in (0, 1, 0, 1, 2, 2)]
    raw.send(*((api.PRODUCE, 9, produce_request(topic, {0: records})) for records in batches))
    answers = [raw.receive().responses[0].partition_responses[0] for _ in batches]
    assert [(answer.error_code, answer.base_offset) for answer in answers] == [(0, at) for at in (0, 1, 0, 1, 2, 2)]
    assert raw.values(topic) == [b"0.0", b"0.1", b"0.2"]


def test_a_gap_refuses_what_follows_it(raw: RawClient, producer: Producer, topic: str) -> None:
    batches = [producer.batch(sequence) for sequence in (0, 2, 3, 1)]
    raw.send(*((api.PRODUCE, 9, produce_request(topic, {0: records})) for records in batches))
    answers = [raw.receive().responses[0].partition_responses[0] for _ in batches]
    assert [answer.error_code for answer in answers] == [0, OUT_OF_ORDER, OUT_OF_ORDER, 0]
    assert {answer.log_start_offset for answer in answers} == {0}, "as Kafka tells it with these errors, too"


def test_epochs(raw: RawClient, producer: Producer, topic: str) -> None:
    assert sent(raw, topic, producer.batch(0)) == (0, 0)
    assert sent(raw, topic, producer.batch(5, epoch=1)) == (OUT_OF_ORDER, -1), "a new epoch starts from 0"
    assert sent(raw, topic, producer.batch(0, epoch=1)) == (0, 1)
    assert sent(raw, topic, producer.batch(1)) == (INVALID_EPOCH, -1)


def test_partitions_have_sequences_of_their_own(raw: RawClient, producer: Producer, name: str) -> None:
    raw.create(name, 2)
    for partition in (0, 1):
        assert raw.produce(name, producer.batch(0), partition=partition).base_offset == 0


def test_a_retry_on_another_connection(
    raw: RawClient, broker: BrokerProcess, connect: Callable[[BrokerProcess], RawClient], producer: Producer, topic: str
) -> None:
    for _ in range(8):
        assert sent(connect(broker), topic, producer.batch(0, 4)) == (0, 0)
    assert len(raw.values(topic)) == 4


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
def test_a_retry_after_a_restart(
    own_broker: BrokerProcess, connect: Callable[[BrokerProcess], RawClient], crash: bool
) -> None:
    raw = connect(own_broker)
    raw.create("t")
    producer = Producer(raw)
    for sequence in range(3):
        sent(raw, "t", producer.batch(sequence))
    own_broker.restart(crash=crash)
    raw = connect(own_broker)
    assert sent(raw, "t", producer.batch(2)) == (0, 2)
    assert sent(raw, "t", producer.batch(4)) == (OUT_OF_ORDER, -1)
    assert sent(raw, "t", producer.batch(3)) == (0, 3)
    assert Producer(raw).id > producer.id, "ids are never given twice"


@pytest.mark.parametrize("client", DRIVERS)
def test_idempotent_clients(broker: BrokerProcess, raw: RawClient, topic: str, client: str) -> None:
    names = {"confluent-kafka": "enable.idempotence"}
    messages = [Message(b"%d" % number) for number in range(500)]
    switched_on = {names.get(client, "enable_idempotence"): True}
    assert DRIVERS[client](broker.bootstrap).produce(topic, messages, **switched_on) == list(range(500))
    assert raw.values(topic) == [each.value for each in messages]
    assert int.from_bytes(raw.fetch(topic).records[43:51], "big", signed=True) >= 0, "it has a producer id"
