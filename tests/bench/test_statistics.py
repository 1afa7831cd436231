"""Middle, spread, chance."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.suite import statistics
from bench.suite.compare import Change
from bench.suite.statistics import chance, spread

SETS = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=6)


def test_sets_that_lie_apart() -> None:
    """Tables of the U test: of 252 ways to split ten values five and five, two are as extreme as this."""
    assert chance([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(2 / 252)
    assert chance([6, 7, 8], [1, 2, 3]) == pytest.approx(2 / 20)


def test_sets_of_one_kind() -> None:
    assert chance([1, 2, 3], [1, 2, 3]) == 1
    assert chance([5], [5]) == 1
    assert chance([1, 4, 5, 8], [2, 3, 6, 7]) == 1


@given(SETS, SETS)
def test_both_ways_alike(one: list[float], other: list[float]) -> None:
    found = chance(one, other)
    assert 0 < found <= 1
    assert found == pytest.approx(chance(other, one))


def test_many_values_are_taken_for_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(4)
    one, other = [dice.gauss(10, 1) for _ in range(8)], [dice.gauss(11, 1) for _ in range(8)]
    exact = chance(one, other)
    monkeypatch.setattr(statistics, "EXACT_BELOW", 0)
    assert chance(one, other) == pytest.approx(exact, abs=0.02)


@given(SETS)
def test_spread_is_a_part_of_the_middle(values: list[float]) -> None:
    assert spread(values) >= 0
    assert spread([values[0]] * 3) == 0


def test_a_verdict_needs_more_than_chance() -> None:
    assert Change("r", "t", "cpu_us", 10, 20, 0.2).verdict == "no difference"
    assert Change("r", "t", "cpu_us", 10, 20, 0.01).verdict == "dearer"
    assert Change("r", "t", "cpu_us", 20, 10, 0.01).verdict == "cheaper"
