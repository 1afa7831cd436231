"""What goes in comes out: every Python client, codec and kind of record."""

from time import time

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.drivers import CODECS, DRIVERS, Confluent, Driver, Message, Read, Refused
from tests.clients.raw import RawClient, codecs_of

NOW = 1_700_000_000_000
MESSAGES = [
    Message(b"v", b"k", timestamp=NOW),
    Message(b"no key", None, timestamp=NOW + 7),
    Message(None, b"tombstone", timestamp=NOW + 3),
    Message(b"", b"", timestamp=NOW + 1),
    Message(b"with headers", b"h", (("a", b"1"), ("a", b"again"), ("empty", b""), ("ü", b"\xff"))),
    *(Message(b"filler %d" % number * 20, b"%d" % number, timestamp=NOW + number) for number in range(200)),
]


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, broker: BrokerProcess) -> Driver:
    return DRIVERS[request.param](broker.bootstrap)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(driver: Driver, raw: RawClient, topic: str, codec: str) -> None:
    offsets = driver.produce(topic, MESSAGES, codec=codec)
    assert offsets == list(range(len(MESSAGES)))
    assert driver.consume(topic, len(MESSAGES)) == [Read(index, each) for index, each in enumerate(MESSAGES)]
    assert CODECS.index(codec) in codecs_of(raw.fetch(topic).records), "the client did compress"


def test_nulls(broker: BrokerProcess, topic: str) -> None:
    """Such records only librdkafka sends."""
    sent = [Message(None, None), Message(None, None, (("null", None),))]
    librdkafka = Confluent(broker.bootstrap)
    librdkafka.produce(topic, sent)
    for kind in DRIVERS.values():
        assert [each.message for each in kind(broker.bootstrap).consume(topic, 2)] == sent


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks(driver: Driver, topic: str, acks: str) -> None:
    sent = [Message(b"%d" % number) for number in range(50)]
    offsets = driver.produce(topic, sent, acks=acks)
    assert acks == "0" or offsets == list(range(50))
    assert [each.message for each in driver.consume(topic, 50)] == sent


def test_clients_read_each_other(broker: BrokerProcess, topic: str) -> None:
    drivers = [kind(broker.bootstrap) for kind in DRIVERS.values()]
    sent = []
    for number, (writer, codec) in enumerate((writer, codec) for codec in CODECS[1:] for writer in drivers):
        sent.append(Message(b"%d" % number * 100))
        assert writer.produce(topic, sent[-1:], codec=codec) == [number]
    for reader in drivers:
        assert [each.message for each in reader.consume(topic, len(sent))] == sent


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_sizes_from_1_byte_to_1_megabyte(driver: Driver, topic: str, codec: str) -> None:
    sent = [
        Message(bytes(range(256)) * (size // 256) + bytes(size % 256)) for size in (1, 100, 4_095, 65_536, 1_000_000)
    ]
    assert driver.produce(topic, sent, codec=codec) == list(range(len(sent)))
    assert [each.message for each in driver.consume(topic, len(sent))] == sent


def test_too_large(driver: Driver, topic: str) -> None:
    with pytest.raises(Refused) as refused:
        driver.produce(topic, [Message(bytes(1_048_588))])
    assert refused.value.code == 10
    assert driver.produce(topic, [Message(b"fits")]) == [0]


def test_fifty_partitions(driver: Driver, raw: RawClient, name: str) -> None:
    raw.create(name, 50)
    sent = [Message(b"%d" % number, partition=number % 50) for number in range(500)]
    assert driver.produce(name, sent) == [number // 50 for number in range(500)]
    for partition in (0, 7, 49):
        assert [each.message for each in driver.consume(name, 10, partition=partition)] == sent[partition::50]


def test_log_append_time(driver: Driver, raw: RawClient, name: str) -> None:
    raw.create(name, configs={"message.timestamp.type": "LogAppendTime"})
    before = int(time() * 1000)
    driver.produce(name, [Message(b"plain", timestamp=5)])
    driver.produce(name, [Message(b"packed", timestamp=5)], codec="gzip")
    found = driver.consume(name, 2)
    assert [each.message.value for each in found] == [b"plain", b"packed"]
    assert all(before <= each.message.timestamp <= int(time() * 1000) for each in found)


@pytest.mark.parametrize("codec", CODECS)
def test_seek_by_offset_and_time(driver: Driver, topic: str, codec: str) -> None:
    sent = [Message(b"%d" % number, timestamp=NOW + number * 10) for number in range(100)]
    driver.produce(topic, sent, codec=codec)
    assert driver.offsets_for_time(topic, NOW + 425) == (43, 0, 100)
    assert driver.offsets_for_time(topic, NOW + 430) == (43, 0, 100)
    assert driver.offsets_for_time(topic, 0) == (0, 0, 100)
    assert driver.offsets_for_time(topic, NOW + 991) == (None, 0, 100)
    assert driver.consume(topic, 3, offset=43) == [Read(offset, sent[offset]) for offset in (43, 44, 45)]


def test_topics_make_themselves(driver: Driver, raw: RawClient, name: str) -> None:
    assert driver.produce(name, [Message(b"first")]) == [0]
    assert driver.consume(name, 1)[0].message.value == b"first"
    assert len(raw.metadata(name).topics[0].partitions) == 3, "num.partitions"
