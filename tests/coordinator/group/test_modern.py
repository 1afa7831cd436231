"""Modern groups (KIP-848) on a virtual clock: heartbeats, revocation before assignment, deadlines, static members."""

from typing import Any

import pytest

from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.state import MemberState
from kafpy.coordinator.group.records import CONSUMER_GROUP_PARTITION_METADATA, TYPES
from kafpy.coordinator.group.topics import KnownTopics
from kafpy.coordinator.result import Record
from kafpy.metadata.image import Image
from tests.coordinator.group.consumer import Consumer, again, image, settle, topic, topic_id
from tests.coordinator.group.harness import Harness

T = topic_id("t")
SESSION_MS = 45_000
ALL = [0, 1, 2, 3, 4, 5]


def started(**sizes: int) -> Harness:
    return Harness(image=image(**(sizes or {"t": 6})))


def the(harness: Harness, group: str = "g") -> ModernGroup:
    found = harness.shard._groups[group]
    assert isinstance(found, ModernGroup)
    return found


def kinds(records: list[Record]) -> list[tuple[int, bool]]:
    """Type, and whether it is a tombstone."""
    return [(int.from_bytes(each.key[:2], "big"), each.value is None) for each in records]


def reasons(harness: Harness) -> list[tuple[str, str]]:
    return [(each.member_id, each.reason) for each in harness.shard.departures("g")]


def test_the_first_member_gets_everything_at_once() -> None:
    harness = started()
    answer = harness.modern("a", 0, rebalance_timeout_ms=9_000, subscribed_topic_names=["t"], owned={})
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "a", 1)
    assert answer.heartbeat_interval_ms == 5_000
    assert [(each.topic_id, each.partitions) for each in answer.assignment.topic_partitions] == [(T, ALL)]
    assert kinds(harness.log) == [(5, False), (3, False), (7, False), (6, False), (8, False)]
    answer = harness.modern("a", 1)
    assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, 1, None)
    assert len(harness.log) == 5


def test_a_group_begins_whatever_its_members_want() -> None:
    harness = started()
    consumer = Consumer(harness, "a").join()
    assert (consumer.epoch, consumer.owned, the(harness).state.value) == (1, {}, "Stable")
    consumer.subscribe("t")
    assert consumer.has() == []
    settle(consumer)
    assert consumer.has() == ALL


def test_a_full_request_is_answered_in_full() -> None:
    harness = started()
    consumer = Consumer(harness, "a", "t").join()
    full = {"rebalance_timeout_ms": 9_000, "subscribed_topic_names": ["t"], "owned": consumer.owned}
    for missing in full:
        some = {key: value for key, value in full.items() if key != missing}
        assert harness.modern("a", 1, **some).assignment is None
    assert harness.modern("a", 1, **full).assignment is not None
    del full["subscribed_topic_names"]
    assert harness.modern("a", 1, subscribed_topic_regex="", **full).assignment is not None
    assert harness.modern("a", 0, **full, subscribed_topic_names=["t"]).error_code == 42


def test_a_partition_is_given_up_before_it_is_given() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t").join()
    assert (second.has(), second.epoch) == ([], 2)
    assert the(harness).members["b"].state is MemberState.UNRELEASED_PARTITIONS
    answer = first.send()
    assert [each.partitions for each in answer.assignment.topic_partitions] == [[0, 1, 2]]
    assert first.epoch == 1  # until it has given up the others
    assert the(harness).members["a"].state is MemberState.UNREVOKED_PARTITIONS
    assert second.beat().assignment is None
    assert first.send().assignment is None
    assert first.send(owned={T: [0, 1, 2, 3]}).member_epoch == 1
    first.owned = {T: {0, 1, 2}}
    assert first.beat().member_epoch == 2
    assert the(harness).state.value == "Reconciling"
    second.beat()
    assert second.has() == [3, 4, 5]
    assert the(harness).state.value == "Stable"


