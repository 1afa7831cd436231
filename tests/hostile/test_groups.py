"""Rows A7 to A9 and N3: group requests with numbers and names that mean nothing good."""

from collections.abc import Iterator

import pytest

from kafpy.protocol import api, codec
from tests.broker_process import BrokerProcess
from tests.clients import raw_groups as groups
from tests.clients.raw import RawClient
from tests.hostile.conftest import Hostile, framed, memory_kb

GROUP = "hostile"


@pytest.fixture
def client(hostile: Hostile, target: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(target.host, target.port) as made:
        groups.find_coordinator(made, GROUP)
        yield made


@pytest.mark.parametrize(("length", "code"), [(4096, 0), (4097, 12), (30_000, 12)], ids=lambda each: f"A7[{each}]")
def test_metadata_of_offsets(client: RawClient, length: int, code: int) -> None:
    assert groups.commit(client, "A7", "quiet", {0: 1}, metadata="m" * length) == {0: code}


@pytest.mark.parametrize("offset", [-2, -1, -(2**63), 2**63 - 1], ids=lambda each: f"A7[{each}]")
def test_offsets_that_are_none(client: RawClient, offset: int) -> None:
    """As Kafka does: they are stored and given back. Who reads there is told OFFSET_OUT_OF_RANGE."""
    assert groups.commit(client, "A7", "quiet", {0: offset}) == {0: 0}
    assert groups.committed(client, "A7", {"quiet": [0]}) == {("quiet", 0): (offset, 0)}


@pytest.mark.parametrize("partition", [1, -1, 2**31 - 1], ids=lambda each: f"A7[{each}]")
def test_partitions_that_are_not_there(client: RawClient, partition: int) -> None:
    assert groups.commit(client, "A7", "quiet", {partition: 1}) == {partition: 3}
    assert groups.commit(client, "A7", "no such topic", {partition: 1}) == {partition: 3}
    assert groups.committed(client, "A7", {"quiet": [partition]}) == {("quiet", partition): (-1, 0)}


@pytest.mark.parametrize("session_ms", [-1, 0, 5_999, 1_800_001, 2**31 - 1], ids=lambda each: f"A8[{each}]")
def test_session_timeouts(client: RawClient, session_ms: int) -> None:
    assert groups.join(client, GROUP, session_ms=session_ms).error_code == 26


def test_a8_no_group_id(client: RawClient) -> None:
    assert groups.join(client, "").error_code == 24
    assert groups.sync(client, "", 1, "m").error_code == 24
    assert groups.heartbeat(client, "", 1, "m") == 24
    assert groups.leave(client, "", "m").error_code == 24
    assert groups.delete_offsets(client, "", "quiet", 0).error_code == 24


def test_a8_more_protocols_than_a_group_can_store(client: RawClient, target: BrokerProcess) -> None:
    many = {f"protocol-{number}": b"" for number in range(100_000)}
    assert groups.join(client, GROUP, protocols=many).error_code == 42
    assert groups.join(client, GROUP, protocols={"range": bytes(50 << 20)}).error_code == 42
    assert groups.join(client, GROUP, protocols={}).error_code == 23
    assert memory_kb(target) < 300_000


def test_a8_a_full_group(hostile: Hostile, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("full") / "data"
    broker = BrokerProcess(directory, group_max_size=1, group_initial_rebalance_delay_ms=0)
    try:
        with RawClient(broker.host, broker.port) as client:
            groups.find_coordinator(client, GROUP)
            groups.enter(client, GROUP)
            assert groups.join(client, GROUP).error_code == 81
            assert groups.join(client, GROUP, group_instance_id="static").error_code == 81
    finally:
        broker.kill()


def test_a9_strangers_and_old_generations(client: RawClient) -> None:
    joined = groups.join(client, "A9")
    generation, member_id = joined.generation_id, joined.member_id
    assert groups.sync(client, "A9", generation, "stranger").error_code == 25
    assert groups.sync(client, "A9", generation + 1, member_id).error_code == 22
    synced = groups.sync(client, "A9", generation, member_id, {"stranger": b"his", member_id: b"mine"})
    assert (synced.error_code, synced.assignment) == (0, b"mine")
    assert [each.member_id for each in groups.describe(client, "A9").members] == [member_id]
    assert groups.heartbeat(client, "A9", generation, "stranger") == 25
    for wrong in (generation - 1, generation + 1, -1, -(2**31), 2**31 - 1):
        assert groups.heartbeat(client, "A9", wrong, member_id) == 22
    assert groups.heartbeat(client, "A9", generation, member_id) == 0
    groups.leave(client, "A9", member_id)


NAMES = ["a/b", "..", "../../etc/passwd", "%2e%2e%2f", "a\0b", "a\nb", " ", "\u202ex", "🎈", "x" * 30_000]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: f"N3[{name[:12]!a}]")
def test_names(client: RawClient, target: BrokerProcess, name: str) -> None:
    """Groups may be called anything, and no file is."""
    before = sorted(path.name for path in target.directory.iterdir())
    assert groups.commit(client, name, "quiet", {0: 7}) == {0: 0}
    assert groups.committed(client, name, {"quiet": [0]}) == {("quiet", 0): (7, 0)}
    assert name in groups.listed(client)
    generation, member_id = groups.enter(client, name, group_instance_id=name[:10_000])
    assert groups.heartbeat(client, name, generation, member_id) == 0
    groups.leave(client, name, member_id)
    assert groups.delete(client, name) == {name: 0}
    assert sorted(path.name for path in target.directory.iterdir()) == before


def test_n3_a_name_of_a_megabyte(client: RawClient, hostile: Hostile) -> None:
    """No string is longer than an int16 can say, in versions with other lengths neither."""
    good = codec.write_request(api.OFFSET_COMMIT.key, 9, 7, "h", api.OFFSET_COMMIT.request(group_id="QQQ"))
    assert hostile.closes(framed(good.replace(b"\x04QQQ", b"\x81\x80\x40" + b"g" * (1 << 20))))
    assert all(len(each) < 1 << 15 for each in groups.listed(client))


def test_n3_client_ids(client: RawClient, hostile: Hostile) -> None:
    for client_id in ("a/b", "..", "a\0b", "a\nb", "🎈", "c" * 32_000):
        frame = codec.write_request(api.LIST_GROUPS.key, 4, 7, client_id, api.LIST_GROUPS.request())
        made = hostile.frame(frame)
        assert made.recv(8)[4:8] == (7).to_bytes(4, "big")
