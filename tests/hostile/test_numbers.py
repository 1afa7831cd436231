"""Rows A and N: numbers and names that mean nothing good."""

import time
from pathlib import Path

import pytest

from kafpy.protocol import api, codec
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, fetch_request
from tests.hostile.conftest import Hostile, framed


@pytest.mark.parametrize("offset", [-1, -(2**63), 2**63 - 1, 1], ids=lambda offset: f"A1[{offset}]")
def test_offsets_outside(hostile: Hostile, witness: RawClient, offset: int) -> None:
    part = witness.fetch("quiet", offset)
    assert (part.error_code, part.high_watermark, part.records) == (1, -1, b"")


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1], ids=lambda size: f"A2[{size}]")
def test_sizes_of_a_fetch(hostile: Hostile, witness: RawClient, size: int) -> None:
    assert witness.fetch("witness", 0, max_bytes=size, partition_max_bytes=size).error_code == 0
    assert witness.fetch("witness", 0, min_bytes=size, wait_ms=1).error_code == 0


def test_a2_a_wait_for_ever_ends_with_its_client(hostile: Hostile, target: BrokerProcess) -> None:
    def descriptors() -> int:
        return len(list(Path(f"/proc/{target.pid}/fd").iterdir()))

    before = descriptors()
    for _ in range(50):
        with RawClient(target.host, target.port) as client:
            client.send((api.FETCH, 12, fetch_request({"quiet": {0: 0}}, wait_ms=2**31 - 1)))
    end = time.monotonic() + 30
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert descriptors() <= before


@pytest.mark.parametrize(("epoch", "code"), [(0, 0), (1, 75), (2**31 - 1, 75)], ids=lambda each: f"A3[{each}]")
def test_leader_epochs(hostile: Hostile, witness: RawClient, epoch: int, code: int) -> None:
    assert witness.fetch("witness", 0, leader_epoch=epoch).error_code == code


@pytest.mark.parametrize(("epoch", "code"), [(-1, 6), (0, 75)], ids=lambda each: f"A4[{each}]")
def test_a_client_that_says_it_is_a_follower(hostile: Hostile, witness: RawClient, epoch: int, code: int) -> None:
    request = fetch_request({"quiet": {0: 0}}, leader_epoch=epoch)
    request.replica_id = 3
    assert witness.call(api.FETCH, 11, request).responses[0].partitions[0].error_code == code


def test_a5_sessions(hostile: Hostile, target: BrokerProcess) -> None:
    with RawClient(target.host, target.port) as client:
        bogus = fetch_request({}, session=(123456, 7))
        assert client.call(api.FETCH, 12, bogus).error_code == 70
        ids = set()
        for _ in range(1500):
            ids.add(client.call(api.FETCH, 12, fetch_request({"quiet": {0: 0}}, session=(0, 0))).session_id)
        assert 0 in ids
        assert len(ids) <= 1001
        lasting = max(ids)
        assert client.call(api.FETCH, 12, fetch_request({}, session=(lasting, 9))).error_code == 71


@pytest.mark.parametrize(
    ("timestamp", "code"), [(-7, 35), (-(2**63), 35), (2**63 - 1, 0)], ids=lambda each: f"A6[{each}]"
)
def test_times_of_list_offsets(hostile: Hostile, witness: RawClient, timestamp: int, code: int) -> None:
    part = witness.offset("witness", timestamp)
    assert (part.error_code, part.offset) == (code, -1)