def test_what_was_to_be_given_up_may_come_back() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t").join()
    first.send()
    second.leave()
    first.owned = {T: {0, 1, 2}}
    first.beat()
    assert (first.has(), the(harness).members["a"].state) == (ALL, MemberState.STABLE)


def test_who_does_not_give_up_partitions_is_out() -> None:
    harness = started()
    first = Consumer(harness, "a", "t", timeout_ms=20_000).join()
    second = Consumer(harness, "b", "t").join()
    first.send()
    for _ in range(3):
        harness.advance(5_000)
        assert first.send(owned={T: ALL}).error_code == 0
        second.beat()
    harness.advance(5_000)
    assert first.send(owned={T: ALL}).error_code == 25
    assert reasons(harness) == [("a", "did not give up its partitions in time for a rebalance")]
    second.beat()
    assert second.has() == ALL


def test_the_deadline_is_over_when_partitions_are_given_up() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t", timeout_ms=20_000).join(), Consumer(harness, "b", "t").join()
    settle(first, second)
    assert not [key for key in harness.timers if "rebalance" in key]  # type: ignore[operator]
    for _ in range(8):
        harness.advance(5_000)
        first.beat(), second.beat()
    assert len(the(harness).members) == 2


def test_sessions_end() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t").join()
    settle(first, second)
    harness.advance(SESSION_MS - 1)
    first.beat()
    harness.advance(1)
    assert reasons(harness) == [("b", "its session timed out")]
    assert the(harness).state.value == "Assigning"
    first.beat()
    assert (first.has(), first.epoch) == (ALL, 3)
    assert second.beat().error_code == 25
    harness.advance(SESSION_MS)
    assert the(harness).state.value == "Empty"
    assert the(harness).targets == the(harness).owners == {}


def test_deadlines_go_on_after_a_restart() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t", timeout_ms=30_000).join(), Consumer(harness, "b", "t").join()
    first.send()
    other = harness.restart()
    first.harness = second.harness = other
    for _ in range(3):
        other.advance(10_000)
        second.beat(), first.send(owned={T: ALL})
    assert reasons(other) == [("a", "did not give up its partitions in time for a rebalance")]
    other.advance(SESSION_MS)
    assert the(other).members == {}


def test_leaving() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t").join()
    settle(first, second)
    size = len(harness.log)
    answer = second.leave()
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "b", -1)
    assert kinds(harness.log[size:]) == [(8, True), (7, True), (5, True), (3, False)]
    assert reasons(harness) == [("b", "left")]
    assert not [key for key in harness.timers if "b" in key]  # type: ignore[operator]
    assert harness.modern("b", -1).error_code == 25
    first.beat()
    assert first.has() == ALL


@pytest.mark.parametrize(("epoch", "owned", "error"), [(9, None, 110), (1, None, 110), (1, ALL, 110), (1, [0, 1], 0)])
def test_epochs_are_checked(epoch: int, owned: list[int] | None, error: int) -> None:
    """The one before is fine from whoever may have missed the last answer."""
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t").join()
    first.send()
    first.owned = {T: {0, 1, 2}}
    harness.modern("a", 1, owned=first.owned)
    assert the(harness).members["a"].epoch == 2
    answer = harness.modern("a", epoch, owned=None if owned is None else {T: owned})
    assert answer.error_code == error
    if error:
        assert "must abandon all its partitions and rejoin" in answer.error_message
        assert (answer.member_id, answer.member_epoch) == (None, 0)
    assert second.beat().error_code == 0


def test_rejoining_with_epoch_0_keeps_the_place() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t").join()
    settle(first, second)
    first.join()
    assert (first.has(), first.epoch, the(harness).epoch) == ([0, 1, 2], 2, 2)


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"member_id": " "}, "MemberId can't be empty."),
    ({"group": "  "}, "GroupId can't be empty."),
    ({"instance_id": ""}, "InstanceId can't be empty."),
    ({"rack_id": "\t"}, "RackId can't be empty."),
    ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
    ({"owned": None}, "TopicPartitions must be empty when (re-)joining."),
    ({"owned": {T: [1]}}, "TopicPartitions must be empty when (re-)joining."),
    (
        {"subscribed_topic_names": None},
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    ({"epoch": -2}, "InstanceId can't be null."),
    ({"epoch": -3}, "MemberEpoch is invalid."),
]


