"""A suite: every row against every target, in turns, several times.

A B A B, row by row, so that a noisy minute hits all of them; every target keeps running, warm, over all its loads. One
workload after the other, and its topics go when it is done. Rows that start brokers of their own (idle, start, restart)
come last, when the others are stopped.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from statistics import median

from bench.cost import servers, tools
from bench.cost.memory import Ballast, free_bytes
from bench.suite import drivers, measure
from bench.suite.drivers import Order
from bench.suite.measure import Outcome, RowFailed, Terms
from bench.suite.progress import Progress
from bench.suite.results import Results
from bench.suite.targets import Running, Target
from bench.suite.workload import LOADS, Load, Row, Topic, Workload

OWN = {"idle": measure.idle, "start": measure.start, "restart": measure.restart}
OWN_ESTIMATE_S = 12.0
WARMING_S_PER_GB = 1.0
QUICK_WARMING_S = 30.0
SPARE_S = 1.0
MOST_PER_REPEAT = 3_000_000_000
"""Bytes written to each target in one repeat of a workload: beyond the page cache it is the disk that is measured."""
MOST_PER_LOAD = 400_000_000
SPARE_DISK = 2 << 30
WARM_UP = (
    Load("produce", tools.SHAPES["1x1K"], in_flight=5, connections=3),
    Load("produce", tools.SHAPES["16x1K"], in_flight=5, connections=3),
    Load("fetch", max_bytes=1 << 20),
)


class SuiteError(Exception):
    """One line that says what to do."""


@dataclass(frozen=True)
class Plan:
    workloads: Sequence[Workload]
    targets: Sequence[Target]
    driver: str = "native"
    repeats: int = 5
    seconds: float = 3.0
    warm_memory: bool = True
    quick: bool = False
    data: Path = tools.BUILD / "data"

    @property
    def warming_s(self) -> float:
        """The most that may be spent on making memory warm."""
        return QUICK_WARMING_S if self.quick else float("inf")

    def rows(self) -> list[tuple[Workload, Row]]:
        every = [(workload, row) for workload in self.workloads for row in workload.rows]
        return [(workload, row) for workload, row in every if row.quick or not self.quick]


@dataclass
class _Lane:
    """A target that runs, and what is known of it."""

    target: Target
    running: Running
    ceilings: dict[str, list[float]] = field(default_factory=dict)


def run(plan: Plan, results: Results, note: Callable[[str], None]) -> None:
    """Fills `results`; a row that fails is told of and left out."""
    rows = plan.rows()
    if not rows:
        raise SuiteError("no row is to be run: --quick takes rows that say `quick: true`")
    loads = [(workload, row) for workload, row in rows if row.kind in LOADS]
    own = [(workload, row) for workload, row in rows if row.kind in OWN]
    with ExitStack() as stack:
        try:
            place = stack.enter_context(servers.workspace(plan.data))
        except OSError as error:
            raise SuiteError(f"cannot use {plan.data}: {error.strerror}") from None
        _check_disk(plan, place)
        progress = Progress(_estimates(plan, loads, own))
        if plan.warm_memory:
            progress.next(f"{free_bytes() / 1e9:.0f} GB of free memory are made warm")
        ballast = stack.enter_context(Ballast(place, plan.warm_memory, most_s=plan.warming_s))
        if ballast.short:
            note(f"warming memory was stopped after {plan.warming_s:.0f} s: the rest may look like a broker's cost")
        if loads:
            _run_loads(plan, loads, place, ballast, progress, results, note)
        for _ in range(plan.repeats):
            for workload, row in own:
                for target in plan.targets:
                    progress.next(f"{target.name}: {row.name}")
                    _own(workload, row, target, place, ballast, results, note)
        progress.end()


def _run_loads(
    plan: Plan,
    loads: list[tuple[Workload, Row]],
    place: Path,
    ballast: Ballast,
    progress: Progress,
    results: Results,
    note: Callable[[str], None],
) -> None:
    with ExitStack() as stack:
        lanes = []
        for target in plan.targets:
            progress.next(f"{target.name}: start and {target.warm_up_s:.0f} s of warming up")
            lane = _Lane(target, target.start(place / target.name))
            stack.callback(lane.running.stop)
            _warm_up(lane)
            lanes.append(lane)
        for workload, pairs in groupby(loads, key=lambda pair: pair[0]):
            rows = [row for _, row in pairs]
            try:
                _run_workload(plan, workload, rows, lanes, ballast, progress, results, note)
            finally:
                for lane in lanes:
                    measure.clear(lane.running, rows)


def _run_workload(
    plan: Plan,
    workload: Workload,
    rows: list[Row],
    lanes: list[_Lane],
    ballast: Ballast,
    progress: Progress,
    results: Results,
    note: Callable[[str], None],
) -> None:
    terms = Terms(plan.driver, plan.seconds, _most_bytes(rows))
    failed: set[tuple[str, str]] = set()
    for repeat in range(plan.repeats):
        for row in rows:
            ballast.fill()
            for lane in lanes:
                progress.next(f"{lane.target.name}: {row.name}, repeat {repeat + 1} of {plan.repeats}")
                key = lane.target.name, row.name
                if key in failed:
                    continue
                try:
                    outcome = _load(lane, lanes, row, terms, first=repeat == 0)
                except RowFailed as error:
                    failed.add(key)
                    note(f"{lane.target.name}: {row.name}: {error}")
                    continue
                results.add(workload, row, lane.target.name, outcome)


def _load(lane: _Lane, lanes: list[_Lane], row: Row, terms: Terms, *, first: bool) -> Outcome:
    assert row.load is not None
    if not drivers.serves(terms.driver, row.load):
        raise RowFailed(f"the {terms.driver} driver does not make this load")
    if first:
        measure.prepare(lane.running, row)
    outcome = measure.run_load(lane.running, row, _rate(row, lanes), terms)
    lane.ceilings.setdefault(row.name, []).append(outcome["requests_s"])
    return outcome


def _rate(row: Row, lanes: list[_Lane]) -> float:
    """The same for all targets: a part of what the slowest of them can do."""
    assert row.load is not None
    rate = row.load.rate
    if not rate.share:
        return rate.per_s
    if any(rate.of not in lane.ceilings for lane in lanes):
        raise RowFailed(f"its rate is a part of what {rate.of!r} can do, which has not been measured")
    return rate.share * min(median(lane.ceilings[rate.of]) for lane in lanes)


def _warm_up(lane: _Lane) -> None:
    row = Row("warm up", "produce", WARM_UP[0], Topic(partitions=3))
    measure.prepare(lane.running, row)
    server = replace(lane.running.server, topic=measure.topic_name(row))
    try:
        for load in WARM_UP:
            seconds = lane.target.warm_up_s / len(WARM_UP)
            drivers.make("native", Order(server, load, 3, 0, seconds, MOST_PER_REPEAT // 10))
    finally:
        measure.clear(lane.running, [row])


def _own(
    workload: Workload,
    row: Row,
    target: Target,
    place: Path,
    ballast: Ballast,
    results: Results,
    note: Callable[[str], None],
) -> None:
    if target.unmanaged:
        note(f"{target.name}: {row.name}: left out, {target.unmanaged}")
        return
    ballast.fill()
    data = place / f"{target.name}-{row.kind}"
    shutil.rmtree(data, ignore_errors=True)
    try:
        results.add(workload, row, target.name, OWN[row.kind](target, data, row))
    except RowFailed as error:
        note(f"{target.name}: {row.name}: {error}")
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _most_bytes(rows: Sequence[Row]) -> int:
    """Written by one run of a row that writes."""
    return min(MOST_PER_LOAD, MOST_PER_REPEAT // max(sum(map(_writes, rows)), 1))


def _writes(row: Row) -> bool:
    return row.kind in ("produce", "end-to-end")


def _estimates(plan: Plan, loads: list[tuple[Workload, Row]], own: list[tuple[Workload, Row]]) -> list[float]:
    warming = [min(free_bytes() / 1e9 * WARMING_S_PER_GB, plan.warming_s)] if plan.warm_memory else []
    warming += [target.warm_up_s + SPARE_S for target in plan.targets] if loads else []
    of_loads = [plan.seconds + SPARE_S] * (len(loads) * len(plan.targets) * plan.repeats)
    return [*warming, *of_loads, *[OWN_ESTIMATE_S] * (len(own) * len(plan.targets) * plan.repeats)]


def _check_disk(plan: Plan, place: Path) -> None:
    needed = most_written(plan) * len(plan.targets) + SPARE_DISK
    if shutil.disk_usage(place).free < needed:
        raise SuiteError(f"{plan.data} has less than {needed >> 30} GB free: use --data DIR, --repeats or --quick")


def most_written(plan: Plan) -> int:
    """Bytes, to one target, by the workload that writes most."""
    found = [0]
    for _, pairs in groupby(plan.rows(), key=lambda pair: pair[0]):
        rows = [row for _, row in pairs]
        found.append(sum(row.stored for row in rows) + plan.repeats * _most_bytes(rows) * sum(map(_writes, rows)))
    return max(found)
