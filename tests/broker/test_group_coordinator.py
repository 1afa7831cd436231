"""Groups in a whole broker: their topic, virtual time, topics that go, disks that fail."""

import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.coordinator.group.partition_for import partition_for
from kafpy.handlers.registry import SERVED
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

Start = Callable[..., Any]

DAY_MS = 86_400_000


def ready(client: Any, group_id: str = "g") -> None:
    """The coordinator is found, and has loaded."""
    body = api.FIND_COORDINATOR.request(coordinator_keys=[group_id])
    assert client.call(api.FIND_COORDINATOR, body).coordinators[0].error_code == 0
    until(lambda: client.call(api.LIST_GROUPS, api.LIST_GROUPS.request()).error_code == 0)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def commit(client: Any, offsets: dict[tuple[str, int], int], group_id: str = "g") -> list[int]:
    request = api.OFFSET_COMMIT.request
    topics = [
        request.Topic(name=name, partitions=[request.Partition(partition_index=index, committed_offset=offset)])
        for (name, index), offset in offsets.items()
    ]
    answer = client.call(api.OFFSET_COMMIT, request(group_id=group_id, topics=topics), version=9)
    return [each.error_code for topic in answer.topics for each in topic.partitions]


def committed(client: Any, group_id: str = "g") -> dict[tuple[str, int], int]:
    request = api.OFFSET_FETCH.request
    body = request(groups=[request.Group(group_id=group_id, topics=None)])
    group = client.call(api.OFFSET_FETCH, body, version=9).groups[0]
    assert group.error_code == 0
    return {
        (topic.name, each.partition_index): each.committed_offset for topic in group.topics for each in topic.partitions
    }


def groups(client: Any) -> list[str]:
    return sorted(each.group_id for each in client.call(api.LIST_GROUPS, api.LIST_GROUPS.request()).groups)


def states(client: Any) -> list[str]:
    return [each.group_state for each in client.call(api.LIST_GROUPS, api.LIST_GROUPS.request()).groups]


def test_offsets_survive_a_restart(start: Start) -> None:
    running = start(offsets_topic_num_partitions=3)
    with running.connect() as client:
        client.create("t", 2)
        ready(client)
        assert commit(client, {("t", 0): 7, ("t", 1): 8, ("t", 2): 9, ("u", 0): 1}) == [0, 0, 3, 3]
        for number in range(20):
            assert commit(client, {("t", 0): number}, f"g{number}") == [0]
    running.stop()
    running = start()
    with running.connect() as client:
        ready(client)
        assert committed(client) == {("t", 0): 7, ("t", 1): 8}
        assert [committed(client, f"g{number}")["t", 0] for number in range(20)] == list(range(20))
        topic = next(each for each in client.metadata().topics if each.name == "__consumer_offsets")
        assert (topic.is_internal, len(topic.partitions)) == (True, 3)


def test_group_commit(start: Start) -> None:
    """With log.flush.interval.messages=1 a commit is answered after its sync."""
    running = start(log_flush_interval_messages=1)
    with running.connect() as client:
        client.create("t")
        ready(client)
        for offset in range(20):
            assert commit(client, {("t", 0): offset}) == [0]
            assert committed(client) == {("t", 0): offset}


def test_retention_by_the_brokers_clock(start: Start) -> None:
    running = start()
    with running.connect() as client:
        client.create("t", 2)
        ready(client)
        assert commit(client, {("t", 0): 7}) == [0]
        running.broker.clock.advance(6 * DAY_MS)
        assert commit(client, {("t", 1): 8}) == [0]
        running.broker.clock.advance(DAY_MS + 700_000)
        until(lambda: committed(client) == {("t", 1): 8})
        running.broker.clock.advance(7 * DAY_MS)
        until(lambda: groups(client) == [])


def test_offsets_go_with_their_topic(start: Start) -> None:
    running = start()
    with running.connect() as client:
        for name in "tu":
            client.create(name)
        ready(client)
        assert commit(client, {("t", 0): 7, ("u", 0): 8}) == [0, 0]
        assert client.delete("t").error_code == 0
        assert committed(client) == {("u", 0): 8}
    running.stop()
    with start().connect() as client:
        ready(client)
        assert committed(client) == {("u", 0): 8}


def test_the_topic_of_groups_is_deleted_and_comes_again(start: Start) -> None:
    running = start()
    with running.connect() as client:
        client.create("t")
        ready(client)
        assert commit(client, {("t", 0): 7}) == [0]
        assert client.delete("__consumer_offsets").error_code == 0
        assert commit(client, {("t", 0): 7}) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        ready(client)
        assert committed(client) == {}
        assert commit(client, {("t", 0): 9}) == [0]
        assert committed(client) == {("t", 0): 9}


def test_a_log_that_fails(start: Start, data: Path) -> None:
    """Its groups have no coordinator any more, and everybody else's go on: it lies in one of two directories."""
    directories = tuple(str(data / name) for name in ("one", "two"))
    running = start(log_dirs=directories)
    with running.connect() as client:
        client.create("t")
        ready(client)
        assert commit(client, {("t", 0): 7}) == [0]
        logs = [running.broker.partitions.log("__consumer_offsets", index) for index in range(50)]
        used = next(log for log in logs if log.log_end_offset)
        used.fail()
        assert commit(client, {("t", 0): 8}) == [ErrorCode.NOT_COORDINATOR]
        other = next(
            index for index, log in enumerate(logs) if Path(log.directory).parent != Path(used.directory).parent
        )
        sibling = next(f"g{number}" for number in count() if partition_for(f"g{number}", 50) == other)
        assert commit(client, {("t", 0): 9}, sibling) == [0]


