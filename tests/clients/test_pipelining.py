"""Several requests in flight on one connection: answers in order, appends in order, whichever way each one takes."""

from collections.abc import Callable

import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.drivers import Confluent, Message
from tests.clients.raw import RawClient, batch_of, fetch_request, opened, produce_request

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
SLOW = bytes(8 << 20)
"""Packs small, and takes a while to open."""


def five(first: int, others: int, start: int) -> list[bytes]:
    """Batches numbered from `start`; the first one is much work to open if it is compressed."""
    values: list[list[bytes | None]] = [
        [b"%d" % number, SLOW if number == start and first else b""] for number in range(start, start + 5)
    ]
    return [batch_of(each, codec=others if index else first) for index, each in enumerate(values)]


def send_pipelined(raw: RawClient, topic: str, batches: list[bytes]) -> list[int]:
    raw.send(*((api.PRODUCE, 9, produce_request(topic, {0: records})) for records in batches))
    answers = [raw.receive().responses[0].partition_responses[0] for _ in batches]
    assert [answer.error_code for answer in answers] == [0] * len(batches)
    return [answer.base_offset for answer in answers]


@pytest.mark.parametrize(
    ("configs", "first", "others"),
    [
        pytest.param({}, NONE, NONE, id="native"),
        pytest.param({}, GZIP, NONE, id="compressed-but-not-opened"),
        pytest.param({"kafpy.validate.compressed": "true"}, GZIP, NONE, id="first-is-validated"),
        pytest.param({"kafpy.validate.compressed": "true"}, ZSTD, ZSTD, id="all-are-validated"),
        pytest.param({"compression.type": "lz4"}, GZIP, LZ4, id="first-is-recompressed"),
        pytest.param({"compression.type": "uncompressed"}, LZ4, NONE, id="first-is-unpacked"),
        pytest.param({"compression.type": "zstd"}, NONE, ZSTD, id="first-is-packed"),
    ],
)
def test_five_in_flight_stay_in_order(
    raw: RawClient, name: str, configs: dict[str, str], first: int, others: int
) -> None:
    raw.create(name, configs={**configs, "max.message.bytes": "20000000"})
    for round_ in range(4):
        offsets = send_pipelined(raw, name, five(first, others, round_ * 5))
        assert offsets == [round_ * 10 + number * 2 for number in range(5)]
    assert [value for value in raw.values(name) if value and value != SLOW] == [b"%d" % number for number in range(20)]
    target = {"lz4": LZ4, "zstd": ZSTD, "uncompressed": NONE}.get(configs.get("compression.type", ""), first)
    assert raw.fetch(name, partition_max_bytes=1).records[22] & 7 == target


def test_an_error_in_the_middle_stops_nothing(raw: RawClient, name: str) -> None:
    raw.create(name, configs={"kafpy.validate.compressed": "true"})
    batches = five(GZIP, NONE, 0)
    batches[2] = batches[2][:-1] + b"\x55"
    raw.send(*((api.PRODUCE, 9, produce_request(name, {0: records})) for records in batches))
    answers = [raw.receive().responses[0].partition_responses[0] for _ in batches]
    assert [(answer.error_code, answer.base_offset) for answer in answers] == [(0, 0), (0, 2), (2, -1), (0, 4), (0, 6)]


def test_other_requests_in_between(raw: RawClient, name: str) -> None:
    raw.create(name, configs={"kafpy.validate.compressed": "true"})
    first, second, *_ = five(GZIP, NONE, 0)
    metadata = api.METADATA.request(topics=[api.METADATA.request.Topic(name=name)])
    raw.send(
        (api.PRODUCE, 9, produce_request(name, {0: first})),
        (api.METADATA, 12, metadata),
        (api.FETCH, 12, fetch_request({name: {0: 0}}, wait_ms=10_000)),
        (api.API_VERSIONS, 0, api.API_VERSIONS.request()),
        (api.PRODUCE, 9, produce_request(name, {0: second})),
    )
    assert raw.receive().responses[0].partition_responses[0].base_offset == 0
    assert raw.receive().topics[0].name == name
    assert raw.receive().responses[0].partitions[0].error_code == 0
    assert raw.receive().api_keys
    assert raw.receive().responses[0].partition_responses[0].base_offset == 2


def test_a_thousand_in_flight(raw: RawClient, topic: str) -> None:
    raw.send(*((api.PRODUCE, 9, produce_request(topic, {0: batch_of([b"%d" % number])})) for number in range(1000)))
    assert [raw.receive().responses[0].partition_responses[0].base_offset for _ in range(1000)] == list(range(1000))
    assert raw.values(topic) == [b"%d" % number for number in range(1000)]


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("configs", [{}, {"compression.type": "lz4"}], ids=["native", "recompressed"])
def test_librdkafka_with_five_in_flight(
    broker: BrokerProcess, raw: RawClient, name: str, idempotent: bool, configs: dict[str, str]
) -> None:
    raw.create(name, configs=configs)
    sent = [Message(b"%d" % number) for number in range(3000)]
    more = {"enable.idempotence": idempotent, "max.in.flight": 5, "batch.num.messages": 20, "linger.ms": 0}
    assert Confluent(broker.bootstrap).produce(name, sent, codec="gzip", **more) == list(range(3000))
    assert raw.values(name) == [each.value for each in sent]


def test_two_connections_do_not_wait_for_each_other(
    broker: BrokerProcess, raw: RawClient, connect: Callable[[BrokerProcess], RawClient], name: str
) -> None:
    raw.create(name, configs={"kafpy.validate.compressed": "true"})
    slow, *_ = five(GZIP, NONE, 0)
    other = connect(broker)
    raw.send((api.PRODUCE, 9, produce_request(name, {0: slow})))
    assert other.produce(name, batch_of([b"quick"])).error_code == 0
    assert raw.receive().responses[0].partition_responses[0].error_code == 0
    assert sorted(opened(raw.fetch(name).records).offsets.tolist()) == [0, 1, 2]
