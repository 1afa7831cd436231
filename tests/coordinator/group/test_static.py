"""Static members (KIP-345) and what they spare the others (KIP-814)."""

from tests.coordinator.group.harness import SESSION_MS, Harness, subscription


def static_group(harness: Harness, *instances: str) -> list[str]:
    """Member ids in the order of the instances; the first leads."""
    tickets = [harness.join("", instance=each) for each in instances]
    while harness.unanswered:
        harness.advance(1000)
    ids = [str(harness.answers[ticket].member_id) for ticket in tickets]
    harness.settle(ids, tickets)
    return ids


def test_ids_carry_the_instance() -> None:
    harness = Harness()
    assert static_group(harness, "one", "two") == ["one-uuid1", "two-uuid2"]


def test_a_restarted_follower_is_not_noticed() -> None:
    harness = Harness()
    leader, follower = static_group(harness, "one", "two")
    answer = harness.answers[harness.join("", instance="two")]
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, leader)
    assert answer.members == []
    assert harness.state() == "Stable"
    assert harness.heartbeat(leader, 1, instance="one") == 0
    assert harness.heartbeat(follower, 1, instance="two") == 82
    assert harness.heartbeat(answer.member_id, 1, instance="two") == 0
    assert harness.answers[harness.sync(answer.member_id, 1, instance="two")].assignment == follower.encode()
    assert harness.commit({("t", 0): 1}, follower, 1, instance="two") == [82]
    assert harness.leave((follower, "two")) == [82]
    assert harness.answers[harness.join(follower, instance="two")].error_code == 82
    assert harness.answers[harness.sync(follower, 1, instance="two")].error_code == 82
    reasons = [(each.group_instance_id, each.reason) for each in harness.shard.departures("g")]
    assert reasons == [("two", "fenced by another member with its instance id")]
    assert harness.restart().heartbeat(answer.member_id, 1, instance="two") == 0


def test_a_restarted_leader_skips_the_assignment() -> None:
    harness = Harness()
    leader, _ = static_group(harness, "one", "two")
    answer = harness.answers[harness.join("", instance="one")]
    assert (answer.leader, answer.skip_assignment, len(answer.members)) == (answer.member_id, True, 2)
    synced = harness.answers[harness.sync(answer.member_id, 1, {answer.member_id: b"news"}, instance="one")]
    assert synced.assignment == leader.encode()
    harness.advance(SESSION_MS - 1)
    assert harness.heartbeat(answer.member_id, 1, instance="one") == 0


def test_an_old_client_must_not_assign_again() -> None:
    harness = Harness()
    leader, _ = static_group(harness, "one", "two")
    answer = harness.answers[harness.join("", instance="one", version=8)]
    assert (answer.leader, answer.skip_assignment, answer.members) == (leader, False, [])


def test_another_subscription_under_the_same_protocol_is_not_a_rebalance() -> None:
    harness = Harness()
    static_group(harness, "one", "two")
    ticket = harness.join("", instance="two", protocols={"range": subscription("t", "u")})
    assert harness.answers[ticket].generation_id == 1
    assert harness.shard._groups["g"].subscribed == {"t", "u"}


def test_another_protocol_is() -> None:
    harness = Harness()
    tickets = [harness.join("", instance=each, protocols={"a": b"", "b": b""}) for each in ("one", "two")]
    harness.advance(6000)
    ids = [str(harness.answers[ticket].member_id) for ticket in tickets]
    harness.settle(ids, tickets)
    ticket = harness.join("", instance="two", protocols={"b": b""})
    assert harness.answer(ticket) is None
    assert harness.state() == "PreparingRebalance"
    harness.join(ids[0], instance="one", protocols={"a": b"", "b": b""})
    assert (harness.answers[ticket].generation_id, harness.answers[ticket].protocol_name) == (2, "b")


def test_a_static_member_that_returns_while_others_wait_fences_its_past() -> None:
    harness = Harness()
    leader, follower = static_group(harness, "one", "two")
    waits = harness.join(follower, instance="two", protocols={"range": subscription("x")})
    assert harness.answer(waits) is None
    again = harness.join("", instance="two")
    assert harness.answers[waits].error_code == 82
    harness.join(leader, instance="one")
    assert harness.answers[again].generation_id == 2
    waits = harness.sync(harness.answers[again].member_id, 2, instance="two")
    third = harness.join("", instance="two")
    assert harness.answers[waits].error_code == 82
    assert harness.state() == "PreparingRebalance"
    assert harness.answer(third) is None


def test_absent_static_members_keep_their_place_until_their_session_ends() -> None:
    harness = Harness()
    tickets = [harness.join("", instance=each, session_ms=1_000_000) for each in ("one", "two")]
    harness.advance(6000)
    leader, follower = (str(harness.answers[ticket].member_id) for ticket in tickets)
    harness.settle([leader, follower], tickets)
    ticket = harness.join(leader, instance="one", session_ms=1_000_000)
    harness.advance(60_000)
    assert harness.answers[ticket].generation_id == 2
    assert [each.group_instance_id for each in harness.answers[ticket].members] == ["one", "two"]
    assert follower in harness.shard._groups["g"].members


def test_removal_by_instance_id() -> None:
    harness = Harness()
    static_group(harness, "one", "two")
    assert harness.leave(("", "two"), ("", "nobody"), ("", None), reason="scaled in") == [0, 25, 25]
    departure = harness.shard.departures("g")[-1]
    assert (departure.group_instance_id, departure.reason) == ("two", "left: scaled in")
    assert harness.state() == "PreparingRebalance"


def test_an_instance_id_on_a_dynamic_member() -> None:
    harness = Harness()
    member = harness.stable()[0]
    assert harness.heartbeat(member, 1, instance="one") == 25
    pending = harness.new_id()
    assert harness.answers[harness.join(pending, instance="one")].error_code == 25
