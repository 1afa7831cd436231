"""What the assignors promise: everything is assigned, evenly, and little moves."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafpy.coordinator.group.modern.assignment import Target
from kafpy.coordinator.group.modern.assignor import Assignor, Problem, Subscriber, TopicLayout, targets
from kafpy.coordinator.group.modern.racks import prefer_racks
from kafpy.coordinator.group.modern.range import range_
from kafpy.coordinator.group.modern.uniform import uniform

ASSIGNORS = pytest.mark.parametrize("assignor", [uniform, range_])
IDS = [bytes([65 + each]) * 16 for each in range(4)]
RACKS = "abc"


def layout(size: int, racks: str = "") -> TopicLayout:
    return TopicLayout(size, tuple(frozenset(racks[at % len(racks)]) for at in range(size)) if racks else ())


def assign(assignor: Assignor, problem: Problem) -> dict[str, Target]:
    draw = assignor(problem)
    prefer_racks(problem, draw)
    return targets(draw)


def problem(
    members: dict[str, frozenset[bytes]],
    topics: dict[bytes, TopicLayout],
    owned: dict[str, Target] | None = None,
    racks: dict[str, str] | None = None,
) -> Problem:
    had, where = owned or {}, racks or {}
    subscribers = {
        each: Subscriber(frozenset(members[each] & topics.keys()), had.get(each, {}), where.get(each))
        for each in sorted(members)
    }
    return Problem(subscribers, topics)


def size(target: Target) -> int:
    return sum(map(len, target.values()))


def check_complete(given_: Problem, drawn: dict[str, Target]) -> None:
    """Every partition that anybody wants has one owner, who wants it."""
    owners: dict[tuple[bytes, int], str] = {}
    for member_id, target in drawn.items():
        assert target.keys() <= given_.members[member_id].topics
        for topic_id, partitions in target.items():
            for partition in partitions:
                assert owners.setdefault((topic_id, partition), member_id) == member_id
    wanted = frozenset().union(*(member.topics for member in given_.members.values()))
    assert owners.keys() == {(topic_id, at) for topic_id in wanted for at in range(given_.topics[topic_id].size)}


def moved(before: dict[str, Target], after: dict[str, Target]) -> int:
    """Partitions that a member gave up although they are still there."""
    return sum(
        len(partitions - after[member_id].get(topic_id, frozenset()))
        for member_id, target in before.items()
        if member_id in after
        for topic_id, partitions in target.items()
    )


names = st.sampled_from([f"m{each}" for each in range(7)])
subscriptions = st.frozensets(st.sampled_from(IDS), max_size=4)
layouts = st.dictionaries(
    st.sampled_from(IDS), st.builds(layout, st.integers(0, 9), st.sampled_from(["", "a", "ab", "abc"])), max_size=4
)
racks = st.dictionaries(names, st.sampled_from(RACKS), max_size=7)


@ASSIGNORS
@given(steps=st.lists(st.tuples(st.dictionaries(names, subscriptions, min_size=1), layouts, racks), max_size=4))
@settings(max_examples=60, deadline=None)
def test_everything_is_assigned_whatever_comes(
    assignor: Assignor, steps: list[tuple[dict[str, frozenset[bytes]], dict[bytes, TopicLayout], dict[str, str]]]
) -> None:
    drawn: dict[str, Target] = {}
    for members, topics, where in steps:
        given_ = problem(members, topics, drawn, where)
        drawn = assign(assignor, given_)
        check_complete(given_, drawn)
        assert assign(assignor, given_) == drawn
        assert assign(assignor, problem(members, topics, drawn, where)) == drawn  # nothing moves without a reason


@given(
    joins=st.lists(st.sets(names, min_size=1), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_uniform_is_even_and_moves_only_what_it_must(joins: list[set[str]], sizes: list[int]) -> None:
    topics = {topic_id: layout(each) for topic_id, each in zip(IDS, sizes, strict=False)}
    total = sum(sizes)
    drawn: dict[str, Target] = {}
    for group in joins:
        before = drawn
        drawn = assign(uniform, problem(dict.fromkeys(group, frozenset(topics)), topics, before))
        quota, extra = divmod(total, len(group))
        assert sorted(map(size, drawn.values())) == [quota] * (len(group) - extra) + [quota + 1] * extra
        had = sorted((size(before[each]) for each in before if each in group), reverse=True)
        allowed = [quota + 1] * extra + [quota] * (len(group) - extra)
        assert moved(before, drawn) == sum(max(0, each - allowed[at]) for at, each in enumerate(had))


@given(members=st.dictionaries(names, subscriptions, min_size=1), topics=layouts, after=st.sets(names))
@settings(max_examples=80, deadline=None)
def test_uniform_of_different_topics_leaves_nothing_to_improve(
    members: dict[str, frozenset[bytes]], topics: dict[bytes, TopicLayout], after: set[str]
) -> None:
    drawn = assign(uniform, problem(members, topics))
    for group in (members, {each: members[each] for each in members if each not in after}):
        given_ = problem(group, topics, drawn)
        drawn = assign(uniform, given_)
        for giver, taker in permutations(drawn, 2):
            if size(drawn[giver]) > size(drawn[taker]) + 1:
                assert not drawn[giver].keys() & given_.members[taker].topics


@given(group=st.sets(names, min_size=1), more=st.sets(names), count=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_range_is_even_in_every_topic_and_the_same_in_all(group: set[str], more: set[str], count: int) -> None:
    topics = {topic_id: layout(count) for topic_id in IDS}
    drawn: dict[str, Target] = {}
    for members in (group, group | more, more or group):
        drawn = assign(range_, problem(dict.fromkeys(members, frozenset(IDS)), topics, drawn))
        for target in drawn.values():
            assert len(set(target.values())) <= 1  # co-partitioned
        sizes = [len(target.get(IDS[0], ())) for target in drawn.values()]
        assert max(sizes) - min(sizes) <= 1


def test_range_gives_ranges() -> None:
    topics = {IDS[0]: layout(7)}
    drawn = assign(range_, problem(dict.fromkeys("abc", frozenset(topics)), topics))
    assert [sorted(drawn[each][IDS[0]]) for each in "abc"] == [[0, 1, 2], [3, 4], [5, 6]]


@ASSIGNORS
def test_racks_are_preferred_at_no_cost(assignor: Assignor) -> None:
    topics = {IDS[0]: layout(9, "abc"), IDS[1]: layout(9, "abc")}
    members = {f"m{at}": frozenset(topics) for at in range(3)}
    where = {f"m{at}": RACKS[at] for at in range(3)}
    given_ = problem(members, topics, racks=where)
    drawn = assign(assignor, given_)
    check_complete(given_, drawn)
    assert {size(each) for each in drawn.values()} == {6}
    for member_id, target in drawn.items():
        for topic_id, partitions in target.items():
            here = [where[member_id] in topics[topic_id].racks[each] for each in partitions]
            assert all(here) or assignor is uniform
    matches = sum(
        where[member_id] in topics[topic_id].racks[each]
        for member_id, target in drawn.items()
        for topic_id, partitions in target.items()
        for each in partitions
    )
    blind = assign(assignor, problem(members, topics))
    assert matches > sum(
        where[member_id] in topics[topic_id].racks[each]
        for member_id, target in blind.items()
        for topic_id, partitions in target.items()
        for each in partitions
    )
    assert assign(assignor, problem(members, topics, blind, where)) == blind  # what is assigned already stays


def test_members_without_anything_to_subscribe_to() -> None:
    assert uniform(problem({}, {})) == {}
    assert range_(problem({}, {})) == {}
    assert assign(uniform, problem({"m": frozenset(IDS)}, {})) == {"m": {}}


def test_a_partition_of_two_members_stays_with_the_first() -> None:
    topics = {IDS[0]: layout(2)}
    both = {"a": {IDS[0]: frozenset({0, 1})}, "b": {IDS[0]: frozenset({0, 1})}}
    for assignor in (uniform, range_):
        given_ = problem(dict.fromkeys("ab", frozenset(topics)), topics, both)
        check_complete(given_, assign(assignor, given_))