@pytest.mark.parametrize(("wrong", "message"), INVALID)
def test_requests_that_contradict_themselves(wrong: dict[str, Any], message: str) -> None:
    harness = started()
    fields = {"member_id": "a", "epoch": 0, "rebalance_timeout_ms": 1, "subscribed_topic_names": ["t"], "owned": {}}
    answer = harness.modern(**{**fields, **wrong})
    assert (answer.error_code, answer.error_message) == (42, message)
    assert harness.log == []
    assert harness.shard._groups == {}


def test_ids_are_made_for_clients_of_before() -> None:
    harness = started()
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1, "subscribed_topic_names": ["t"], "owned": {}, "version": 0}
    assert harness.modern("", 0, **fields).member_id == "uuid1"
    assert harness.modern("", 1, version=0).error_message == "MemberId can't be empty."


def test_assignors_by_the_names_of_kafkas_classes() -> None:
    names = tuple(f"org.apache.kafka.coordinator.group.assignor.{each}Assignor" for each in ("Range", "Uniform"))
    harness = Harness(GroupConfig(group_consumer_assignors=(*names, "mine.Assignor")), image=image(t=6))
    Consumer(harness, "a", "t").join()
    assert harness.shard.consumer_group_describe("g").assignor_name == "range"


def test_unknown_assignors() -> None:
    harness = started()
    answer = harness.modern(
        "a", 0, rebalance_timeout_ms=1, subscribed_topic_names=["t"], owned={}, server_assignor="sticky"
    )
    assert answer.error_code == 112
    assert answer.error_message == "ServerAssignor sticky is not supported. Supported assignors: uniform, range."


@pytest.mark.parametrize("epoch", [1, -1])
def test_groups_that_are_not_there(epoch: int) -> None:
    harness = started()
    assert harness.modern("a", epoch).error_code == 69
    harness.commit({("t", 0): 1})
    answer = harness.modern("a", epoch)
    assert (answer.error_code, answer.error_message) == (69, "Group g is not a consumer group.")


def test_group_max_size() -> None:
    harness = Harness(GroupConfig(group_consumer_max_size=1), image=image(t=6))
    consumer = Consumer(harness, "a", "t").join()
    assert Consumer(harness, "b", "t").try_join() == 81
    assert consumer.join().has() == ALL


def test_the_assignor_is_voted_for() -> None:
    harness = started(t=2, u=2)
    a = Consumer(harness, "a", "t", "u", assignor="range").join()
    assert harness.shard.consumer_group_describe("g").assignor_name == "range"
    b = Consumer(harness, "b", "t", "u").join()
    settle(a, b)
    assert (a.has(), a.has("u"), b.has(), b.has("u")) == ([0], [0], [1], [1])
    for each in "cd":
        Consumer(harness, each, "t", "u", assignor="uniform").join()
    assert harness.shard.consumer_group_describe("g").assignor_name == "uniform"


def test_a_topic_that_is_not_wanted_any_more_is_given_up_first() -> None:
    harness = started(t=2, u=2)
    consumer = Consumer(harness, "a", "t", "u").join()
    answer = consumer.subscribe("u")
    assert [each.topic_id for each in answer.assignment.topic_partitions] == [topic_id("u")]
    assert answer.member_epoch == 1
    consumer.owned = {topic_id("u"): {0, 1}}
    assert consumer.beat().member_epoch == 2
    assert the(harness).owners.keys() == {(topic_id("u"), 0), (topic_id("u"), 1)}


