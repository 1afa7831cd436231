"""Classic groups that become modern ones while they go on, and the other way round."""

import pytest

from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.consumer_protocol import (
    Malformed,
    read_assignment,
    read_subscription,
    subscribed_topics,
    write_assignment,
)
from kafpy.coordinator.group.modern.group import ModernGroup
from tests.coordinator.group.consumer import ClassicConsumer, Consumer, image, settle
from tests.coordinator.group.harness import SESSION_MS, Harness, subscription

ALL = [0, 1, 2, 3, 4, 5]


def started(config: GroupConfig | None = None) -> Harness:
    return Harness(config, image=image(t=6, u=2))


def classic_group(harness: Harness, size: int = 2, **options: str) -> list[ClassicConsumer]:
    consumers = [ClassicConsumer(harness, "t", **options).join() for _ in range(size)]
    live(harness, *consumers, seconds=12)
    assert isinstance(harness.shard._groups["g"], ClassicGroup)
    assert sorted(each for consumer in consumers for each in consumer.owned["t"]) == ALL
    return consumers


def live(harness: Harness, *consumers: ClassicConsumer | Consumer, seconds: int = 30) -> None:
    for _ in range(seconds // 3):
        harness.advance(3_000)
        for each in consumers:
            each.live()


def owned(*consumers: ClassicConsumer | Consumer) -> list[list[int]]:
    return [each.owned.get("t", []) if isinstance(each, ClassicConsumer) else each.has() for each in consumers]


def test_up_and_down() -> None:
    harness = started()
    classic = classic_group(harness)
    before = owned(*classic)
    modern = Consumer(harness, "m", "t").join()
    group = harness.shard._groups["g"]
    assert isinstance(group, ModernGroup)
    assert owned(*classic) == before  # nobody has to stop
    live(harness, *classic, modern)
    assert sorted(map(len, owned(*classic, modern))) == [2, 2, 2]
    for now, had in zip(owned(*classic), before, strict=True):
        assert set(now) < set(had)
    assert {each.member_type for each in harness.shard.consumer_group_describe("g").members} == {0, 1}
    modern.leave()
    down = harness.shard._groups["g"]
    assert isinstance(down, ClassicGroup)
    assert (down.state.value, down.generation) == ("PreparingRebalance", group.epoch)
    live(harness, *classic)
    assert harness.state() == "Stable"
    assert sorted(each for some in owned(*classic) for each in some) == ALL
    assert [each.reason for each in harness.shard.departures("g")] == ["left"]
    assert harness.restart().state() == "Stable"


def test_a_rebalance_under_way_ends() -> None:
    harness = started()
    members = classic_group(harness)
    leader = harness.shard.describe_group("g", 6).members[0].member_id
    follower = next(each.member_id for each in members if each.member_id != leader)
    waiting = harness.join(leader, protocols={"range": subscription("t")})
    Consumer(harness, "m", "t").join()
    assert harness.answers[waiting].error_code == 27
    assert {key[:1] for key in harness.timers if isinstance(key, tuple)} == {("session",), ("offsets",)}
    assert harness.heartbeat(follower, 1) == 27


def test_a_rebalance_under_way_ends_whoever_comes() -> None:
    """Also by a member that subscribes to nothing: what the classic members had may be half of an assignment."""
    harness = started()
    classic = classic_group(harness)
    classic.pop().leave()
    assert harness.state() == "PreparingRebalance"
    modern = Consumer(harness, "m").join()
    live(harness, modern, *classic)
    assert owned(*classic, modern) == [ALL, []]


def test_a_first_rebalance_ends() -> None:
    harness = started()
    waiting = ClassicConsumer(harness, "t").join()
    modern = Consumer(harness, "m", "t").join()
    live(harness, waiting, modern)
    assert sorted(map(len, owned(waiting, modern))) == [3, 3]


def test_offsets_stay() -> None:
    harness = started()
    classic = classic_group(harness, 1)
    assert harness.commit({("t", 0): 5}, classic[0].member_id, classic[0].generation) == [0]
    modern = Consumer(harness, "m", "t").join()
    live(harness, modern, *classic)
    assert harness.fetched() == {("t", 0): 5}
    modern.leave()
    live(harness, *classic)
    assert harness.fetched() == harness.restart().fetched() == {("t", 0): 5}


@pytest.mark.parametrize(
    ("policy", "up", "down"),
    [("bidirectional", 0, True), ("UPGRADE", 0, False), ("downgrade", 69, True), ("disabled", 69, False)],
)
def test_policies(policy: str, up: int, down: bool) -> None:
    harness = started(GroupConfig(group_consumer_migration_policy=policy))
    classic_group(harness, 1)
    assert Consumer(harness, "m", "t").try_join() == up
    other = started(GroupConfig(group_consumer_migration_policy=policy))
    modern = Consumer(other, "m", "t").join()
    classic = ClassicConsumer(other, "t").join()
    modern.leave()
    assert isinstance(other.shard._groups["g"], ClassicGroup) is down
    live(other, classic)
    assert owned(classic) == [ALL]


def refused(harness: Harness) -> str:
    answer = harness.modern("m", 0, rebalance_timeout_ms=1, subscribed_topic_names=["t"], owned={})
    assert answer.error_code == 69
    return str(answer.error_message).removeprefix("Cannot upgrade classic group g to consumer group because ")


def test_groups_that_stay_classic() -> None:
    harness = started()
    harness.stable(protocol_type="connect")
    assert refused(harness) == "the group does not use the consumer embedded protocol."
    harness = started()
    harness.stable(protocols={"range": b"?"})
    assert refused(harness) == "the embedded consumer protocol is malformed."
    harness = started(GroupConfig(group_consumer_max_size=1))
    classic_group(harness)
    assert refused(harness) == "the group size exceeds the consumer group maximum size."
    harness = started(GroupConfig(group_consumer_migration_policy="disabled"))
    classic_group(harness)
    assert refused(harness) == "online upgrade is disabled."
    harness = started()
    leader = harness.new_id()
    ticket = harness.join(leader)
    harness.advance(3_000)
    harness.sync(leader, harness.answers[ticket].generation_id, {leader: b"\0\0\0\0\0\0\0\0\0\1x"})
    assert "an unsupported custom assignor is in use" in refused(harness)
    assert harness.state() == "Stable"
    assert harness.heartbeat(leader, 1) == 0


def test_groups_without_members_are_of_whoever_comes() -> None:
    harness = started()
    harness.commit({("t", 0): 5})
    modern = Consumer(harness, "m", "t").join()
    assert isinstance(harness.shard._groups["g"], ModernGroup)
    modern.leave()
    assert harness.answers[harness.join("x")].error_code == 25
    assert isinstance(harness.shard._groups["g"], ModernGroup)
    classic_group(harness, 1)[0].leave()
    assert harness.state() == "Empty"
    Consumer(harness, "m", "t").join()
    assert isinstance(harness.restart().shard._groups["g"], ModernGroup)
    assert harness.fetched() == {("t", 0): 5}


@pytest.mark.parametrize("topic", ["t", "u"])
def test_a_static_member_goes_up_and_down(topic: str) -> None:
    harness = started()
    classic = ClassicConsumer(harness, topic, instance="i").join()
    live(harness, classic, seconds=9)
    modern = Consumer(harness, "m", "t", instance="i").join()
    live(harness, modern, seconds=9)
    assert modern.has() == ALL
    assert harness.heartbeat(classic.member_id, 1, instance="i") == 82
    again = ClassicConsumer(harness, topic, instance="i").join()
    assert isinstance(harness.shard._groups["g"], ClassicGroup)
    live(harness, again)
    assert again.owned == ({"t": ALL} if topic == "t" else {"u": [0, 1]})
    assert harness.restart().state() == "Stable"
    assert modern.send().error_code == 69


def test_a_static_classic_member_restarts_in_a_modern_group() -> None:
    harness = started()
    modern = Consumer(harness, "m", "t").join()
    classic = ClassicConsumer(harness, "t", instance="i").join()
    live(harness, modern, classic)
    had = owned(classic)
    again = ClassicConsumer(harness, "t", instance="i").join()
    live(harness, modern, again)
    assert owned(again) == had
    assert harness.heartbeat(classic.member_id, classic.generation, instance="i") == 82
    assert harness.answers[harness.join(classic.member_id, instance="i")].error_code == 82
    assert harness.leave((classic.member_id, "i"), ("", "i"), ("", "j"), (modern.member_id, None)) == [82, 0, 25, 25]


def test_classic_members_have_their_time() -> None:
    harness = started()
    modern = Consumer(harness, "m", "t").join()
    lazy = ClassicConsumer(harness, "t").join()
    Consumer(harness, "n", "t").join()
    for _ in range(12):
        assert harness.heartbeat(lazy.member_id, lazy.generation) == 27
        harness.advance(5_000)
        modern.live()
    assert harness.heartbeat(lazy.member_id, lazy.generation) == 25
    assert ("did not rejoin in time for a rebalance") in [each.reason for each in harness.shard.departures("g")]
    ticket = harness.join("", version=3, protocols={"range": subscription("t")})
    member = harness.answers[ticket].member_id
    for _ in range(11):
        harness.advance(5_000)
        modern.live()
        harness.heartbeat(member, harness.answers[ticket].generation_id)
    harness.advance(5_000)
    assert harness.shard.departures("g")[-1].reason in ("did not sync in time", "its session timed out")


def test_classic_members_have_their_time_again() -> None:
    harness = started()
    modern = Consumer(harness, "m", "t").join()
    classic = ClassicConsumer(harness, "t").join()
    live(harness, modern, classic)
    second = Consumer(harness, "n", "t").join()
    live(harness, modern, classic, second)
    assert sorted(map(len, owned(modern, classic, second))) == [2, 2, 2]
    third = Consumer(harness, "o", "t").join()
    for _ in range(12):
        assert harness.heartbeat(classic.member_id, classic.generation) == 27
        harness.advance(5_000)
        modern.live(), second.live(), third.live()
    assert harness.heartbeat(classic.member_id, classic.generation) == 25


def test_sessions_of_classic_members_are_their_own() -> None:
    harness = started()
    modern = Consumer(harness, "m", "t").join()
    ClassicConsumer(harness, "t").join()
    harness.advance(SESSION_MS)
    assert list(harness.shard._groups["g"].members) == ["m"]
    settle(modern)
    assert modern.has() == ALL


def test_joins_that_do_not_fit() -> None:
    harness = started(GroupConfig(group_consumer_max_size=2))
    Consumer(harness, "m", "t").join()

    def join(**options: object) -> int:
        return int(harness.answers[harness.join("", version=3, **options)].error_code)  # type: ignore[arg-type]

    assert join(protocol_type="connect") == 23
    assert join(protocols={}) == 23
    assert join(protocols={"range": b"?"}) == 23
    assert join(protocols={"range": subscription("t")}) == 0
    assert join(protocols={"range": subscription("t")}) == 81
    assert Consumer(harness, "n", "t").try_join() == 81


def test_no_downgrade_to_a_group_that_is_too_large() -> None:
    harness = started(GroupConfig(group_max_size=1))
    modern = Consumer(harness, "m", "t").join()
    classic = [ClassicConsumer(harness, "t").join() for _ in range(2)]
    modern.leave()
    assert isinstance(harness.shard._groups["g"], ModernGroup)
    classic[0].leave()
    assert isinstance(harness.shard._groups["g"], ClassicGroup)
    live(harness, classic[1])
    assert owned(classic[1]) == [ALL]


def test_words_of_consumers() -> None:
    owned_ = b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\7"
    found = read_subscription(b"\0\3\0\0\0\1\0\1t\0\0\0\1?" + owned_ + b"\0\0\0\5\0\4east" + b"later")
    assert found == (3, frozenset({"t"}), {"t": [0, 7]}, "east")
    assert read_subscription(b"\0\2\0\0\0\0\xff\xff\xff\xff" + owned_ + b"\0\0\0\5").rack is None
    assert read_subscription(subscription("t", "u")) == (0, frozenset({"t", "u"}), {}, None)
    made = write_assignment(9, {"t": [0, 7]})
    assert made == b"\0\3" + owned_ + b"\xff\xff\xff\xff"
    assert read_assignment(made) == ({"t": [0, 7]}, b"")
    assert read_assignment(b"") == ({}, b"")
    for bad in (b"", b"\xff\xff\0\0\0\0", b"\0\0\0\0\0\1\xff\xff", b"\0\0\x7f\0\0\0", b"\0\0\0\0\0\0"):
        with pytest.raises(Malformed):
            read_subscription(bad)
        if bad:
            with pytest.raises(Malformed):
                read_assignment(bad + b"\0\0\0")
    assert subscribed_topics(b"\0\0\0\0\0\1\0\1t") == {"t"}
