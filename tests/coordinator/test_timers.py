"""Timers against a plain dictionary of deadlines."""

from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st

from kafpy.coordinator.timers import Deadlines, Timers

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 1), st.integers(0, 3), st.integers(0, 20)),
        st.tuples(st.just("cancel"), st.integers(0, 1), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("advance"), st.just(0), st.just(0), st.integers(0, 10)),
        st.tuples(st.just("forget"), st.integers(0, 1), st.just(0), st.just(0)),
    ),
    max_size=60,
)


def due(timers: Timers, now: float) -> list[tuple[Deadlines, Hashable]]:
    found = []
    while (each := timers.pop_due(now)) is not None:
        found.append(each)
    return found


@given(STEPS)
def test_fires_what_a_dictionary_would(steps: list[tuple[str, int, int, int]]) -> None:
    timers, owners, model, now = Timers(), [Deadlines(), Deadlines()], dict[tuple[int, int], float](), 0.0
    for what, owner, key, amount in steps:
        if what == "set":
            timers.set(owners[owner], key, now + amount)
            model[owner, key] = now + amount
        elif what == "cancel":
            timers.cancel(owners[owner], key)
            model.pop((owner, key), None)
        elif what == "forget":
            timers.forget(owners[owner])
            model = {each: at for each, at in model.items() if each[0] != owner}
        else:
            now += amount
            fired = [(owners.index(found), key) for found, key in due(timers, now)]
            expected = {each: at for each, at in model.items() if at <= now}
            assert len(fired) == len(set(fired))
            assert set(fired) == expected.keys()
            model = {each: at for each, at in model.items() if at > now}
        if model:
            assert timers.next is not None
            assert timers.next <= min(model.values())


def test_in_order() -> None:
    timers, owner = Timers(), Deadlines()
    for key, at in (("c", 3), ("a", 1), ("b", 2)):
        timers.set(owner, key, at)
    timers.set(owner, "a", 2.5)
    assert [key for _, key in due(timers, 5)] == ["b", "a", "c"]


def test_moving_on_costs_no_entry() -> None:
    """A session that heartbeats move on stands in the heap once."""
    timers, owner = Timers(), Deadlines()
    for at in range(1000):
        timers.set(owner, "session", at + 10)
    assert len(timers._heap) == 1
    assert due(timers, 10) == []
    assert timers.next == 1009
