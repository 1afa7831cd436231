"""Rebalances of classic groups on a virtual clock."""

import pytest

from kafpy.coordinator.group.config import GroupConfig
from kafpy.protocol.api import JOIN_GROUP, LEAVE_GROUP
from tests.coordinator.group.harness import REBALANCE_MS, SESSION_MS, START_MS, Harness, subscription


def test_initial_delay_is_extended_by_newcomers_up_to_the_rebalance_timeout() -> None:
    harness = Harness()
    tickets = [harness.join("", version=3, rebalance_ms=10_000)]
    for _ in range(2):  # at 2 and 4 seconds
        harness.advance(2_000)
        tickets.append(harness.join("", version=3, rebalance_ms=10_000))
    harness.advance(4_999)
    assert harness.unanswered == set(tickets)
    harness.advance(1)  # 9 seconds: no newcomer since 6
    assert harness.unanswered == set()
    assert {harness.answers[ticket].generation_id for ticket in tickets} == {1}

    harness = Harness()
    start = harness.now
    tickets = [harness.join("", version=3, rebalance_ms=7_000)]
    while harness.answer(tickets[0]) is None:
        harness.join("", version=3, rebalance_ms=7_000)
        harness.advance(500)
    assert harness.now - start == 7_000


def test_without_newcomers_the_initial_delay_is_three_seconds() -> None:
    harness = Harness()
    ticket = harness.join("", version=3)
    harness.advance(2_999)
    assert harness.answer(ticket) is None
    harness.advance(1)
    answer = harness.answers[ticket]
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, answer.member_id)
    assert [member.metadata for member in answer.members] == [subscription("t")]
    assert answer.member_id == "client-uuid1"
    assert (answer.protocol_type, answer.protocol_name, answer.skip_assignment) == ("consumer", "range", False)


def test_member_id_is_required_and_expires() -> None:
    harness = Harness()
    member = harness.new_id()
    assert member == "client-uuid1"
    assert harness.state() == "Empty"
    harness.advance(SESSION_MS)
    assert harness.answers[harness.join(member)].error_code == 25
    member = harness.new_id()
    assert harness.leave((member, None)) == [0]
    assert harness.answers[harness.join(member)].error_code == 25


def test_a_rebalance_waits_for_ids_that_were_given_out() -> None:
    harness = Harness()
    leader = harness.stable()[0]
    newcomer = harness.new_id()
    rejoin = harness.join(leader)
    assert harness.answer(rejoin) is None
    ticket = harness.join(newcomer)
    assert harness.answers[rejoin].generation_id == harness.answers[ticket].generation_id == 2
    assert len(harness.answers[rejoin].members) == 2
    assert harness.answers[ticket].members == []


