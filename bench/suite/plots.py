"""Pictures of a run: what requests cost, how latency is spread, how cost grows."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.suite.report import OWN, cost_of, plain
from bench.suite.results import Results, middle, values

COLOURS = ("#2f6fde", "#e07b39", "#4b9b6e", "#8c5fb0", "#b0475f")
DOTS = 110
MOST_ROWS = 16
THROUGHPUT = ("mb_s", "MB/s")

Row = dict[str, Any]


def draw(results: Results, folder: Path) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []
    for name, figure in _figures(results):
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=DOTS, bbox_inches="tight")
        pyplot.close(figure)
        made.append(path)
    return made


def _figures(results: Results) -> Iterator[tuple[str, Any]]:
    names = [each["name"] for each in results.targets]
    for workload, of_workload in groupby(results.rows, key=lambda row: row["workload"]):
        rows = list(of_workload)
        for kind, (figure, unit) in OWN.items():
            own = [row for row in rows if row["kind"] == kind]
            if own:
                yield f"{workload}-{kind}", _bars(f"{workload}: {kind}", own, names, [(figure, unit)])
        loads = [row for row in rows if row["kind"] not in OWN]
        if not loads:
            continue
        for cost, of_cost in groupby(
            sorted(loads, key=lambda row: cost_of(row, names)[0]), key=lambda row: cost_of(row, names)
        ):
            found = list(of_cost)[:MOST_ROWS]
            yield f"{workload}-{cost[0].replace('_', '-')}", _bars(workload, found, names, [cost, THROUGHPUT])
        timed = [row for row in loads if any(_latencies(row, name) for name in names)]
        if timed:
            yield f"{workload}-latency", _cdf(workload, timed[:MOST_ROWS], names)
        if loads[0]["curve"]:
            yield f"{workload}-curve", _curve(workload, loads, names, loads[0]["curve"])


def _bars(title: str, rows: list[Row], names: list[str], figures: list[tuple[str, str]]) -> Any:
    """A panel for each figure that was measured, the same rows in all."""
    from matplotlib import pyplot

    shown = [each for each in figures if any(middle(row, name, each[0]) for row in rows for name in names)]
    shown = shown or figures[:1]
    size = (5.5 + 4.0 * len(shown), 1.1 + (0.2 + 0.22 * len(names)) * len(rows))
    drawing, grid = pyplot.subplots(1, len(shown), sharey=True, squeeze=False, figsize=size, layout="constrained")
    for axes, (figure, unit) in zip(grid.flat, shown, strict=True):
        _panel(axes, rows, names, figure)
        axes.set_xlabel(unit)
    first = grid.flat[0]
    first.set_yticks(range(len(rows)), [row["row"] for row in rows])
    first.invert_yaxis()
    _titled(drawing, first, title)
    return drawing


def _panel(axes: Any, rows: list[Row], names: list[str], figure: str) -> None:
    height = 0.8 / len(names)
    for number, name in enumerate(names):
        for index, row in enumerate(rows):
            centre = middle(row, name, figure)
            if centre is None:
                continue
            found = values(row, name, figure)
            place = index + (number + 0.5) * height - 0.4
            colour, label = COLOURS[number % len(COLOURS)], name if index == _first_with(rows, name, figure) else None
            reach = [[centre - min(found)], [max(found) - centre]]
            axes.barh(place, centre, height * 0.9, xerr=reach, color=colour, label=label, ecolor="#555560")
            axes.text(max(found), place, f" {plain(centre)}", va="center", fontsize=8)
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)


def _first_with(rows: list[Row], name: str, figure: str) -> int:
    return next(index for index, row in enumerate(rows) if middle(row, name, figure) is not None)


def _titled(drawing: Any, axes: Any, title: str) -> None:
    """The title at the left, and what the colours mean at the right, above all panels."""
    drawing.suptitle(title, x=0.01, ha="left")
    handles, labels = axes.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside upper right", ncols=len(labels) or 1, frameon=False)


def _latencies(row: Row, name: str) -> list[tuple[int, int]]:
    counted: Counter[int] = Counter()
    for outcome in row["outcomes"].get(name, ()):
        for us, count in outcome.get("latencies", ()):
            counted[us] += count
    return sorted(counted.items())


def _cdf(title: str, rows: list[Row], names: list[str]) -> Any:
    """How many are slower, on scales where a nine more is a step down and ten times slower a step to the right."""
    from matplotlib import pyplot

    columns = min(2, len(rows))
    lines = -(-len(rows) // columns)
    size = (5.5 * columns, 0.4 + 3.0 * lines)
    drawing, grid = pyplot.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    most = grid.flat[0]
    for axes, row in zip(grid.flat, rows, strict=False):
        for number, name in enumerate(names):
            found = _latencies(row, name)
            if found:
                axes.step(*_slower(found), color=COLOURS[number % len(COLOURS)], label=name, where="post")
        axes.set(xscale="log", yscale="log", ylabel="percentile")
        axes.set_title(row["row"], fontsize=10)
        axes.xaxis.set_major_formatter(lambda us, _: _duration(us))
        axes.yaxis.set_major_formatter(lambda share, _: _percentile(share))
        axes.grid(True, which="major", alpha=0.3)
        if len(axes.get_lines()) > len(most.get_lines()):
            most = axes
    for axes in list(grid.flat)[len(rows) :]:
        axes.set_visible(False)
    _titled(drawing, most, f"{title}: latency")
    return drawing


def _duration(us: float) -> str:
    return f"{us:g} µs" if us < 1e3 else f"{us / 1e3:g} ms" if us < 1e6 else f"{us / 1e6:g} s"


def _percentile(share: float) -> str:
    """0.001 are slower: p99.9."""
    return f"p{100 - 100 * share:.7g}"


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

    drawing, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    figure, unit = cost_of(rows[0], names)
    for number, name in enumerate(names):
        points = [(_x(row, by), middle(row, name, figure)) for row in rows]
        known = sorted((x, y) for x, y in points if y is not None)
        if known:
            axes.plot(*zip(*known, strict=True), "o-", color=COLOURS[number % len(COLOURS)], label=name)
    axes.set(xscale="log", xlabel=by, ylabel=unit)
    places = sorted({_x(row, by) for row in rows})
    axes.set_xticks(places, [f"{each:,}" for each in places])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    _titled(drawing, axes, f"{title}: {unit} by {by}")
    return drawing


def _x(row: Row, by: str) -> int:
    asked = row["asked"]
    return int(asked["partitions"] if by == "partitions" else (asked["load"] or {}).get("connections", 1))
