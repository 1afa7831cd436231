"""What a run says: a Markdown table, and a page that shows all of it without anything from outside."""

import base64
import html
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from bench.suite.results import Results, middle, percentile, ratio, spread_of

COSTS = (("cpu_us", "CPU µs per request"), ("cpu_s_million", "CPU s per million records"), ("cpu_share", "CPU share"))
"""The first that all targets have is shown."""
OWN = {
    "idle": ("idle_mb", "MB resident"),
    "start": ("first_ack_s", "s to the first acknowledged record"),
    "restart": ("first_ack_s", "s to the first acknowledged record"),
}
NONE = "-"
NOISY = 0.5
"""Waiting for a processor, as a part of waiting and running: a row above this was disturbed."""

Row = dict[str, Any]


class Table(NamedTuple):
    title: str
    shows: str
    head: list[str]
    lines: list[list[str]]


def tables(results: Results) -> Iterator[Table]:
    names = [each["name"] for each in results.targets]
    for workload, rows in groupby(results.rows, key=lambda row: row["workload"]):
        of_workload = list(rows)
        loads = [row for row in of_workload if row["kind"] not in OWN]
        if loads:
            yield _loads(workload, loads, names)
        for kind, (figure, title) in OWN.items():
            own = [row for row in of_workload if row["kind"] == kind]
            if own:
                yield _own(f"{workload}: {title}", own, names, figure)


def _loads(workload: str, rows: list[Row], names: Sequence[str]) -> Table:
    head = ["load", *(f"{name} cost" for name in names), *_against(names), *(f"{name} MB/s" for name in names)]
    head += [f"{name} p50 / p99 / p99.9 µs" for name in names]
    lines = []
    for row in rows:
        figure, _ = cost_of(row, names)
        costs = [_cost(row, name, figure) for name in names]
        rates = [plain(middle(row, name, "mb_s")) for name in names]
        times = [_times(row, name) for name in names]
        lines.append([row["row"], *costs, *_ratios(row, names, figure), *rates, *times])
    return Table(workload, rows[0]["shows"], head, lines)


def _own(title: str, rows: list[Row], names: Sequence[str], figure: str) -> Table:
    lines = []
    for row in rows:
        found = [plain(middle(row, name, figure)) for name in names]
        lines.append([row["row"], *found, *_ratios(row, names, figure)])
    return Table(title, rows[0]["shows"], ["row", *names, *_against(names)], lines)


def _against(names: Sequence[str]) -> list[str]:
    return [f"{name} ÷ {names[0]}" for name in names[1:]]


def _ratios(row: Row, names: Sequence[str], figure: str) -> list[str]:
    found = [ratio(row, name, names[0], lambda outcome: outcome.get(figure)) for name in names[1:]]
    return [NONE if each is None else f"{each:.2g}" if each < 10 else f"{each:.0f}" for each in found]


def cost_of(row: Row, names: Sequence[str]) -> tuple[str, str]:
    for figure, unit in COSTS:
        if all(middle(row, name, figure) is not None for name in names if row["outcomes"].get(name)):
            return figure, unit
    return COSTS[-1]


def _cost(row: Row, name: str, figure: str) -> str:
    found = middle(row, name, figure)
    if found is None:
        return NONE
    noisy = (middle(row, name, "wait_share") or 0) > NOISY
    text = f"{found:.0%}" if figure == "cpu_share" else f"{plain(found)}{'' if figure == 'cpu_us' else ' s/M'}"
    return f"{text} ± {spread_of(row, name, figure):.0%}{' (disturbed)' if noisy else ''}"


def _times(row: Row, name: str) -> str:
    found = [percentile(row, name, each) for each in ("50", "99", "99.9")]
    return " / ".join(NONE if each is None else f"{each:,.0f}" for each in found)


def plain(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def conditions(results: Results) -> str:
    machine, settings = results.conditions["machine"], results.conditions["settings"]
    versions = ", ".join(
        f"{each['name']} {each['version']}".strip() + f" ({each.get('settings', 'settings unknown')})"
        for each in results.targets
    )
    return (
        f"{versions}; {settings['repeats']} x {settings['seconds']:g} s in turns, {settings['driver']} driver; "
        f"{machine['processor']}, {machine['processors']} CPUs, {machine['memory_gb']} GB, Linux {machine['kernel']}, "
        f"{machine['congestion_control']}; fsync {settings.get('fsync', 'unknown')}; {results.conditions['begun']}. "
        "Cost is broker CPU, user and kernel, all its processes: µs per request where the client knows requests, s per "
        "million records (s/M) or a share of a CPU elsewhere; ± is half the range over the repeats. Ratios are medians "
        "over pairs of the same repeat."
    )


def markdown(results: Results) -> str:
    parts = []
    for table in tables(results):
        parts.append(f"### {table.title}\n\n{table.shows}\n")
        parts.append(_row(table.head))
        parts.append(_row(["---", *["--:"] * (len(table.head) - 1)]))
        parts += [_row(line) for line in table.lines]
        parts.append("")
    parts += [f"- {note}" for note in results.notes]
    parts += ["", conditions(results), ""]
    return "\n".join(parts)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1c1c22 }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid #dcdce4 }
th:first-child, td:first-child { text-align: left }
img { max-width: 100% }
"""


def page(results: Results, plots: Sequence[Path]) -> str:
    escape = html.escape
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>kafpy bench</title><style>{STYLE}</style>",
        f"<h1>kafpy bench</h1><p>{escape(conditions(results))}</p>",
    ]
    for table in tables(results):
        head = "".join(f"<th>{escape(each)}</th>" for each in table.head)
        lines = "".join(f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in line)}</tr>" for line in table.lines)
        parts.append(f"<h2>{escape(table.title)}</h2><p>{escape(table.shows)}</p>")
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>")
    if results.notes:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in results.notes)}</ul>")
    for plot in plots:
        data = base64.b64encode(plot.read_bytes()).decode()
        parts.append(f'<p><img alt="{escape(plot.stem)}" src="data:image/png;base64,{data}"></p>')
    return "\n".join([*parts, "</html>\n"])
