"""Every version of Produce and Fetch that is served, by a client that speaks nothing else."""

import struct

import pytest

from kafpy.protocol import api
from tests.clients.raw import RawClient, batch_of, fetch_request, produce_request

PRODUCE_VERSIONS = range(3, 14)
FETCH_VERSIONS = range(4, 19)
GZIP, ZSTD = 1, 4


def stored(records: bytes, base_offset: int) -> bytes:
    """As the log has it: the offset and the leader's epoch are the broker's."""
    return struct.pack(">q", base_offset) + records[8:12] + struct.pack(">i", 0) + records[16:]


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_produce(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name, 2)
    topic = topic_id if version >= 13 else name
    batches = [batch_of([b"a", None, b"c"]), batch_of([b"d"] * 10, codec=GZIP, keys=[b"k"] * 10)]
    for acks in (1, -1):
        for records in batches:
            answer = raw.produce(topic, records, version=version, acks=acks)
            assert (answer.error_code, answer.log_append_time_ms) == (0, -1)
            assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert answer.base_offset == 16
    expected = [stored(batches[number % 2], offset) for number, offset in enumerate((0, 3, 13, 16))]
    assert raw.fetch(name).records == b"".join(expected)


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_produce_to_several_partitions_with_errors_in_between(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name, 3)
    records = batch_of([b"v"])
    torn = records[:-1] + b"\x55"
    request = produce_request(topic_id if version >= 13 else name, {0: records, 1: torn, 2: records, 3: records})
    (answer,) = raw.call(api.PRODUCE, version, request).responses
    assert answer.topic_id == topic_id if version >= 13 else answer.name == name
    found = [(part.index, part.error_code, part.base_offset) for part in answer.partition_responses]
    assert found == [(0, 0, 0), (1, 2, -1), (2, 0, 0), (3, 3, -1)]


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_zstd_is_known_since_7(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name)
    answer = raw.produce(topic_id if version >= 13 else name, batch_of([b"v" * 100], codec=ZSTD), version=version)
    assert answer.error_code == (76 if version < 7 else 0)


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_acks_0_is_not_answered(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name)
    topic = topic_id if version >= 13 else name
    silent = produce_request(topic, {0: batch_of([b"silent"])}, acks=0)
    raw.send((api.PRODUCE, version, silent), silent=True)
    assert raw.produce(topic, batch_of([b"loud"]), version=version).base_offset == 1
    torn = batch_of([b"v"])[:-1] + b"\x55"
    raw.send((api.PRODUCE, version, produce_request(topic, {0: torn}, acks=0)), silent=True)
    assert raw.closed(), "hanging up is the only way to tell"


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_fetch(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name, 2)
    topic = topic_id if version >= 13 else name
    small, large = batch_of([b"v"] * 10), batch_of([b"x" * 100_000], keys=[b"k"])
    raw.produce(name, small)
    raw.produce(name, large)
    answer = raw.call(api.FETCH, version, fetch_request({topic: {0: 0, 1: 0}}, session=(0, -1)))
    (found,) = answer.responses
    assert found.topic_id == topic_id if version >= 13 else found.topic == name
    full, empty = found.partitions
    assert full.records == stored(small, 0) + stored(large, 10)
    assert (empty.partition_index, empty.error_code, empty.records) == (1, 0, b"")
    assert (full.high_watermark, full.last_stable_offset) == (11, 11)
    assert full.log_start_offset == (0 if version >= 5 else -1)


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_fetch_in_the_middle_of_a_batch_and_with_bounds(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name)
    topic = topic_id if version >= 13 else name
    batches = [stored(batch_of([b"%d" % number] * 5), number * 5) for number in range(4)]
    for records in batches:
        raw.produce(name, stored(records, 0))
    assert raw.fetch(topic, 7, version=version).records == b"".join(batches[1:]), "the batch that has offset 7 is whole"
    bounded = raw.fetch(topic, 5, version=version, partition_max_bytes=1)
    assert bounded.records == batches[1], "one whole batch at least"
    bounded = raw.fetch(topic, 5, version=version, max_bytes=1)
    assert bounded.records == batches[1]
    assert raw.fetch(topic, 20, version=version).records == b""
    for offset in (21, -1):
        refused = raw.fetch(topic, offset, version=version)
        assert (refused.error_code, refused.high_watermark, refused.records) == (1, -1, b"")


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_fetch_of_what_is_not_there(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name)
    no_partition = raw.fetch(topic_id if version >= 13 else name, partition=1, version=version)
    no_topic = raw.fetch(bytes(range(16)) if version >= 13 else "no-such-topic", version=version)
    assert (no_partition.error_code, no_topic.error_code) == (3, 100 if version >= 13 else 3)
    for part in (no_partition, no_topic):
        limits = (part.high_watermark, part.last_stable_offset, part.log_start_offset)
        assert (*limits, part.records, part.aborted_transactions) == (-1, -1, -1, b"", [])


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_fetch_knows_the_leaders_epoch(raw: RawClient, name: str, version: int) -> None:
    topic_id = raw.create(name)
    answer = raw.fetch(topic_id if version >= 13 else name, version=version, leader_epoch=3)
    assert answer.error_code == (75 if version >= 9 else 0)
