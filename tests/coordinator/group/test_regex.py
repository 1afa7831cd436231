"""Subscriptions by regular expression: resolved by the broker, in RE2's language, whatever somebody sends."""

import pytest

from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.regex import MAX_BYTES, matching
from tests.coordinator.group.consumer import Consumer, image, settle, topic_id
from tests.coordinator.group.harness import Harness


def started() -> Harness:
    return Harness(image=image(**{"orders": 2, "orders-eu": 2, "users": 1, "__consumer_offsets": 50}))


def the(harness: Harness) -> ModernGroup:
    found = harness.shard._groups["g"]
    assert isinstance(found, ModernGroup)
    return found


def topics(consumer: Consumer) -> set[str]:
    return {each.rstrip(b".").decode() for each, numbers in consumer.owned.items() if numbers}


def kinds(harness: Harness, since: int) -> list[tuple[int, bool]]:
    return [(each.key[1], each.value is None) for each in harness.log[since:]]


def test_a_pattern_matches_whole_names() -> None:
    harness = started()
    consumer = Consumer(harness, "a", regex="orders.*").join()
    assert topics(consumer) == {"orders", "orders-eu"}
    assert kinds(harness, 0) == [(5, False), (16, False), (3, False), (7, False), (6, False), (8, False)]
    assert topics(Consumer(harness, "a", regex="order", group="other").join()) == set()
    assert topics(Consumer(harness, "a", "users", regex="orders", group="both").join()) == {"users", "orders"}
    assert topics(Consumer(harness, "a", regex=".*", group="all").join()) == {"users", "orders", "orders-eu"}
    assert harness.restart().shard._groups.keys() == harness.shard._groups.keys()


def test_new_topics_are_found_and_old_ones_forgotten() -> None:
    harness = started()
    consumer = Consumer(harness, "a", regex="orders.*").join()
    size = len(harness.log)
    harness.topics(image(2, **{"orders": 2, "orders-eu": 2, "orders-us": 1, "users": 1}))
    assert kinds(harness, size) == [(16, False), (3, False), (7, False), (6, False)]
    settle(consumer)
    assert topics(consumer) == {"orders", "orders-eu", "orders-us"}
    harness.topics(image(3, **{"orders-us": 1, "users": 1}))
    settle(consumer)
    assert topics(consumer) == {"orders-us"}
    size = len(harness.log)
    harness.topics(image(4, **{"orders-us": 1, "users": 1, "others": 1}))
    assert len(harness.log) == size


def test_topics_that_came_while_nobody_looked() -> None:
    harness = started()
    consumer = Consumer(harness, "a", regex="orders.*").join()
    harness.image = image(5, orders=1)
    consumer.harness = harness.restart()
    settle(consumer)
    assert topics(consumer) == {"orders"}


def test_a_pattern_lives_as_long_as_somebody_wants_it() -> None:
    harness = started()
    first, second = Consumer(harness, "a", regex="orders").join(), Consumer(harness, "b", regex="orders").join()
    assert the(harness).regexes.keys() == {"orders"}
    assert kinds(harness, 0).count((16, False)) == 1
    size = len(harness.log)
    second.subscribe(regex="users")
    assert (16, True) not in kinds(harness, size)
    assert the(harness).regexes.keys() == {"orders", "users"}
    second.leave()
    assert the(harness).regexes.keys() == {"orders"}
    first.subscribe("users")
    settle(first)
    assert (the(harness).regexes, topics(first)) == ({}, {"users"})
    assert the(harness).members["a"].regex == ""


def test_members_of_one_pattern_share() -> None:
    harness = started()
    consumers = [Consumer(harness, each, regex="orders.*") for each in "abcd"]
    for each in consumers:
        each.join()
    settle(*consumers)
    assert [sum(map(len, each.owned.values())) for each in consumers] == [1, 1, 1, 1]
    assert harness.commit({("orders", 0): 1}, topic_id=topic_id("orders")) == [25]
    found = harness.shard.consumer_group_describe("g").members[0]
    assert (found.subscribed_topic_names, found.subscribed_topic_regex) == ([], "orders.*")


@pytest.mark.parametrize(
    "pattern", ["(", "a**", "(?=x)", r"\1", "x" * (MAX_BYTES + 1), "a" * 1_000_000, "(a{1000}){1000}"]
)
def test_patterns_that_are_refused(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    harness = started()
    answer = harness.modern("a", 0, rebalance_timeout_ms=1, subscribed_topic_regex=pattern, owned={})
    assert answer.error_code == 128
    assert answer.error_message.startswith("SubscribedTopicRegex `")
    assert len(answer.error_message) < 500
    assert harness.log == []
    consumer = Consumer(harness, "a", "users").join()
    size = len(harness.log)
    assert consumer.send(subscribed_topic_regex=pattern).error_code == 128
    assert len(harness.log) == size
    assert capfd.readouterr() == ("", "")


def test_patterns_that_hurt_others(capfd: pytest.CaptureFixture[str]) -> None:
    names = ["a" * 248 + "!", "a" * 249]
    assert matching("(a+)+$", names) == {"a" * 249}
    assert matching("(a*)*b|(a|a?)+", names) == {"a" * 249}
    assert matching("(((a+)+)+)+" * 50, names) == {"a" * 249}
    assert capfd.readouterr() == ("", "")


def test_a_pattern_in_the_log_that_is_none() -> None:
    assert matching("(", ["a"]) == frozenset()
    assert matching("__.*|a", ["a", "__consumer_offsets", "__transaction_state"]) == {"a"}


def test_a_static_member_comes_back_with_its_pattern() -> None:
    harness = started()
    consumer = Consumer(harness, "a", regex="orders", instance="i").join()
    consumer.leave(-2)
    again = Consumer(harness, "b", regex="users", instance="i").join()
    settle(again)
    assert topics(again) == {"users"}
    assert the(harness).regexes.keys() == {"users"}
    assert [each.member_id for each in harness.shard.departures("g")] == ["a"]
    again.leave(-2)
    assert (
        harness.modern("c", 0, instance_id="i", rebalance_timeout_ms=1, subscribed_topic_regex="(", owned={}).error_code
        == 128
    )
    assert [each.member_id for each in harness.shard.departures("g")] == ["a"]  # nothing happened


def test_records_that_do_not_fit() -> None:
    harness = Harness(GroupConfig(message_max_bytes=2_000), image=image(t=6))
    consumer = Consumer(harness, "a", "t").join()
    size = len(harness.log)
    assert Consumer(harness, "b", *(f"t{each}" for each in range(500))).try_join() == -1
    assert consumer.send(subscribed_topic_names=[f"t{each}" for each in range(500)]).error_code == -1
    assert len(harness.log) == size
    assert consumer.beat().error_code == 0


def test_a_classic_group_that_does_not_fit_is_not_made() -> None:
    harness = Harness(GroupConfig(message_max_bytes=2_000), image=image(t=6))
    consumer = Consumer(harness, "a", "t").join()
    names = b"".join(len(name).to_bytes(2, "big") + name for name in (b"t" * 200, b"u" * 200, b"v" * 200))
    metadata = b"\0\0\0\0\0\3" + names + b"\xff\xff\xff\xff"
    tickets = [harness.join("", version=3, protocols={"range": metadata}) for _ in range(4)]
    assert [harness.answers[each].error_code for each in tickets] == [0, 0, 0, 0]
    assert consumer.leave().error_code == 0
    assert len(the(harness).members) == 4
    harness.advance(200_000)
    assert harness.shard._groups["g"].is_idle