def test_topics_that_change() -> None:
    harness = started(t=2)
    consumer = Consumer(harness, "a", "t", "u").join()
    assert harness.topics(image(2, t=2, v=1)).records == []  # nobody asked for that one
    assert kinds(harness.topics(image(3, t=3, u=1)).records) == [(3, False), (7, False), (6, False)]
    assert the(harness).state.value == "Reconciling"
    consumer.beat()
    assert (consumer.has(), consumer.has("u"), consumer.epoch) == ([0, 1, 2], [0], 2)
    harness.topics(image(4, u=1))
    settle(consumer)
    assert (consumer.has(), consumer.has("u"), consumer.epoch) == ([], [0], 3)
    harness.topics(Image.of(5, [again(topic("u", 1), 2)]))
    settle(consumer)
    assert consumer.owned == {b"u2".ljust(16, b"."): {0}}


def test_topics_that_changed_while_nobody_looked() -> None:
    harness = started(t=2)
    consumer = Consumer(harness, "a", "t").join()
    size = len(harness.log)
    assert len(harness.restart().log) == size
    harness.image = image(7, t=4)
    consumer.harness = harness.restart()
    consumer.beat()
    assert consumer.has() == [0, 1, 2, 3]
    unaware = Harness(log=consumer.harness.log)
    assert len(unaware.log) == len(consumer.harness.log)  # the image comes later
    assert unaware.topics(consumer.harness.image).records == []


def test_new_leaders_are_no_change() -> None:
    topics = KnownTopics(image(1, t=2))
    assert topics.change(image(2, t=2), {}).names == set()
    assert topics.change(image(3, t=2), {0: "a"}).names == {"t"}
    assert topics.change(image(4, t=2), {0: "a"}).names == set()
    assert topics.change(image(5), {0: "a"}).deleted == {"t"}


def test_racks() -> None:
    placed = [(0,), (1,), (0,), (1,)]
    known = Image.of(1, [topic("t", 4, placed)])
    harness = Harness(image=known, racks={0: "east", 1: "west"})
    west, east = Consumer(harness, "a", "t", rack="west"), Consumer(harness, "b", "t", rack="east")
    west.join(), east.join()
    settle(west, east)
    assert [west.has(), east.has()] == [[0, 1], [2, 3]]  # what the first had stays with it
    size = the(harness).epoch
    harness.topics(known, {0: "west", 1: "east"})
    assert the(harness).epoch == size + 1
    harness.topics(Image.of(2, [topic("t", 8, placed * 2)]), {0: "west", 1: "east"})
    settle(west, east)
    assert [west.has(), east.has()] == [[0, 1, 4, 6], [2, 3, 5, 7]]


def test_a_static_member_comes_back_to_its_partitions() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t", instance="i").join(), Consumer(harness, "b", "t", instance="j").join()
    settle(first, second)
    had, epoch = first.has(), the(harness).epoch
    assert Consumer(harness, "c", "t", instance="i").try_join() == 111
    answer = first.leave(-2)
    assert (answer.error_code, answer.member_epoch) == (0, -2)
    assert harness.commit({("t", 0): 1}, "a", 2, topic_id=T) == [113]
    assert [set(each.values()) for each in the(harness).members["a"].assigned.values()] == [{0}]
    back = Consumer(harness, "c", "t", instance="i").join()
    assert (back.has(), back.epoch, the(harness).epoch) == (had, epoch, epoch)
    assert reasons(harness) == [("a", "its instance id went to c")]
    assert first.send(1).error_code == 82
    assert first.leave().error_code == 82
    assert harness.modern("x", 1, instance_id="?").error_code == 25
    assert back.leave().error_code == 0
    settle(second)
    assert second.has() == ALL


def test_a_static_member_may_go_while_it_has_partitions_to_give_up() -> None:
    harness = started()
    first = Consumer(harness, "a", "t", instance="i", timeout_ms=1_000).join()
    second = Consumer(harness, "b", "t").join()
    first.send()
    first.leave(-2)
    assert the(harness).members["a"].revoking == {}
    other = harness.restart()
    second.harness = other
    other.advance(20_000)
    settle(second)
    assert (second.has(), the(other).members["a"].state) == ([3, 4, 5], MemberState.UNREVOKED_PARTITIONS)
    back = Consumer(other, "c", "t", instance="i").join()
    settle(back, second)
    assert back.has() == [0, 1, 2]


