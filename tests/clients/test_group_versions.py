"""Every version of the group APIs that is served, by a client that speaks nothing else."""

from collections.abc import Callable, Iterator

import confluent_kafka
import confluent_kafka.admin
import kafka
import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients import raw_groups as groups
from tests.clients.group_checker import commits, group_records
from tests.clients.raw import RawClient, batch_of

NOBODY = "nobody-1"
OPERATIONS = 0x0D48


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("group-versions") / "data"
    process = BrokerProcess(directory, group_initial_rebalance_delay_ms=0, group_max_size=2)
    yield process
    process.stop()
    assert process.stderr == ""


@pytest.fixture
def group(raw: RawClient, name: str) -> str:
    """One that nobody has joined yet."""
    groups.find_coordinator(raw, name)
    return name


def versions(of: api.Api) -> Callable[..., object]:
    return pytest.mark.parametrize("version", of.versions)


@versions(api.JOIN_GROUP)
def test_join(raw: RawClient, group: str, version: int) -> None:
    metadata = b"\0\1 subscribed"
    answer = groups.join(raw, group, version=version, protocols={"range": metadata, "x": b""})
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.leader == answer.member_id == answer.members[0].member_id
    assert answer.member_id.startswith("raw-")
    assert answer.members[0].metadata == metadata
    if version >= 7:
        assert answer.protocol_type == "consumer"
    refused = groups.join(raw, group, version=version, member_id=NOBODY)
    assert (refused.error_code, refused.protocol_name) == (25, None if version >= 7 else "")


@versions(api.SYNC_GROUP)
def test_sync(raw: RawClient, group: str, version: int) -> None:
    joined = groups.join(raw, group)
    given = joined.generation_id, joined.member_id, {joined.member_id: b"all"}
    answer = groups.sync(raw, group, *given, version=version)
    assert (answer.error_code, answer.assignment) == (0, b"all")
    if version >= 5:
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert groups.sync(raw, group, 7, joined.member_id, version=version).error_code == 22
    assert groups.sync(raw, group, 1, NOBODY, version=version).error_code == 25


def test_sync_names_its_protocol(raw: RawClient, group: str) -> None:
    generation, member_id = groups.enter(raw, group)
    for named in ({"protocol_name": None}, {"protocol_type": None}, {"protocol_name": "x"}, {"protocol_type": "x"}):
        assert groups.sync(raw, group, generation, member_id, **named).error_code == 23
    assert groups.sync(raw, group, generation, member_id, version=4, protocol_name=None).error_code == 0


@versions(api.HEARTBEAT)
def test_heartbeat(raw: RawClient, group: str, version: int) -> None:
    generation, member_id = groups.enter(raw, group)
    assert groups.heartbeat(raw, group, generation, member_id, version=version) == 0
    assert groups.heartbeat(raw, group, generation + 1, member_id, version=version) == 22
    assert groups.heartbeat(raw, group, generation, NOBODY, version=version) == 25


@versions(api.LEAVE_GROUP)
def test_leave(raw: RawClient, group: str, version: int) -> None:
    _, member_id = groups.enter(raw, group)
    answer = groups.leave(raw, group, NOBODY, version=version)
    assert answer.error_code == (25 if version < 3 else 0)
    assert [each.error_code for each in answer.members] == ([] if version < 3 else [25])
    answer = groups.leave(raw, group, member_id, version=version)
    assert (answer.error_code, [each.error_code for each in answer.members]) == (0, [] if version < 3 else [0])
    assert groups.describe(raw, group).group_state == "Empty"


def test_leave_in_the_name_of_static_members(raw: RawClient, group: str) -> None:
    groups.enter(raw, group, group_instance_id="one")
    request = api.LEAVE_GROUP.request
    members = [request.Member(member_id="", group_instance_id=each, reason="gone") for each in ("one", "two")]
    answer = raw.call(api.LEAVE_GROUP, 5, request(group_id=group, members=members))
    assert [(each.group_instance_id, each.error_code) for each in answer.members] == [("one", 0), ("two", 25)]


