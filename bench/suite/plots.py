"""Pictures of a run: what requests cost, how latency is spread, how cost grows."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.suite.report import OWN, cost_of
from bench.suite.results import Results, middle, values

COLOURS = ("#2f6fde", "#e07b39", "#4b9b6e", "#8c5fb0", "#b0475f")
DOTS = 110
MOST_ROWS = 16

Row = dict[str, Any]


def draw(results: Results, folder: Path) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    made = []
    for name, figure in _figures(results):
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=DOTS, bbox_inches="tight")
        made.append(path)
    return made


def _figures(results: Results) -> Iterator[tuple[str, Any]]:
    names = [each["name"] for each in results.targets]
    for workload, rows in groupby(results.rows, key=lambda row: row["workload"]):
        loads = [row for row in rows if row["kind"] not in OWN]
        if not loads:
            continue
        for figure, of_figure in groupby(
            sorted(loads, key=lambda row: cost_of(row, names)[0]), key=lambda row: cost_of(row, names)
        ):
            found = list(of_figure)[:MOST_ROWS]
            yield f"{workload}-{figure[0].replace('_', '-')}", _bars(workload, found, names, *figure)
        timed = [row for row in loads if _latencies(row, names[0])]
        if timed:
            yield f"{workload}-latency", _cdf(workload, timed[:MOST_ROWS], names)
        if loads[0]["curve"]:
            yield f"{workload}-curve", _curve(workload, loads, names, loads[0]["curve"])


def _bars(title: str, rows: list[Row], names: list[str], figure: str, unit: str) -> Any:
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(9, 1.2 + 0.5 * len(rows)))
    height = 0.8 / len(names)
    for number, name in enumerate(names):
        places = [index + number * height for index in range(len(rows))]
        lengths = [middle(row, name, figure) or 0 for row in rows]
        spreads = [_range(row, name, figure) for row in rows]
        errors = [[low for low, _ in spreads], [high for _, high in spreads]]
        axes.barh(places, lengths, height * 0.9, xerr=errors, color=COLOURS[number % len(COLOURS)], label=name)
    axes.set_yticks([index + 0.4 - height / 2 for index in range(len(rows))], [row["row"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(f"{title}: {unit}")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return drawing


def _range(row: Row, name: str, figure: str) -> tuple[float, float]:
    found, centre = values(row, name, figure), middle(row, name, figure)
    return (centre - min(found), max(found) - centre) if found and centre is not None else (0.0, 0.0)


def _latencies(row: Row, name: str) -> list[tuple[int, int]]:
    counted: Counter[int] = Counter()
    for outcome in row["outcomes"].get(name, ()):
        for us, count in outcome.get("latencies", ()):
            counted[us] += count
    return sorted(counted.items())


def _cdf(title: str, rows: list[Row], names: list[str]) -> Any:
    """How many are slower: to the right is worse, and a step down is a nine more."""
    from matplotlib import pyplot

    columns = min(2, len(rows))
    lines = -(-len(rows) // columns)
    drawing, grid = pyplot.subplots(lines, columns, figsize=(5.5 * columns, 3.2 * lines), squeeze=False)
    for axes, row in zip(grid.flat, rows, strict=False):
        for number, name in enumerate(names):
            found = _latencies(row, name)
            if found:
                axes.step(*_slower(found), color=COLOURS[number % len(COLOURS)], label=name, where="post")
        axes.set(xscale="log", yscale="log", xlabel="µs", ylabel="share slower", title=row["row"])
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    for axes in list(grid.flat)[len(rows) :]:
        axes.set_visible(False)
    drawing.suptitle(f"{title}: latency")
    drawing.tight_layout()
    return drawing


def _slower(found: list[tuple[int, int]]) -> tuple[list[int], list[float]]:
    total = left = sum(count for _, count in found)
    times, shares = [], []
    for us, count in found:
        left -= count
        if left:
            times.append(max(us, 1))
            shares.append(left / total)
    return times, shares


def _curve(title: str, rows: list[Row], names: list[str], by: str) -> Any:
    from matplotlib import pyplot

    drawing, axes = pyplot.subplots(figsize=(8, 4.5))
    figure, unit = cost_of(rows[0], names)
    for number, name in enumerate(names):
        points = [(_x(row, by), middle(row, name, figure)) for row in rows]
        known = sorted((x, y) for x, y in points if y is not None)
        if known:
            axes.plot(*zip(*known, strict=True), "o-", color=COLOURS[number % len(COLOURS)], label=name)
    axes.set(xscale="log", xlabel=by, ylabel=unit, title=f"{title}: {unit} by {by}")
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.3)
    axes.legend(frameon=False)
    return drawing


def _x(row: Row, by: str) -> int:
    asked = row["asked"]
    return int(asked["partitions"] if by == "partitions" else (asked["load"] or {}).get("connections", 1))
