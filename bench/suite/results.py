"""What a run found: one JSON file with everything, and the middle of it for tables."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.suite.statistics import spread
from bench.suite.workload import Row, Workload

FORMAT = 2


class NoResults(Exception):
    """Why a file cannot be read as results."""


@dataclass
class Results:
    conditions: dict[str, Any]
    """Machine, versions, settings."""
    targets: list[dict[str, str]]
    rows: list[dict[str, Any]] = field(default_factory=list)
    """workload, row, what it shows, and by target the outcomes of all repeats."""
    notes: list[str] = field(default_factory=list)

    def add(self, workload: Workload, row: Row, target: str, outcome: dict[str, Any]) -> None:
        found = next(
            (each for each in self.rows if each["workload"] == workload.name and each["row"] == row.name), None
        )
        if found is None:
            found = {
                "workload": workload.name,
                "shows": workload.shows,
                "curve": workload.curve,
                "row": row.name,
                "kind": row.kind,
                "headline": list(row.headline),
                "asked": _asked(row),
                "outcomes": {},
            }
            self.rows.append(found)
        found["outcomes"].setdefault(target, []).append(outcome)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=None) + "\n")


def _asked(row: Row) -> dict[str, Any]:
    return {
        "partitions": row.topic.partitions,
        "configs": dict(row.topic.configs),
        "load": asdict(row.load) if row.load else None,
        "beside": [asdict(each) for each in row.beside],
        "stored": row.stored,
    }


def read(path: Path) -> Results:
    """Of a file, or the file of a directory that a run wrote."""
    file = path / "results.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text())
        if found.pop("format") != FORMAT:
            raise NoResults(f"{file} was written by another version of this tool")
        return Results(**found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NoResults(f"{file} holds no results: {error}") from None


def values(row: dict[str, Any], target: str, figure: str) -> list[float]:
    return [each[figure] for each in row["outcomes"].get(target, ()) if each.get(figure) is not None]


def middle(row: dict[str, Any], target: str, figure: str) -> float | None:
    found = values(row, target, figure)
    return median(found) if found else None


def percentile(row: dict[str, Any], target: str, name: str) -> float | None:
    found = [
        each["percentiles"][name] for each in row["outcomes"].get(target, ()) if name in each.get("percentiles", {})
    ]
    return median(found) if found else None


def spread_of(row: dict[str, Any], target: str, figure: str) -> float:
    found = values(row, target, figure)
    return spread(found) if found else 0.0


def ratio(row: dict[str, Any], one: str, other: str, figure: Callable[[dict[str, Any]], float | None]) -> float | None:
    """The median over the repeats of one's figure to other's in the same repeat."""
    pairs = zip(row["outcomes"].get(one, ()), row["outcomes"].get(other, ()), strict=False)
    found = [(figure(a), figure(b)) for a, b in pairs]
    ratios = [a / b for a, b in found if a and b]
    return median(ratios) if ratios else None
