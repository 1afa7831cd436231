"""The table and the picture of a run."""

from itertools import groupby
from pathlib import Path
from typing import Any

Row = dict[str, Any]
COLOURS = ("#e07b39", "#2f6fde", "#4b9b6e", "#8c5fb0", "#f0b48a", "#8fb2f0", "#9fd0b4", "#b0475f", "#5f7fb0")


def table(rows: list[Row]) -> str:
    """Million rows a second, CPU of Spark and its workers per row, and both as ratios to the connector that reads the
    same columns from kafpy."""
    lines = [
        "| values | action | reader | M rows/s | of connector's | CPU µs/row | of connector's | broker µs/row |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        base = _connector(rows, row)
        lines.append(
            f"| {row['size']} B | {row['action']} | {row['name']} | {row['rows_per_s'] / 1e6:.2f} "
            f"| {row['rows_per_s'] / base['rows_per_s']:.2f} | {row['cpu_us_per_row']:.2f} "
            f"| {row['cpu_us_per_row'] / base['cpu_us_per_row']:.2f} | {row['broker_cpu_us_per_row']:.3f} |"
        )
    return "\n".join(lines) + "\n"


def _connector(rows: list[Row], row: Row) -> Row:
    wanted = "connector, value and offset" if "value and offset" in row["name"] else "connector"
    alike = (
        each for each in rows if (each["size"], each["action"], each["name"]) == (row["size"], row["action"], wanted)
    )
    return next(alike)


def draw(rows: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(row["name"] for row in rows))
    groups = [(f"{size} B, {action}", list(each)) for (size, action), each in groupby(rows, _place)]
    drawing, axes = pyplot.subplots(figsize=(10, 1.5 + 0.22 * len(rows)))
    height = 0.85 / len(names)
    for number, name in enumerate(names):
        found = [next(row for row in each if row["name"] == name)["rows_per_s"] / 1e6 for _, each in groups]
        places = [index + number * height for index in range(len(groups))]
        axes.barh(places, found, height * 0.92, color=COLOURS[number % len(COLOURS)], label=name)
    axes.set_yticks([index + 0.42 for index in range(len(groups))], [label for label, _ in groups])
    axes.invert_yaxis()
    axes.set_xlabel("million rows a second")
    axes.legend(fontsize=8, loc="lower right")
    axes.grid(axis="x", alpha=0.3)
    drawing.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(drawing)


def _place(row: Row) -> tuple[int, str]:
    return row["size"], row["action"]
