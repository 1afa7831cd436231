"""Of repeats: the middle, the spread, and whether two sets of them differ."""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import median

EXACT_BELOW = 20_000
"""Ways to split the values that are all tried; more than that is taken for normal."""


def spread(values: Sequence[float]) -> float:
    """Half the distance between the smallest and the largest, as a part of the median; 0 for one value."""
    middle = median(values)
    return (max(values) - min(values)) / 2 / middle if middle else 0.0


def chance(one: Sequence[float], other: Sequence[float]) -> float:
    """How likely two sets of one kind are at least so far apart (Mann-Whitney U, two-sided)."""
    ranks = _ranks([*one, *other])
    least = len(one) * len(other) / 2
    found = abs(_u(ranks[: len(one)], len(one)) - least)
    if math.comb(len(ranks), len(one)) <= EXACT_BELOW:
        splits = [abs(_u(chosen, len(one)) - least) for chosen in combinations(ranks, len(one))]
        return sum(far >= found - 1e-9 for far in splits) / len(splits)
    deviation = math.sqrt(len(one) * len(other) * (len(ranks) + 1) / 12)
    return math.erfc(max(found - 0.5, 0) / deviation / math.sqrt(2))


def _u(ranks: Sequence[float], count: int) -> float:
    return sum(ranks) - count * (count + 1) / 2


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; equals share the middle of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for index in order[at:end]:
            ranks[index] = (at + end + 1) / 2
        at = end
    return ranks