def create(witness: RawClient, name: str, partitions: int = 1, factor: int = 1, **configs: str) -> int:
    request = api.CREATE_TOPICS.request
    listed = [request.Config(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    topic = request.Topic(name=name, num_partitions=partitions, replication_factor=factor, configs=listed)
    answer = witness.call(api.CREATE_TOPICS, 7, request(topics=[topic], timeout_ms=10_000))
    return int(answer.topics[0].error_code)


@pytest.mark.parametrize(
    ("partitions", "factor", "configs", "code"),
    [
        pytest.param(0, 1, {}, 37, id="A12-no-partitions"),
        pytest.param(-2, 1, {}, 37, id="A12-negative"),
        pytest.param(1, 0, {}, 38, id="A12-factor-0"),
        pytest.param(1, 100, {}, 38, id="A12-factor-100"),
        pytest.param(10**6, 1, {}, 44, id="A12-a-million"),
        pytest.param(2**31 - 1, 1, {}, 44, id="A12-two-billion"),
        pytest.param(1, 1, {"no_such_config": "1"}, 40, id="A12-unknown-config"),
        pytest.param(1, 1, {"retention_ms": "soon"}, 40, id="A12-no-number"),
        pytest.param(1, 1, {"cleanup_policy": "x" * 32_767}, 40, id="A12-longest-value"),
    ],
)
def test_topics_that_cannot_be(
    hostile: Hostile, witness: RawClient, partitions: int, factor: int, configs: dict[str, str], code: int
) -> None:
    assert create(witness, "impossible", partitions, factor, **configs) == code
    assert [each.error_code for each in witness.metadata("impossible").topics] == [3]


def test_a12_a_name_twice(hostile: Hostile, witness: RawClient) -> None:
    request = api.CREATE_TOPICS.request
    topic = request.Topic(name="impossible", num_partitions=1, replication_factor=1)
    answer = witness.call(api.CREATE_TOPICS, 7, request(topics=[topic, topic], timeout_ms=10_000))
    assert [(each.name, each.error_code) for each in answer.topics] == [("impossible", 42)]


@pytest.mark.parametrize(
    "replicas",
    [{0: [2]}, {0: [-1]}, {1: [1]}, {0: [1, 1]}, {0: []}, {0: [1], 2: [1]}],
    ids=lambda each: f"A12-assignment-{each}",
)
def test_assignments_that_cannot_be(hostile: Hostile, witness: RawClient, replicas: dict[int, list[int]]) -> None:
    request = api.CREATE_TOPICS.request
    listed = [request.Assignment(partition_index=index, broker_ids=ids) for index, ids in replicas.items()]
    topic = request.Topic(name="impossible", num_partitions=-1, replication_factor=-1, assignments=listed)
    answer = witness.call(api.CREATE_TOPICS, 7, request(topics=[topic], timeout_ms=10_000))
    assert answer.topics[0].error_code == 39
    assert [each.error_code for each in witness.metadata("impossible").topics] == [3]


def test_a12_a_value_of_ten_megabytes(hostile: Hostile) -> None:
    """More than a string may have: nobody can send it but by lying about its length."""
    request = api.CREATE_TOPICS.request
    config = request.Config(name="cleanup.policy", value="Q" * 100)
    topic = request.Topic(name="impossible", num_partitions=1, replication_factor=1, configs=[config])
    payload = codec.write_request(19, 7, 1, "h", request(topics=[topic], timeout_ms=10_000))
    huge = b"\x81\xad\xe2\x04" + b"x" * 10_000_000
    assert hostile.closes(framed(payload.replace(b"\x65" + b"Q" * 100, huge)))


@pytest.mark.parametrize("offset", [1, 2**63 - 1, -2], ids=lambda offset: f"A6-delete[{offset}]")
def test_records_to_delete_that_are_not_there(hostile: Hostile, witness: RawClient, offset: int) -> None:
    request = api.DELETE_RECORDS.request
    part = request.Partition(partition_index=0, offset=offset)
    body = request(topics=[request.Topic(name="quiet", partitions=[part])], timeout_ms=1000)
    answer = witness.call(api.DELETE_RECORDS, 2, body).topics[0].partitions[0]
    assert (answer.error_code, answer.low_watermark) == (1, -1)


NAMES = ["", ".", "..", "../../etc/passwd", "a/b", "a\\b", "a\0b", "a b", "é", "\uff0e", "\u202ex", "🎈", "x" * 250]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: f"N1[{name[:12]!a}]")
def test_names(hostile: Hostile, witness: RawClient, target: BrokerProcess, name: str) -> None:
    before = sorted(path.name for path in target.directory.iterdir())
    assert create(witness, name) == 17
    assert [each.error_code for each in witness.metadata(name, create=True).topics] == [17]
    assert sorted(path.name for path in target.directory.iterdir()) == before


def test_n2_names_that_look_like_folders(hostile: Hostile, witness: RawClient, target: BrokerProcess) -> None:
    assert create(witness, "col.lide") == 0
    assert create(witness, "col_lide") == 17
    odd = ["t-1", "t", "x-0-delete", "x.log", "y.deleted", "z-future", "w-stray"]
    assert [create(witness, name, 2) for name in odd] == [0] * len(odd)
    folders = {path.name for path in target.directory.iterdir() if path.is_dir()}
    assert {f"{name}-{index}" for name in odd for index in (0, 1)} <= folders
