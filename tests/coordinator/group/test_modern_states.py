"""What each state of a modern group's member answers to each request, as Kafka does, and how it goes on from there."""

from collections.abc import Callable
from typing import Any

import pytest

from kafpy.coordinator.group.modern.state import GROUP_TRANSITIONS, MEMBER_TRANSITIONS, GroupState, MemberState
from tests.coordinator.group.consumer import ClassicConsumer, Consumer, image, settle, topic_id
from tests.coordinator.group.harness import Harness

NONE, ILLEGAL, UNKNOWN, NOT_FOUND, NON_EMPTY = 0, 22, 25, 69, 68
FENCED, STALE = 110, 113
T = topic_id("t")
ALL = range(6)


class Case:
    """A group in which the member "a" is in a state, at epoch 2; or there is no such group, or nobody in it."""

    def __init__(self, state: str) -> None:
        self.harness = Harness(image=image(t=6))
        self.a = Consumer(self.harness, "a", "t")
        if state == "Dead":
            self.a.epoch = 2
            return
        other = Consumer(self.harness, "b", "t")
        if state == "UNRELEASED_PARTITIONS":
            other.join()
            self.a.join()
        else:
            self.a.join()
            other.join()
            settle(self.a, other)
        if state == "UNREVOKED_PARTITIONS":
            Consumer(self.harness, "c", "t").join()
            self.a.send()
        self.a.epoch = 2
        if state == "Empty":
            self.a.leave(), other.leave()
            self.a.epoch = 2
        else:
            assert self.harness.shard._groups["g"].members["a"].state.name == state

    def send(self, epoch: int, **fields: Any) -> int:
        return int(self.harness.modern("a", epoch, **fields).error_code)

    def commit(self, epoch: int, partition: int = 0, member: str = "a") -> int:
        return self.harness.commit({("t", partition): 1}, member, epoch, topic_id=T)[0]

    def fetch(self, epoch: int, member: str | None = "a") -> int:
        return int(self.harness.fetch({"t": [0]}, member_id=member, epoch=epoch).error_code)


