"""What each state answers to each request, as Kafka does."""

from typing import Any

import pytest

from kafpy.coordinator.group.state import ENTERED_FROM, State
from tests.coordinator.group.harness import REBALANCE_MS, Harness

NONE, ILLEGAL, UNKNOWN, REBALANCING = 0, 22, 25, 27
FENCED = 82
WAITS = "waits"


class Case:
    """A group brought into a state, with what requests to it need."""

    def __init__(self, state: State) -> None:
        self.harness = Harness()
        self.members: list[str] = ["nobody", "nobody"]
        self.instance = "i"
        getattr(self, state.name.lower())()
        assert self.harness.state() == state.value

    @property
    def generation(self) -> int:
        return self.harness.shard._groups["g"].generation if "g" in self.harness.shard._groups else 1

    def dead(self) -> None:
        pass

    def empty(self) -> None:
        self.stable()
        self.harness.leave(*((member, None) for member in self.members))

    def stable(self) -> None:
        self.members = self.harness.stable(2)

    def preparing_rebalance(self) -> None:
        self.stable()
        self.harness.join(self.members[0])

    def completing_rebalance(self) -> None:
        self.preparing_rebalance()
        self.harness.join(self.members[1])


def member_heartbeats(case: Case) -> Any:
    return case.harness.heartbeat(case.members[1], case.generation)


def member_heartbeats_of_old(case: Case) -> Any:
    return case.harness.heartbeat(case.members[1], case.generation - 1)


def stranger_heartbeats(case: Case) -> Any:
    return case.harness.heartbeat("stranger", case.generation)


def unknown_instance_heartbeats(case: Case) -> Any:
    return case.harness.heartbeat(case.members[1], case.generation, instance="?")


def answered(case: Case, ticket: int) -> Any:
    answer = case.harness.answer(ticket)
    return WAITS if answer is None else answer.error_code


def follower_syncs(case: Case) -> Any:
    return answered(case, case.harness.sync(case.members[1], case.generation))


def leader_syncs(case: Case) -> Any:
    return answered(case, case.harness.sync(case.members[0], case.generation, {}))


def follower_syncs_of_old(case: Case) -> Any:
    return answered(case, case.harness.sync(case.members[1], case.generation - 1))


def stranger_syncs(case: Case) -> Any:
    return answered(case, case.harness.sync("stranger", case.generation))


def follower_joins_again(case: Case) -> Any:
    return answered(case, case.harness.join(case.members[1]))


def follower_joins_with_news(case: Case) -> Any:
    return answered(case, case.harness.join(case.members[1], protocols={"range": b"\0\0\0\0\0\0"}))


def leader_joins_again(case: Case) -> Any:
    return answered(case, case.harness.join(case.members[0]))


def stranger_joins(case: Case) -> Any:
    return answered(case, case.harness.join("stranger"))


def newcomer_joins(case: Case) -> Any:
    return answered(case, case.harness.join(""))


def old_newcomer_joins(case: Case) -> Any:
    return answered(case, case.harness.join("", version=3))


def other_type_joins(case: Case) -> Any:
    return answered(case, case.harness.join("", protocol_type="connect"))


def other_protocol_joins(case: Case) -> Any:
    return answered(case, case.harness.join("", protocols={"sticky": b""}))


def nothing_in_common_joins(case: Case) -> Any:
    return answered(case, case.harness.join("", protocols={}))


def member_leaves(case: Case) -> Any:
    return case.harness.leave((case.members[1], None))[0]


def stranger_leaves(case: Case) -> Any:
    return case.harness.leave(("stranger", None))[0]


def member_commits(case: Case) -> Any:
    return case.harness.commit({("t", 0): 5}, case.members[1], case.generation)[0]


def member_commits_for_old(case: Case) -> Any:
    return case.harness.commit({("t", 0): 5}, case.members[1], case.generation - 1)[0]


def old_member_commits_for_old(case: Case) -> Any:
    return case.harness.commit({("t", 0): 5}, case.members[1], case.generation - 1, version=8)[0]


def admin_commits(case: Case) -> Any:
    return case.harness.commit({("t", 0): 5})[0]


def deleted(case: Case) -> Any:
    return case.harness.delete_group()


def offsets_deleted(case: Case) -> Any:
    return case.harness.delete_offsets({"other": [0]}).error_code


# Dead, Empty, PreparingRebalance, CompletingRebalance, Stable
TABLE = {
    member_heartbeats: (UNKNOWN, UNKNOWN, REBALANCING, NONE, NONE),
    member_heartbeats_of_old: (UNKNOWN, UNKNOWN, ILLEGAL, ILLEGAL, ILLEGAL),
    stranger_heartbeats: (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    unknown_instance_heartbeats: (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    follower_syncs: (UNKNOWN, UNKNOWN, REBALANCING, WAITS, NONE),
    leader_syncs: (UNKNOWN, UNKNOWN, REBALANCING, NONE, NONE),
    follower_syncs_of_old: (UNKNOWN, UNKNOWN, ILLEGAL, ILLEGAL, ILLEGAL),
    stranger_syncs: (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    follower_joins_again: (UNKNOWN, UNKNOWN, NONE, NONE, NONE),
    follower_joins_with_news: (UNKNOWN, UNKNOWN, NONE, WAITS, WAITS),
    leader_joins_again: (UNKNOWN, UNKNOWN, WAITS, NONE, WAITS),
    stranger_joins: (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    newcomer_joins: (79, 79, 79, 79, 79),
    old_newcomer_joins: (WAITS, WAITS, WAITS, WAITS, WAITS),
    other_type_joins: (79, 79, 23, 23, 23),
    other_protocol_joins: (79, 79, 23, 23, 23),
    nothing_in_common_joins: (23, 23, 23, 23, 23),
    member_leaves: (UNKNOWN, UNKNOWN, NONE, NONE, NONE),
    stranger_leaves: (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    member_commits: (69, UNKNOWN, NONE, REBALANCING, NONE),
    member_commits_for_old: (69, UNKNOWN, ILLEGAL, ILLEGAL, ILLEGAL),
    old_member_commits_for_old: (ILLEGAL, UNKNOWN, ILLEGAL, ILLEGAL, ILLEGAL),
    admin_commits: (NONE, NONE, UNKNOWN, UNKNOWN, UNKNOWN),
    deleted: (69, NONE, 68, 68, 68),
    offsets_deleted: (69, NONE, NONE, NONE, NONE),
}
STATES = (State.DEAD, State.EMPTY, State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE, State.STABLE)
CASES = [
    pytest.param(request, state, expected, id=f"{request.__name__}-{state.value}")
    for request, row in TABLE.items()
    for state, expected in zip(STATES, row, strict=True)
]


@pytest.mark.parametrize(("request_", "state", "expected"), CASES)
def test_answers(request_: Any, state: State, expected: Any) -> None:
    case = Case(state)
    assert request_(case) == expected
    case.harness.advance(10 * REBALANCE_MS)
    assert case.harness.unanswered == set()


@pytest.mark.parametrize(("state", "before"), [(state, before) for state in State for before in State])
def test_transitions(state: State, before: State) -> None:
    group = Case(State.EMPTY).harness.shard._groups["g"]
    group.state = before
    if before in ENTERED_FROM[state]:
        group.transition(state)
        assert group.state is state
    else:
        with pytest.raises(RuntimeError, match="does not go"):
            group.transition(state)