def test_who_does_not_rejoin_is_out() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    ticket = harness.join(leader, session_ms=1_800_000)
    for _ in range(60_000 // 5_000 - 1):
        harness.advance(5_000)
        assert harness.heartbeat(follower, 1) == 27
    assert harness.answer(ticket) is None
    harness.advance(5_000)
    assert harness.answers[ticket].generation_id == 2
    assert harness.heartbeat(follower, 1) == 25
    assert [(each.member_id, each.reason) for each in harness.shard.departures("g")] == [
        (follower, "did not rejoin in time for a rebalance")
    ]


def test_a_leader_that_does_not_rejoin_is_replaced() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    ticket = harness.join(follower, protocols={"range": subscription("t", "u")})
    harness.advance(SESSION_MS)
    assert harness.answers[ticket].leader == follower
    assert harness.heartbeat(leader, 1) == 25


def test_sessions_end() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    for _ in range(5):
        harness.advance(SESSION_MS - 1)
        assert harness.heartbeat(leader, 1) == 0
        assert harness.commit({("t", 0): 1}, follower, 1) == [0]  # a commit is a sign of life, too
    harness.advance(SESSION_MS - 1)
    assert harness.heartbeat(leader, 1) == 0
    harness.advance(1)
    assert harness.heartbeat(leader, 1) == 27
    departure = harness.shard.departures("g")[-1]
    assert (departure.member_id, departure.reason) == (follower, "its session timed out")
    assert departure.at_ms == harness.now
    assert harness.now > START_MS
    ticket = harness.join(leader)
    assert harness.answers[ticket].generation_id == 2
    harness.sync(leader, 2, {leader: b"all"})
    harness.advance(SESSION_MS)
    assert harness.state() == "Empty"
    assert harness.shard._groups["g"].generation == 3


def test_a_member_that_waits_needs_no_heartbeat() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    ticket = harness.join(leader)
    harness.advance(SESSION_MS - 1)
    harness.heartbeat(follower, 1)
    harness.advance(SESSION_MS - 1)
    assert harness.answer(ticket) is None
    assert leader in harness.shard._groups["g"].members


def test_a_new_member_is_given_up_after_five_minutes() -> None:
    harness = Harness()
    leader = harness.stable(rebalance_ms=1_800_000)[0]
    ticket = harness.join("", version=3, rebalance_ms=1_800_000)
    for _ in range(60):
        harness.advance(5_000)
        harness.heartbeat(leader, 1)
    assert harness.answers[ticket].error_code == 25


def test_members_that_do_not_sync_are_out() -> None:
    harness = Harness()
    ids = [harness.new_id(rebalance_ms=20_000) for _ in range(2)]
    tickets = [harness.join(member, rebalance_ms=20_000) for member in ids]
    harness.advance(6_000)
    assert harness.unanswered == set()
    leader = harness.answers[tickets[0]].leader
    lazy = next(member for member in ids if member != leader)
    harness.sync(leader, 1, {leader: b"x", lazy: b"y"})
    assert harness.state() == "Stable"
    for _ in range(3):
        harness.advance(5_000)
        assert harness.heartbeat(leader, 1) == harness.heartbeat(lazy, 1) == 0
    harness.advance(5_000)
    assert harness.heartbeat(leader, 1) == 27
    assert harness.heartbeat(lazy, 1) == 25
    assert harness.shard.departures("g")[-1].reason == "did not sync in time"


def test_syncs_wait_for_the_leader_and_fail_when_another_rebalance_begins() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    tickets = [harness.join(leader), harness.join(follower)]
    assert {harness.answers[ticket].generation_id for ticket in tickets} == {2}
    waiting = harness.sync(follower, 2)
    assert harness.answer(waiting) is None
    again = harness.sync(follower, 2)
    assert harness.answers[waiting].error_code == 27
    assert harness.leave((leader, None)) == [0]
    assert harness.answers[again].error_code == 27
    ticket = harness.join(follower)
    assert harness.answers[ticket].generation_id == 3
    assert harness.answers[harness.sync(follower, 3, {follower: b"f", "stranger": b"s"})].assignment == b"f"
    assert list(harness.shard._groups["g"].members) == [follower]


def test_who_gets_no_assignment_gets_an_empty_one() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    harness.join(leader)
    harness.join(follower)
    harness.sync(leader, 2, {leader: b"everything"})
    answer = harness.answers[harness.sync(follower, 2)]
    assert (answer.error_code, answer.assignment, answer.protocol_name) == (0, b"", "range")


@pytest.mark.parametrize(
    ("protocol_type", "protocol_name", "error"),
    [(None, None, 0), ("consumer", "range", 0), ("connect", "range", 23), ("consumer", "sticky", 23)],
)
def test_sync_checks_the_protocol(protocol_type: str | None, protocol_name: str | None, error: int) -> None:
    harness = Harness()
    leader = harness.stable()[0]
    ticket = harness.sync(leader, 1, protocol_type=protocol_type, protocol_name=protocol_name)
    assert harness.answers[ticket].error_code == error


def test_a_second_join_replaces_the_first() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    first = harness.join(leader)
    second = harness.join(leader)
    assert harness.answers[first].error_code == 27
    assert harness.answer(second) is None
    harness.join(follower)
    assert harness.answers[second].error_code == 0


def test_protocol_by_votes() -> None:
    harness = Harness()
    offers: list[dict[str, bytes]] = [
        {"a": b"1", "b": b"2", "c": b"3"},
        {"b": b"4", "a": b"5"},
        {"c": b"6", "b": b"7", "a": b"8"},
    ]
    tickets = [harness.join("", protocols=offer, version=3, protocol_type="x") for offer in offers]
    assert harness.answers[harness.join("", protocols={"c": b""}, version=3, protocol_type="x")].error_code == 23
    harness.advance(10_000)
    answer = harness.answers[tickets[0]]
    assert answer.protocol_name == "b"
    assert [member.metadata for member in answer.members] == [b"2", b"4", b"7"]


def test_group_max_size() -> None:
    harness = Harness(GroupConfig(group_max_size=2))
    leader, follower = harness.stable(2)
    assert harness.answers[harness.join("")].error_code == 81
    assert harness.answers[harness.join("", version=0)].error_code == 81
    harness.join(leader)
    harness.join(follower)
    assert harness.state() == "CompletingRebalance"
    assert harness.answers[harness.join("")].error_code == 81


def test_a_lowered_max_size_lets_the_last_ones_go() -> None:
    harness = Harness()
    members = harness.stable(3)
    smaller = Harness(GroupConfig(group_max_size=2), harness.log, harness.now)
    assert smaller.state() == "PreparingRebalance"
    tickets = [smaller.join(member) for member in members]
    assert [smaller.answers[ticket].error_code for ticket in tickets] == [0, 0, 81]
    assert smaller.shard.departures("g")[-1].reason == "the group was full"


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001, 0, -1, 2**31 - 1])
def test_session_timeout_bounds(session_ms: int) -> None:
    harness = Harness()
    assert harness.answers[harness.join("", session_ms=session_ms)].error_code == 26
    assert harness.shard._groups == {}
    assert harness.log == []


