"""ListOffsets: the first, the last, the newest, and the first that is not older than a time."""

import pytest

from kafpy.protocol import api
from tests.clients.raw import RawClient, batch_of

NOW = 1_700_000_000_000
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = range(-1, -6, -1)
VERSIONS = range(1, 12)
NOTHING = (0, -1, -1)


def found(raw: RawClient, topic: str, timestamp: int, version: int = 10) -> tuple[int, int, int]:
    answer = raw.offset(topic, timestamp, version=version)
    return answer.error_code, answer.offset, answer.timestamp


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_partition(raw: RawClient, topic: str, version: int) -> None:
    assert found(raw, topic, LATEST, version) == (0, 0, -1)
    assert found(raw, topic, EARLIEST, version) == (0, 0, -1)
    assert found(raw, topic, NOW, version) == NOTHING
    assert found(raw, topic, 0, version) == NOTHING
    assert found(raw, topic, MAX_TIMESTAMP, version) == (NOTHING if version >= 7 else (35, -1, -1))
    assert found(raw, topic, EARLIEST_LOCAL, version) == ((0, 0, -1) if version >= 8 else (35, -1, -1))
    assert found(raw, topic, LATEST_TIERED, version) == (NOTHING if version >= 9 else (35, -1, -1))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_with_records(raw: RawClient, topic: str, version: int) -> None:
    raw.produce(topic, batch_of([b"a", b"b", b"c"], timestamps=[NOW, NOW + 20, NOW + 10]))
    assert found(raw, topic, LATEST, version) == (0, 3, -1)
    assert found(raw, topic, EARLIEST, version) == (0, 0, -1)
    assert found(raw, topic, NOW + 5, version) == (0, 1, NOW + 20)
    assert found(raw, topic, NOW + 21, version) == NOTHING
    assert found(raw, topic, MAX_TIMESTAMP, version) == ((0, 1, NOW + 20) if version >= 7 else (35, -1, -1))


@pytest.mark.parametrize("codec", range(5), ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_times_inside_batches(raw: RawClient, topic: str, codec: int) -> None:
    for start in (0, 100, 200):
        times = [NOW + number for number in range(start, start + 100)]
        raw.produce(topic, batch_of([b"v"] * 100, timestamps=times, codec=codec))
    for offset in (0, 1, 99, 100, 150, 299):
        assert found(raw, topic, NOW + offset) == (0, offset, NOW + offset)
    assert found(raw, topic, MAX_TIMESTAMP) == (0, 299, NOW + 299)
    raw.produce(topic, batch_of([b"late"], timestamps=NOW + 50, codec=codec))
    assert found(raw, topic, NOW + 50) == (0, 50, NOW + 50)
    assert found(raw, topic, MAX_TIMESTAMP) == (0, 299, NOW + 299)


@pytest.mark.parametrize("codec", range(5), ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_batch_that_does_not_say_how_new_it_is(raw: RawClient, topic: str, codec: int) -> None:
    """Sarama leaves -1 in the header's maximum; Kafka works it out (LogValidator)."""
    from kafpy._core import batch

    sound = batch_of([b"a", b"b"], timestamps=[NOW, NOW + 5], codec=codec)
    untimed = batch.rebuild(batch.header(sound)._replace(max_timestamp=-1), codec, sound[61:])
    for number in range(3):
        assert raw.produce(topic, untimed).base_offset == number * 2
    assert batch.header(raw.fetch(topic).records).max_timestamp == NOW + 5
    assert found(raw, topic, NOW + 1) == (0, 1, NOW + 5)


@pytest.mark.parametrize("codec", [0, 3], ids=["none", "lz4"])
def test_sequences_without_a_producer(raw: RawClient, topic: str, codec: int) -> None:
    """KafkaJS leaves zeros in epoch and sequence."""
    records = batch_of([b"a"], codec=codec, producer_epoch=0, base_sequence=0)
    assert [raw.produce(topic, records).base_offset for _ in range(3)] == [0, 1, 2]


def test_over_segments(raw: RawClient, name: str) -> None:
    raw.create(name, configs={"segment.bytes": "1048576"})
    for number in range(40):
        raw.produce(
            name, batch_of([b"x" * 50_000, b"y" * 50_000], timestamps=[NOW + number * 10, NOW + number * 10 + 5])
        )
    for offset in range(80):
        assert found(raw, name, NOW + offset * 5) == (0, offset, NOW + offset * 5)
    assert found(raw, name, LATEST) == (0, 80, -1)


def test_unknown_ones(raw: RawClient, topic: str) -> None:
    assert found(raw, "no-such-topic", LATEST)[0] == 3
    assert raw.offset(topic, LATEST, partition=1).error_code == 3
    assert found(raw, topic, -7)[0] == 35


def marks(raw: RawClient, topic: str, every: int, version: int = 10) -> list[tuple[int, int]]:
    request = api.LIST_OFFSETS.request
    part = request.Partition(partition_index=0, timestamp=EARLIEST, mark_every=every)
    body = request(replica_id=-1, topics=[request.Topic(name=topic, partitions=[part])])
    answer = raw.call(api.LIST_OFFSETS, version, body).topics[0].partitions[0]
    assert (answer.error_code, answer.offset) == (0, 0)
    return [(each.offset, each.position) for each in answer.marks]


def test_marks_for_who_asks(raw: RawClient, topic: str) -> None:
    for _ in range(40):
        raw.produce(topic, batch_of([bytes(5000)] * 2))
    found = marks(raw, topic, 100_000)
    assert [offset % 2 for offset, _ in found] == [0] * len(found)
    assert len(found) == 3
    assert marks(raw, topic, 1) == marks(raw, topic, 1 << 16), "not nearer than that"
    assert marks(raw, topic, 0) == marks(raw, topic, -1) == []
    assert marks(raw, topic, 100_000, version=5) == [], "it takes tagged fields"
