"""Two runs beside each other: which rows got dearer or cheaper, and whether that is more than chance."""

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from bench.suite.report import OWN, cost_of
from bench.suite.results import Results, values
from bench.suite.statistics import chance

SURE = 0.05


class Change(NamedTuple):
    row: str
    target: str
    figure: str
    before: float
    after: float
    chance: float

    @property
    def ratio(self) -> float:
        return self.after / self.before if self.before else float("inf")

    @property
    def verdict(self) -> str:
        if self.chance > SURE:
            return "no difference"
        return "dearer" if self.after > self.before else "cheaper"


def changes(before: Results, after: Results) -> Iterator[Change]:
    """For every row, target and figure that both have."""
    earlier = {(row["workload"], row["row"]): row for row in before.rows}
    for row in after.rows:
        old = earlier.get((row["workload"], row["row"]))
        for target in row["outcomes"]:
            if old is not None and target in old["outcomes"]:
                figure = OWN[row["kind"]][0] if row["kind"] in OWN else cost_of(row, [target])[0]
                one, other = values(old, target, figure), values(row, target, figure)
                if one and other:
                    yield Change(row["row"], target, figure, median(one), median(other), chance(one, other))


def table(found: list[Change]) -> str:
    lines = ["| row | target | figure | before | after | ratio | chance | |", "|---|---|---|--:|--:|--:|--:|---|"]
    for each in found:
        lines.append(
            f"| {each.row} | {each.target} | {each.figure} | {each.before:.4g} | {each.after:.4g} | {each.ratio:.2f} | "
            f"{each.chance:.3f} | {each.verdict} |"
        )
    return "\n".join(lines)