def test_bad_ids_and_sizes() -> None:
    harness = Harness()
    assert harness.answers[harness.join("", group="")].error_code == 24
    assert harness.answers[harness.sync("m", 1, group="")].error_code == 24
    assert harness.heartbeat("m", 1, group="") == 24
    ticket = harness.ticket()
    body = LEAVE_GROUP.request(group_id="", members=[])
    harness.take(harness.shard.leave_group(ticket, body, harness.caller(LEAVE_GROUP, 5), harness.now))
    assert harness.answers[ticket].error_code == 24
    assert harness.delete_offsets({}, group="").error_code == 24
    assert harness.answers[harness.join("", protocols={"range": bytes(1_100_000)})].error_code == 42
    many = {str(name): b"" for name in range(100_000)}
    assert harness.answers[harness.join("", protocols=many)].error_code == 79
    assert harness.log[0].key == b"\0\2\0\1g"


@pytest.mark.parametrize("group", ["a/b", "..", "%2e%2e%2f", "nul\0", "line\nfeed", "x" * 32767, "🎈", "session"])
def test_odd_group_ids_are_only_names(group: str) -> None:
    harness = Harness()
    member = harness.stable(group=group)[0]
    assert harness.commit({("t", 0): 7}, member, 1, group=group) == [0]
    again = harness.restart()
    assert again.fetched({"t": [0]}, group=group) == {("t", 0): 7}
    assert again.heartbeat(member, 1, group=group) == 0
    assert again.heartbeat(member, 1) == 25


def test_version_0_uses_its_session_as_rebalance_timeout() -> None:
    harness = Harness()
    harness.join("", version=0, session_ms=30_000, rebalance_ms=-1)
    assert harness.shard._groups["g"].rebalance_timeout_ms == 30_000


def test_old_leave_requests_have_one_member_and_one_error() -> None:
    harness = Harness()
    member = harness.stable()[0]
    for expected in (0, 25):
        body = LEAVE_GROUP.request(group_id="g", member_id=member)
        ticket = harness.ticket()
        harness.take(harness.shard.leave_group(ticket, body, harness.caller(LEAVE_GROUP, 2), harness.now))
        assert harness.answers[ticket].error_code == expected


def test_a_group_that_does_not_fit_in_a_record_is_not_stored() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    harness.join(leader)
    harness.join(follower)
    waiting = harness.sync(follower, 2)
    size = len(harness.log)
    ticket = harness.sync(leader, 2, {leader: bytes(1_048_588)})
    assert harness.answers[ticket].error_code == harness.answers[waiting].error_code == -1
    assert len(harness.log) == size
    assert harness.state() == "PreparingRebalance"


def test_restart_in_every_state() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    stable = harness.restart()
    assert stable.heartbeat(leader, 1) == 0
    assert stable.answers[stable.sync(follower, 1)].assignment == follower.encode()
    assert stable.answers[stable.join(follower)].generation_id == 1
    assert {key[0] for key in stable.timers if isinstance(key, tuple)} == {"session", "offsets"}
    harness.join(leader)
    preparing = harness.restart()
    assert (preparing.state(), preparing.heartbeat(leader, 1)) == ("Stable", 0)
    harness.join(follower)
    completing = harness.restart()
    assert (completing.state(), completing.heartbeat(leader, 1)) == ("Stable", 0)
    silent = harness.restart()
    silent.advance(SESSION_MS + REBALANCE_MS)
    assert silent.state() == "Empty"


def test_unloading_answers_everybody() -> None:
    harness = Harness()
    leader, follower = harness.stable(2)
    waits = [harness.join(leader), harness.join("", group="other", version=3)]
    harness.take(harness.shard.unloaded())
    assert [harness.answers[ticket].error_code for ticket in waits] == [16, 16]
    harness = Harness()
    leader, follower = harness.stable(2)
    harness.join(leader)
    harness.join(follower)
    waiting = harness.sync(follower, 2)
    harness.take(harness.shard.unloaded())
    assert harness.answers[waiting].error_code == 16
    assert harness.unanswered == set()


def test_client_and_host_are_kept() -> None:
    harness = Harness()
    harness.stable()
    member = harness.restart().shard.describe_group("g", JOIN_GROUP.max_version).members[0]
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")


def test_departures_are_few() -> None:
    harness = Harness()
    for _ in range(15):
        member = harness.stable()[0]
        harness.leave((member, None), reason="the consumer is being closed")
    kept = harness.shard.departures("g")
    assert len(kept) == 10
    assert kept[-1].member_id == member
    assert kept[-1].reason == "left: the consumer is being closed"
    assert harness.shard.departures("nobody") == []


def test_a_load_ends_with_what_members_said_last() -> None:
    harness = Harness()
    leader = harness.stable()[0]
    ticket = harness.join(leader, protocols={"range": subscription("u", "v")}, session_ms=20_000)
    harness.sync(leader, harness.answers[ticket].generation_id, {leader: b"x"})
    group = harness.restart().shard._groups["g"]
    assert group.is_subscribed_to("v")
    assert not group.is_subscribed_to("t")
    assert group.members[leader].session_timeout_ms == 20_000