def test_a_static_member_that_does_not_come_back_is_out_when_its_session_ends() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t", instance="i").join(), Consumer(harness, "b", "t").join()
    settle(first, second)
    first.leave(-2)
    harness.advance(SESSION_MS - 1)
    settle(second)
    assert second.has() == [3, 4, 5]
    harness.advance(1)
    settle(second)
    assert second.has() == ALL


def test_a_static_member_may_come_back_with_another_subscription() -> None:
    harness = started(t=2, u=2)
    consumer = Consumer(harness, "a", "t", instance="i").join()
    consumer.leave(-2)
    other = Consumer(harness, "b", "u", instance="i").join()
    settle(other)
    assert (other.has(), other.has("u")) == ([], [0, 1])
    assert the(harness).members.keys() == {"b"}


def test_offsets_and_epochs() -> None:
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t").join()
    settle(first, second)

    def commit(epoch: int, *partitions: int, member: str = "a", version: int = 9) -> list[int]:
        offsets = {("t", each): 7 for each in partitions}
        return harness.commit(offsets, member, epoch, topic_id=T, version=version)

    assert commit(2, 0, 5) == [0, 0]
    assert commit(3, 0) == [113]
    assert commit(1, 0) == [0]  # it has had that one since
    assert commit(1, 0, 3) == [113, 113]
    assert commit(1, 3, member="b") == [113]
    assert commit(2, 0, member="nobody") == commit(-1, 0, member="") == [25]
    assert commit(2, 0, version=8) == [35]
    assert harness.fetch({"t": [0]}, member_id="a", epoch=2).error_code == 0
    assert harness.fetch({"t": [0]}, member_id="a", epoch=1).error_code == 113
    assert harness.fetch({"t": [0]}, member_id="x", epoch=1).error_code == 25
    assert harness.fetch({"t": [0]}).error_code == 0
    assert harness.delete_offsets({"t": [0]}).topics[0].partitions[0].error_code == 86
    assert harness.delete_offsets({"u": [0]}).topics[0].partitions[0].error_code == 0
    first.leave(), second.leave()
    assert commit(-1, 0, member="") == [0]


def test_what_is_being_given_up_can_still_be_committed() -> None:
    harness = started()
    first = Consumer(harness, "a", "t").join()
    Consumer(harness, "b", "t").join()
    first.send()
    assert harness.commit({("t", 5): 1}, "a", 1, topic_id=T) == [0]


def test_listed_and_described() -> None:
    harness = started()
    Consumer(harness, "a", "t", instance="i", rack="r").join()
    listed = harness.shard.list_groups(set(), {"Consumer"})[0]
    assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
        "g",
        "consumer",
        "Stable",
        "consumer",
    )
    assert harness.shard.list_groups({"empty"}, set()) == harness.shard.list_groups(set(), {"classic"}) == []
    found = harness.shard.consumer_group_describe("g")
    assert (found.group_state, found.group_epoch, found.assignment_epoch, found.assignor_name) == (
        "Stable",
        1,
        1,
        "uniform",
    )
    member = found.members[0]
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("a", "i", "r", 1)
    assert (member.client_id, member.client_host, member.member_type) == ("client", "/127.0.0.1", 1)
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["t"], None)
    for each in (member.assignment, member.target_assignment):
        assert [(one.topic_name, one.partitions) for one in each.topic_partitions] == [("t", ALL)]
    harness.topics(image(2))
    assert harness.shard.consumer_group_describe("g").members[0].assignment.topic_partitions == []
    classic = harness.shard.describe_group("g", 6)
    assert (classic.error_code, classic.error_message, classic.group_state) == (
        69,
        "Group g is not a classic group.",
        "Dead",
    )
    assert harness.shard.describe_group("g", 5).error_code == 0
    nobody = harness.shard.consumer_group_describe("nobody")
    assert (nobody.error_code, nobody.error_message) == (69, "Group nobody not found.")
    harness.stable(group="c")
    assert harness.shard.consumer_group_describe("c").error_message == "Group c is not a consumer group."


