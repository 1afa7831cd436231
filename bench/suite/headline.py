"""The rows that say most, in one table: those whose workload asks for a `headline`."""

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

from bench.suite.report import NONE
from bench.suite.results import Results, ratio

Outcome = dict[str, Any]


class Figure(NamedTuple):
    title: str
    read: Callable[[Outcome], float | None]
    more_is_better: bool = False


def _percentile(name: str) -> Callable[[Outcome], float | None]:
    return lambda outcome: outcome.get("percentiles", {}).get(name)


FIGURES = {
    "cost": Figure("broker CPU per request, µs", lambda outcome: outcome.get("cpu_us")),
    "share": Figure("broker CPU, share of a core", lambda outcome: outcome.get("cpu_share")),
    "throughput": Figure("MB/s", lambda outcome: outcome.get("mb_s"), more_is_better=True),
    "p50": Figure("p50, µs", _percentile("50")),
    "p99": Figure("p99, µs", _percentile("99")),
    "memory": Figure("resident, MB", lambda outcome: outcome.get("idle_mb")),
    "time": Figure("to the first acknowledged record, s", lambda outcome: outcome.get("first_ack_s")),
}


def markdown(results: Results) -> str:
    ours, *others = [each["name"] for each in results.targets]
    head = ["", "", ours, *(text for name in others for text in (name, f"{ours} against {name}"))]
    lines = [head, ["---", "---", *["--:"] * (len(head) - 2)], *_lines(results, ours, others)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _lines(results: Results, ours: str, others: list[str]) -> Iterator[list[str]]:
    for row in results.rows:
        for name in row["headline"]:
            figure = FIGURES[name]
            line = [row["row"], figure.title, _value(row, ours, figure)]
            for other in others:
                line += [_value(row, other, figure), _times(row, ours, other, figure)]
            yield line


def _value(row: dict[str, Any], target: str, figure: Figure) -> str:
    found = [value for value in map(figure.read, row["outcomes"].get(target, ())) if value is not None]
    if not found:
        return NONE
    middle = median(found)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.1f}" if middle >= 10 else f"{middle:.2f}"


def _times(row: dict[str, Any], ours: str, other: str, figure: Figure) -> str:
    """How many times better: below 1 it is worse."""
    one, another = (ours, other) if figure.more_is_better else (other, ours)
    found = ratio(row, one, another, figure.read)
    if found is None:
        return NONE
    text = f"{found:.0f} x" if found >= 10 else f"{found:.1f} x" if found >= 1.95 else f"{found:.2f} x"
    return f"**{text}**" if found < 1 else text