@versions(api.OFFSET_COMMIT)
def test_commit(raw: RawClient, group: str, name: str, version: int) -> None:
    topic_id = raw.create(f"{name}-t", 2)
    topic = topic_id if version >= 10 else f"{name}-t"
    assert groups.commit(raw, group, topic, {0: 5, 1: 6, 2: 7}, version=version, metadata=None) == {0: 0, 1: 0, 2: 3}
    assert groups.commit(raw, group, bytes(15) + b"x" if version >= 10 else "no", {0: 1}, version=version) == {
        0: 100 if version >= 10 else 3
    }
    assert groups.committed(raw, group, None) == {(f"{name}-t", 0): (5, 0), (f"{name}-t", 1): (6, 0)}
    generation, member_id = groups.enter(raw, group)
    more = {"version": version, "generation": generation}
    assert groups.commit(raw, group, topic, {0: 9}, member_id=member_id, **more) == {0: 0}
    assert groups.commit(raw, group, topic, {0: 10}, member_id=NOBODY, **more) == {0: 25}
    assert groups.commit(raw, group, topic, {0: 10}, version=version) == {0: 25}
    more["generation"] = generation + 1
    assert groups.commit(raw, group, topic, {0: 10}, member_id=member_id, **more) == {0: 22}
    assert groups.committed(raw, group, {f"{name}-t": [0]}) == {(f"{name}-t", 0): (9, 0)}


@versions(api.OFFSET_FETCH)
def test_fetch(raw: RawClient, group: str, name: str, version: int) -> None:
    topic_id = raw.create(f"{name}-t", 2)
    topic = topic_id if version >= 10 else f"{name}-t"
    assert groups.commit(raw, group, f"{name}-t", {0: 5}, metadata="note", leader_epoch=0) == {0: 0}
    answer = groups.fetch(raw, group, {topic: [0, 1, 9]}, version=version)
    found = [(each.partition_index, each.committed_offset, each.metadata, each.error_code) for each in part(answer)]
    assert found == [(0, 5, "note", 0), (1, -1, "", 0), (9, -1, "", 0)]
    if version >= 5:
        assert [each.committed_leader_epoch for each in part(answer)] == [0, -1, -1]
    if version >= 2:
        assert groups.committed(raw, group, None, version=version) == {(topic, 0): (5, 0)}
        assert groups.fetch(raw, "never heard of", None, version=version).error_code == 0
    assert groups.committed(raw, "never heard of", {topic: [0]}, version=version) == {(topic, 0): (-1, 0)}
    if version >= 10:
        unknown = bytes(15) + b"x"
        assert groups.committed(raw, group, {unknown: [0]}, version=version) == {(unknown, 0): (-1, 100)}


def part(answer: object) -> list[object]:
    return answer.topics[0].partitions  # type: ignore[attr-defined,no-any-return]


def test_fetch_of_several_groups(raw: RawClient, group: str, name: str) -> None:
    raw.create(f"{name}-t")
    assert groups.commit(raw, group, f"{name}-t", {0: 5}) == {0: 0}
    request = api.OFFSET_FETCH.request
    body = request(groups=[request.Group(group_id=each, topics=None) for each in (group, "other", group)])
    found = raw.call(api.OFFSET_FETCH, 9, body).groups
    assert [(each.group_id, len(each.topics)) for each in found] == [(group, 1), ("other", 0), (group, 1)]


@versions(api.LIST_GROUPS)
def test_list(raw: RawClient, group: str, name: str, version: int) -> None:
    raw.create(f"{name}-t")
    groups.commit(raw, f"{group}-simple", f"{name}-t", {0: 0})
    groups.enter(raw, group)
    stable, simple = (groups.listed(raw, version=version)[each] for each in (group, f"{group}-simple"))
    assert (stable.protocol_type, simple.protocol_type) == ("consumer", "")
    if version >= 4:
        assert (stable.group_state, simple.group_state) == ("Stable", "Empty")
        found = groups.listed(raw, version=version, states_filter=["stable", "Dead"])
        assert group in found
        assert f"{group}-simple" not in found
    if version >= 5:
        assert stable.group_type == "classic"
        assert group in groups.listed(raw, version=version, types_filter=["Classic"])
        assert group not in groups.listed(raw, version=version, types_filter=["consumer"])


