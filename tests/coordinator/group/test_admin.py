"""Listing and describing groups."""

import pytest

from tests.coordinator.group.harness import Harness, subscription


@pytest.fixture
def harness() -> Harness:
    made = Harness()
    made.stable(2, group="stable")
    made.stable(group="connect", protocol_type="connect", protocols={"x": b"meta"})
    made.commit({("t", 0): 1}, group="simple")
    made.join(made.stable(2, group="preparing")[0], group="preparing")
    return made


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        (set(), set(), {"stable", "connect", "simple", "preparing"}),
        ({"Stable"}, set(), {"stable", "connect"}),
        ({"stable ", "EMPTY"}, set(), {"stable", "connect", "simple"}),
        ({"PreparingRebalance"}, {"Classic"}, {"preparing"}),
        ({"Dead"}, set(), set()),
        (set(), {"consumer"}, set()),
        (set(), {"nonsense"}, set()),
        ({"nonsense"}, set(), set()),
    ],
)
def test_filters(harness: Harness, states: set[str], types: set[str], expected: set[str]) -> None:
    assert {each.group_id for each in harness.shard.list_groups(states, types)} == expected


def test_listed(harness: Harness) -> None:
    listed = {each.group_id: each for each in harness.shard.list_groups(set(), set())}
    assert (listed["connect"].protocol_type, listed["connect"].group_state) == ("connect", "Stable")
    assert (listed["simple"].protocol_type, listed["simple"].group_type) == ("", "classic")


def test_described(harness: Harness) -> None:
    group = harness.shard.describe_group("stable", 6)
    assert (group.error_code, group.group_state, group.protocol_type, group.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    assert [member.member_assignment for member in group.members] == [m.member_id.encode() for m in group.members]
    assert {member.member_metadata for member in group.members} == {subscription("t")}


def test_a_rebalance_hides_what_is_not_agreed_on(harness: Harness) -> None:
    group = harness.shard.describe_group("preparing", 6)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert {member.member_metadata for member in group.members} == {b""}


def test_unknown_groups_are_dead(harness: Harness) -> None:
    old = harness.shard.describe_group("nobody", 5)
    assert (old.error_code, old.group_state, old.error_message) == (0, "Dead", None)
    new = harness.shard.describe_group("nobody", 6)
    assert (new.error_code, new.group_state, new.error_message) == (69, "Dead", "Group nobody not found.")


def test_types(harness: Harness) -> None:
    types = {each.group_id: each.group_type for each in harness.shard.list_groups(set(), set())}
    assert types["simple"] == types["stable"] == "classic"