def test_damaged_records_are_passed_over(start: Start, caplog: Any) -> None:
    running = start(offsets_topic_num_partitions=1)
    with running.connect() as client:
        client.create("t")
        ready(client)
        assert commit(client, {("t", 0): 7}) == [0]
        log = running.broker.partitions.log("__consumer_offsets", 0)
        for key, value in ((b"\0\1", b"x"), (b"x", b""), (b"\0\2\0\1g", b"\0\x63"), (b"\0\x63", b"from the future")):
            assert log.append(batch.encode([value], keys=[key], timestamps=running.broker.runtime.wall_ms()))[0] == 0
        assert commit(client, {("t", 0): 8}) == [0]
    running.stop()
    with start().connect() as client:
        ready(client)
        assert committed(client) == {("t", 0): 8}
    assert "__consumer_offsets-0 offset" in caplog.text


class Heard:
    """Counts the heartbeats that come to the handler."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        served = SERVED[api.HEARTBEAT.key]

        def heartbeat(broker: Any, call: Any) -> Any:
            self.count += 1
            return served.handler(broker, call)

        monkeypatch.setitem(SERVED, api.HEARTBEAT.key, served._replace(handler=heartbeat))


class Member:
    """Of the classic group g, on a connection of its own."""

    def __init__(self, running: Any, session_ms: int = 50_000) -> None:
        self.client = running.connect()
        self.session_ms = session_ms
        self.member_id, self.generation, self.leader = "", -1, False

    def join_request(self) -> Any:
        request = api.JOIN_GROUP.request
        return request(
            group_id="g",
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            protocol_type="any",
            protocols=[request.Protocol(name="p", metadata=b"")],
        )

    def join(self) -> None:
        answer = self.client.call(api.JOIN_GROUP, self.join_request(), version=3)
        assert answer.error_code == 0
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.leader = answer.leader == answer.member_id

    def sync(self, *members: "Member") -> None:
        request = api.SYNC_GROUP.request
        made = [request.Assignment(member_id=each.member_id, assignment=b"a") for each in members]
        body = request(group_id="g", generation_id=self.generation, member_id=self.member_id, assignments=made)
        assert self.client.call(api.SYNC_GROUP, body, version=3).error_code == 0

    def heartbeat(self) -> int:
        body = api.HEARTBEAT.request(group_id="g", generation_id=self.generation, member_id=self.member_id)
        return int(self.client.call(api.HEARTBEAT, body).error_code)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    return Heard(monkeypatch)


def stable_member(running: Any) -> Member:
    with running.connect() as client:
        ready(client)
    member = Member(running)
    member.join()
    member.sync(member)
    return member


def test_heartbeats_of_a_quiet_group_come_to_nobody(start: Start, heard: Heard) -> None:
    running = start(group_initial_rebalance_delay_ms=0)
    member = stable_member(running)
    for _ in range(10):
        assert member.heartbeat() == 0
    assert heard.count == 1


def test_a_session_lasts_as_long_as_such_heartbeats(start: Start, heard: Heard) -> None:
    running = start(group_initial_rebalance_delay_ms=0)
    member = stable_member(running)
    for _ in range(5):
        running.broker.clock.advance(30_000)
        assert member.heartbeat() == 0
    assert heard.count == 1
    running.broker.clock.advance(51_000)
    with running.connect() as client:  # another heartbeat, if it came before the timer, would be one more in time
        until(lambda: states(client) == ["Empty"])
    assert member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_is_told_to_members_that_were_quiet(start: Start, heard: Heard) -> None:
    running = start(group_initial_rebalance_delay_ms=0)
    first = stable_member(running)
    assert [first.heartbeat() for _ in range(3)] == [0, 0, 0]
    second = Member(running)
    joining = threading.Thread(target=second.join)
    joining.start()
    until(lambda: first.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS)
    first.join()
    joining.join()
    leader, follower = (first, second) if first.leader else (second, first)
    leader.sync(first, second)
    follower.sync()
    count = heard.count
    for each in (first, second):
        assert [each.heartbeat() for _ in range(3)] == [0, 0, 0]
    assert heard.count == count + 2
    body = api.LEAVE_GROUP.request(members=[api.LEAVE_GROUP.request.Member(member_id=second.member_id)], group_id="g")
    assert second.client.call(api.LEAVE_GROUP, body, version=4).members[0].error_code == 0
    assert second.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert first.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_coordinator_that_is_gone_answers_no_heartbeat(start: Start, heard: Heard) -> None:
    running = start(group_initial_rebalance_delay_ms=0)
    member = stable_member(running)
    assert [member.heartbeat() for _ in range(3)] == [0, 0, 0]
    with running.connect() as client:
        assert client.delete("__consumer_offsets").error_code == 0
    assert member.heartbeat() == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_metered_clients_are_asked_about_each_time(start: Start, heard: Heard) -> None:
    running = start(group_initial_rebalance_delay_ms=0)
    with running.connect() as client:
        request = api.ALTER_CLIENT_QUOTAS.request
        entry = request.Entry(
            entity=[request.Entity(entity_type="client-id", entity_name=None)],
            ops=[request.Op(key="request_percentage", value=1000.0, remove=False)],
        )
        assert client.call(api.ALTER_CLIENT_QUOTAS, request(entries=[entry])).entries[0].error_code == 0
    member = stable_member(running)
    assert [member.heartbeat() for _ in range(3)] == [0, 0, 0]
    assert heard.count == 3
