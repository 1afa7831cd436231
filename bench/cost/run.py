"""python -m bench.cost.run: what a request costs the broker, beside what its system calls cost a bare C loop.

Each load runs against the loop and the broker in turn, so a noisy minute hits both: the ratio is the figure that stays
true. It is the median of the pairs' ratios; the other columns are medians too.
"""

import argparse
import fnmatch
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median

from bench.cost import servers, tools
from bench.cost.loads import FILL, FILL_BYTES, LOADS, Load, LoadFailed, Result, measure
from bench.cost.memory import Ballast
from bench.cost.servers import Server

Pair = tuple[Result, Result]

PARTITIONS = 6
SPARE_DISK = 1 << 30
NOTE = (
    "Broker CPU per request, user and kernel; end to end it is CPU per batch, produced and fetched. Compressed batches "
    "are taken on header and CRC and not opened, by both."
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cost.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", metavar="HOST:PORT,pid=N[,N]", help="a running broker, not one of our own")
    parser.add_argument("--topic", default="cost", help="of the target; it has 6 partitions or more (default: cost)")
    parser.add_argument("--only", default="*", metavar="GLOB", help="of the loads' names")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--megabytes", type=int, default=400, help="a produce load ends after these, if before its time"
    )
    parser.add_argument("--data", type=Path, default=tools.BUILD / "data", metavar="DIR", help="a disk as the broker's")
    parser.add_argument("--warm", action="store_true", help="keep the page cache full: see bench/README.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run's figures")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    loads = [load for load in LOADS if fnmatch.fnmatch(load.name, asked.only)]
    if not loads:
        sys.exit(f"no load is called {asked.only!r}; there are: " + "; ".join(load.name for load in LOADS))
    stored = expected_bytes(loads, asked)
    with servers.workspace(asked.data) as directory, ExitStack() as stack:
        needed = stored * (1 if asked.target else 2) + SPARE_DISK
        if shutil.disk_usage(directory).free < needed:
            sys.exit(f"{asked.data} has less than {needed >> 30} GB free: use --only, --repeats or --megabytes")
        ballast = stack.enter_context(Ballast(directory, asked.warm))
        loop = stack.enter_context(servers.limit(directory, stored + SPARE_DISK))
        broker = stack.enter_context(measured_broker(asked, directory))
        rows = table(loads, (loop, broker), ballast, asked)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


def expected_bytes(loads: list[Load], asked: argparse.Namespace) -> int:
    runs = sum(load.stored_bytes(asked.seconds, asked.megabytes * 1_000_000) for load in loads)
    return runs * asked.repeats + FILL_BYTES


@contextmanager
def measured_broker(asked: argparse.Namespace, directory: Path) -> Iterator[Server]:
    if asked.target:
        yield servers.target(asked.target, asked.topic)
        return
    with servers.kafpy(directory / "kafpy") as broker:
        broker.create_topics({broker.topic: PARTITIONS})
        yield broker


def table(
    loads: list[Load], pair: tuple[Server, Server], ballast: Ballast, asked: argparse.Namespace
) -> list[dict[str, object]]:
    """Prints rows as they come; returns all figures."""
    name = "target" if asked.target else "kafpy"
    print(
        f"| load | C loop µs | {name} µs | ratio | C loop MB/s | {name} MB/s | C loop p50/p99 µs | {name} p50/p99 µs |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    if any(load.kind == "fetch" for load in loads):
        for server in pair:
            measure(server, FILL, 60, FILL_BYTES)
    rows: list[dict[str, object]] = []
    for load in loads:
        ballast.fill()
        try:
            runs = [measured_pair(pair, load, asked) for _ in range(asked.repeats)]
        except LoadFailed as failure:
            print(f"| {load.name} | failed: {failure} |", flush=True)
            continue
        print(row(load, runs), flush=True)
        rows.append({"load": load.name, "runs": [{"loop": asdict(c), name: asdict(b)} for c, b in runs]})
    print(f"\n{NOTE} {conditions(asked)}")
    return rows


def measured_pair(pair: tuple[Server, Server], load: Load, asked: argparse.Namespace) -> Pair:
    loop, broker = (measure(server, load, asked.seconds, asked.megabytes * 1_000_000) for server in pair)
    return loop, broker


def row(load: Load, pairs: list[Pair]) -> str:
    def middle(figure: Callable[[Result], float]) -> tuple[float, float]:
        return median(figure(loop) for loop, _ in pairs), median(figure(broker) for _, broker in pairs)

    cost, rate = middle(lambda result: result.broker_us), middle(lambda result: result.mb_s)
    p50, p99 = middle(lambda result: result.p50_us), middle(lambda result: result.p99_us)
    ratio = median(broker.broker_us / max(loop.broker_us, 0.01) for loop, broker in pairs)
    cells = [load.name, f"{cost[0]:.1f}", f"{cost[1]:.1f}", f"{ratio:.2f}", f"{rate[0]:.0f}", f"{rate[1]:.0f}"]
    cells += [f"{p50[side]:.0f}/{p99[side]:.0f}" for side in (0, 1)]
    return "| " + " | ".join(cells) + " |"


def conditions(asked: argparse.Namespace) -> str:
    warm = "warm memory" if asked.warm else "memory not warmed"
    return (
        f"Median of {asked.repeats} runs of {asked.seconds:g} s or {asked.megabytes} MB; {os.cpu_count()} CPUs, {warm}."
    )


if __name__ == "__main__":
    main()