@versions(api.DESCRIBE_GROUPS)
def test_describe(raw: RawClient, group: str, version: int) -> None:
    _, member_id = groups.enter(raw, group, b"mine")
    found = groups.describe(raw, group, version=version, operations=version >= 3)
    assert (found.error_code, found.group_state, found.protocol_type) == (0, "Stable", "consumer")
    assert found.protocol_data == "range"
    (member,) = found.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "raw", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"\0\0", b"mine")
    assert found.authorized_operations == (OPERATIONS if version >= 3 else -(2**31))
    unknown = groups.describe(raw, "never heard of", version=version, operations=version >= 3)
    assert unknown.authorized_operations == (OPERATIONS if 3 <= version < 6 else -(2**31))
    assert (unknown.error_code, unknown.group_state) == (69 if version >= 6 else 0, "Dead")
    assert unknown.error_message == ("Group never heard of not found." if version >= 6 else None)


def test_describe_by_clients_that_know_of_no_message_without_an_error(
    raw: RawClient, broker: BrokerProcess, group: str
) -> None:
    _, member_id = groups.enter(raw, group)
    groups.leave(raw, group, member_id)
    assert member_id in groups.describe(raw, group).error_message
    asked = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    found = asked.describe_consumer_groups([group])[group].result(20)
    assert (found.state, found.members) == (confluent_kafka.ConsumerGroupState.EMPTY, [])
    admin = kafka.KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    assert admin.describe_groups([group])[group]["group_state"] == "Empty"
    admin.close()


@versions(api.DELETE_GROUPS)
def test_delete(raw: RawClient, group: str, name: str, version: int) -> None:
    raw.create(f"{name}-t", 2)
    simple = f"{group}-simple"
    groups.commit(raw, simple, f"{name}-t", {0: 1, 1: 2})
    groups.enter(raw, group)
    found = groups.delete(raw, group, simple, "never heard of", "", version=version)
    assert found == {group: 68, simple: 0, "never heard of": 69, "": 69}
    assert simple not in groups.listed(raw)
    assert groups.committed(raw, simple, None) == {}
    stored = group_records(raw, simple)
    assert commits(stored, simple) == {0: [1, None], 1: [2, None]}
    assert stored[-1][1] is None  # the group itself


def test_delete_offsets(raw: RawClient, group: str, name: str) -> None:
    raw.create(f"{name}-t", 2)
    topic = f"{name}-t"
    groups.commit(raw, group, topic, {0: 1, 1: 2})
    answer = groups.delete_offsets(raw, group, topic, 0, 5)
    assert answer.error_code == 0
    assert [(each.partition_index, each.error_code) for each in part(answer)] == [(0, 0), (5, 3)]
    assert [each.error_code for each in part(groups.delete_offsets(raw, group, "no such topic", 0))] == [3]
    assert groups.committed(raw, group, None) == {(topic, 1): (2, 0)}
    assert commits(group_records(raw, group), group) == {0: [1, None], 1: [2]}
    subscribed = b"\0\0" + (1).to_bytes(4, "big") + len(topic).to_bytes(2, "big") + topic.encode() + b"\xff" * 4
    groups.enter(raw, group, protocols={"range": subscribed})
    assert [each.error_code for each in part(groups.delete_offsets(raw, group, topic, 1))] == [86]
    assert groups.delete_offsets(raw, "never heard of", topic, 0).error_code == 69


@pytest.mark.parametrize("version", [3, 9, 13])
def test_r21_nobody_produces_to_internal_topics(raw: RawClient, group: str, version: int) -> None:
    topic_id = bytes(raw.metadata("__consumer_offsets").topics[0].topic_id)
    asked = topic_id if version >= 13 else "__consumer_offsets"
    assert raw.produce(asked, batch_of([b"v"], keys=[b"k"]), version=version).error_code == 17