def test_deleting() -> None:
    harness = started()
    consumer = Consumer(harness, "a", "t", regex="v").join()
    harness.commit({("t", 0): 1}, "a", 1, topic_id=T)
    assert harness.delete_group() == 68
    consumer.leave()
    size = len(harness.log)
    assert harness.delete_group() == 0
    assert kinds(harness.log[size:]) == [(1, True), (6, True), (3, True)]
    assert harness.shard._groups == {}
    assert harness.delete_group() == 69
    assert harness.restart().shard._groups == {}


def test_offsets_that_nobody_wants_age() -> None:
    harness = Harness(GroupConfig(offsets_retention_minutes=15), image=image(t=6))
    consumer = Consumer(harness, "a", "t").join()
    harness.commit({("t", 0): 1, ("u", 0): 2}, "a", 1, topic_id=T)
    for _ in range(40):
        harness.advance(40_000)
        consumer.beat()
    assert harness.fetched() == {("t", 0): 1}
    consumer.leave()
    harness.advance(3_600_000)
    assert harness.shard._groups == {}


def test_a_record_of_a_broker_before_goes() -> None:
    harness = started()
    consumer = Consumer(harness, "a", "t").join()
    old = CONSUMER_GROUP_PARTITION_METADATA.record(CONSUMER_GROUP_PARTITION_METADATA.value(topics=[]), group_id="g")
    harness.append(old)
    consumer.subscribe("u")
    assert old.key in {each.key for each in harness.log if each.value is None}
    assert not the(harness).has_partition_metadata


def test_logs_with_holes() -> None:
    """Compaction may leave any tombstone alone."""
    harness = started()
    first, second = Consumer(harness, "a", "t").join(), Consumer(harness, "b", "t", regex="x").join()
    settle(first, second)
    first.leave(), second.leave()
    harness.delete_group()
    for at in range(len(harness.log)):
        only = Harness(log=[each for each in harness.log[at:] if each.value is None], image=harness.image)
        assert only.shard._groups == {}
    latest = {each.key: each for each in harness.log}
    assert Harness(log=list(latest.values())).shard._groups == {}
    assert {3, 5, 6, 7, 8} <= TYPES.keys()


def test_a_state_of_a_version_to_come_begins_again() -> None:
    harness = started()
    consumer = Consumer(harness, "a", "t").join()
    record = harness.log[-1]
    assert record.value is not None
    changed = bytearray(record.value)
    changed[10] = 9
    harness.append(Record(record.key, bytes(changed)))
    assert the(harness).members["a"].state is MemberState.UNKNOWN
    assert consumer.send(owned={T: ALL}).error_code == 110
    assert consumer.send(owned={}).error_code == 0
    assert the(harness).members["a"].state is MemberState.STABLE


def test_a_change_of_topics_may_be_cut_off() -> None:
    harness = started(t=3)
    consumers = [Consumer(harness, each, "t", regex="u.*") for each in "abc"]
    for each in consumers:
        each.join()
    settle(*consumers)
    size = len(harness.log)
    result = harness.topics(image(2, t=9, u1=6))
    assert not result.atomic
    for kept in range(len(result.records) + 1):
        other = Harness(log=harness.log[: size + kept], image=harness.image, now=harness.now)
        for each in consumers:
            each.harness, each.epoch = other, the(other).members[each.member_id].epoch
            each.owned = {T: set(the(other).members[each.member_id].assigned[T])}
        settle(*consumers)
        assert [sum(map(len, each.owned.values())) for each in consumers] == [5, 5, 5]