Request = Callable[[Case], int]
# Dead, Empty, STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS
TABLE: dict[str, tuple[Request, tuple[int, ...]]] = {
    "reports": (lambda case: case.send(2, owned=case.a.owned), (NOT_FOUND, UNKNOWN, NONE, NONE, NONE)),
    "says nothing": (lambda case: case.send(2), (NOT_FOUND, UNKNOWN, NONE, NONE, NONE)),
    "is ahead": (lambda case: case.send(3), (NOT_FOUND, UNKNOWN, FENCED, FENCED, FENCED)),
    "is behind": (lambda case: case.send(1, owned={T: ALL}), (NOT_FOUND, UNKNOWN, FENCED, FENCED, FENCED)),
    "joins again": (lambda case: case.a.try_join(), (NONE, NONE, NONE, NONE, NONE)),
    "joins as static": (
        lambda case: Consumer(case.harness, "s", "t", instance="i").try_join(),
        (NONE, NONE, NONE, NONE, NONE),
    ),
    "leaves": (lambda case: case.send(-1), (NOT_FOUND, UNKNOWN, NONE, NONE, NONE)),
    "leaves as static": (
        lambda case: case.send(-2, instance_id="i"),
        (NOT_FOUND, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    "stranger reports": (
        lambda case: case.harness.modern("x", 2).error_code,
        (NOT_FOUND, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    "commits": (lambda case: case.commit(2), (NOT_FOUND, UNKNOWN, NONE, NONE, NONE)),
    "commits ahead": (lambda case: case.commit(3), (NOT_FOUND, UNKNOWN, STALE, STALE, STALE)),
    "commits behind": (lambda case: case.commit(1), (NOT_FOUND, UNKNOWN, NONE, NONE, STALE)),
    "commits before": (lambda case: case.commit(0), (NOT_FOUND, UNKNOWN, STALE, STALE, STALE)),
    "commits what it lacks, behind": (lambda case: case.commit(1, 5), (NOT_FOUND, UNKNOWN, STALE, STALE, STALE)),
    "administrator commits": (lambda case: case.commit(-1, 0, ""), (NONE, NONE, UNKNOWN, UNKNOWN, UNKNOWN)),
    "fetches": (lambda case: case.fetch(2), (NONE, UNKNOWN, NONE, NONE, NONE)),
    "fetches behind": (lambda case: case.fetch(1), (NONE, UNKNOWN, STALE, STALE, STALE)),
    "administrator fetches": (lambda case: case.fetch(-1, None), (NONE, NONE, NONE, NONE, NONE)),
    "classic heartbeats": (
        lambda case: case.harness.heartbeat("a", 2),
        (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    "classic syncs": (
        lambda case: case.harness.answers[case.harness.sync("a", 2)].error_code,
        (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    "classic leaves": (
        lambda case: case.harness.leave(("a", None))[0],
        (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    "is deleted": (lambda case: case.harness.delete_group(), (NOT_FOUND, NONE, NON_EMPTY, NON_EMPTY, NON_EMPTY)),
    "is described": (
        lambda case: case.harness.shard.consumer_group_describe("g").error_code,
        (NOT_FOUND, NONE, NONE, NONE, NONE),
    ),
}
STATES = ("Dead", "Empty", "STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS")
CASES = [
    pytest.param(request, state, expected, id=f"{name}-{state}")
    for name, (request, row) in TABLE.items()
    for state, expected in zip(STATES, row, strict=True)
]


@pytest.mark.parametrize(("request_", "state", "expected"), CASES)
def test_answers(request_: Request, state: str, expected: int) -> None:
    case = Case(state)
    assert request_(case) == expected
    case.harness.advance(200_000)
    group = case.harness.shard._groups.get("g")
    assert group is None or group.is_idle
    assert case.harness.unanswered == set()


def test_the_tables_speak_of_all_states() -> None:
    for state in GroupState:
        assert any(state is after for _, after in GROUP_TRANSITIONS)
        assert any(state is before for before, _ in GROUP_TRANSITIONS)
    for member_state in MemberState:
        assert any(member_state is before for before, _ in MEMBER_TRANSITIONS)
    assert not any(before is after for before, after in [*GROUP_TRANSITIONS, *MEMBER_TRANSITIONS])


# What a classic member in a modern group is told: state of the member, then heartbeat, sync, a commit, join again
CLASSIC = {
    "STABLE": (0, 0, 0, 0),
    "BEHIND": (27, 27, 0, 0),
    "UNREVOKED_PARTITIONS": (27, 0, 0, 0),
    "UNRELEASED_PARTITIONS": (0, 0, 0, 0),
    "RELEASED": (27, 0, 0, 0),
}


def classic(state: str) -> tuple[Harness, ClassicConsumer]:
    harness = Harness(image=image(t=6))
    other = Consumer(harness, "b", "t").join()
    member = ClassicConsumer(harness, "t").join()
    if state in ("STABLE", "BEHIND", "UNREVOKED_PARTITIONS"):
        settle(other, member)
    if state in ("BEHIND", "UNREVOKED_PARTITIONS"):
        Consumer(harness, "c", "t").join()
        Consumer(harness, "d", "t").join()
    if state == "UNREVOKED_PARTITIONS":
        ticket = harness.join(member.member_id, protocols={"range": member.metadata()})
        member.generation = harness.answers[ticket].generation_id
    if state == "RELEASED":
        settle(other)
    found = harness.shard._groups["g"].members[member.member_id].state.name
    assert found == {"BEHIND": "STABLE", "RELEASED": "UNRELEASED_PARTITIONS"}.get(state, state)
    return harness, member


@pytest.mark.parametrize("state", CLASSIC)
@pytest.mark.parametrize("request_", range(4))
def test_classic_members_are_told(state: str, request_: int) -> None:
    harness, member = classic(state)
    who, generation = member.member_id, member.generation
    asked: list[Callable[[], int]] = [
        lambda: harness.heartbeat(who, generation),
        lambda: harness.answers[harness.sync(who, generation, protocol_type="consumer")].error_code,
        lambda: harness.commit({("t", 0): 1}, who, generation, version=8)[0],
        lambda: harness.answers[harness.join(who, protocols={"range": member.metadata()})].error_code,
    ]
    assert asked[request_]() == CLASSIC[state][request_]
    assert harness.heartbeat(who, generation + 10) == ILLEGAL
    assert harness.commit({("t", 0): 1}, who, generation + 10) == [ILLEGAL]
    assert harness.answers[harness.sync(who, generation, protocol_name="sticky")].error_code in (22, 23)
    assert harness.heartbeat(who, generation, instance="?") == UNKNOWN
    harness.advance(200_000)
    assert harness.shard._groups["g"].is_idle
