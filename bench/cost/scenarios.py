"""python -m bench.cost.scenarios: whether a produce request costs the same whatever else the broker holds or does.

Each scenario has a plain and a burdened side, measured in turn. Nothing is subtracted: while a client asks for Metadata
the whole process also pays for that, so the planes' threads, which serve Produce and Fetch, are shown besides.
"""

import argparse
import fnmatch
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from bench.cost import servers, tools
from bench.cost.loads import Load, command, measure
from bench.cost.memory import Ballast
from bench.cost.servers import PLANE, Server
from kafpy.protocol import api

LOADS = [
    Load("1 KB, 5 in flight", "produce", batch="1x1K", in_flight=5),
    Load("16 KB, 5 in flight", "produce", batch="16x1K", in_flight=5),
]
FILL = Load("fill", "produce", batch="1000x1K", in_flight=2, connections=6, partitions=6)
COLD_READER = Load("cold reader", "fetch", max_bytes=1 << 20, rate=200)
RUN_BYTES = 200_000_000
STORED = (100_000_000, 10_000_000_000)
STORED_DISK = 15_000_000_000
COLD_BYTES = 2_000_000_000
COLD_DISK = 4_000_000_000
TOPICS = 1000
IDLE_SECONDS = 10

Meanwhile = Callable[[], AbstractContextManager[None]]


class Skipped(Exception):
    """Why a scenario cannot run here."""


@dataclass(frozen=True)
class Side:
    """One side of a scenario: a broker, and what goes on while it is measured."""

    broker: Server
    meanwhile: Meanwhile = nullcontext


@dataclass(frozen=True)
class Cost:
    process_us: float
    plane_us: float
    p99_us: float


@dataclass(frozen=True)
class Room:
    directory: Path
    seconds: float
    repeats: int
    ballast: Ballast

    def need_disk(self, size: int) -> None:
        if (free := shutil.disk_usage(self.directory).free) < size:
            raise Skipped(f"{self.directory} has {free // 10**9} GB free, {size // 10**9} GB are needed")


# ---- measuring


def produce_cost(side: Side, load: Load, seconds: float) -> Cost:
    with side.meanwhile():
        before = side.broker.thread_cpu_s(PLANE)
        result = measure(side.broker, load, seconds, RUN_BYTES)
        plane = side.broker.thread_cpu_s(PLANE) - before
    return Cost(result.broker_us, plane / result.requests * 1e6, result.p99_us)


def compare(room: Room, name: str, plain: Side, burdened: Side) -> None:
    """Prints a row per load."""
    for load in LOADS:
        room.ballast.fill()
        pairs = [
            (produce_cost(plain, load, room.seconds), produce_cost(burdened, load, room.seconds))
            for _ in range(room.repeats)
        ]
        cells = [f"{name}; {load.name}"]
        for figure in ("process_us", "plane_us"):
            both = [(getattr(one, figure), getattr(other, figure)) for one, other in pairs]
            ratio = median(other / max(one, 0.01) for one, other in both)
            cells.append(f"{median(one for one, _ in both):.1f} → {median(other for _, other in both):.1f}")
            cells.append(f"{ratio:.2f}")
        cells.append(f"{median(one.p99_us for one, _ in pairs):.0f} → {median(other.p99_us for _, other in pairs):.0f}")
        print("| " + " | ".join(cells) + " |", flush=True)


@contextmanager
def background(arguments: list[str], seen: list[dict[str, float]]) -> Iterator[None]:
    """A process that prints a line of JSON when it is done; the line goes to `seen`."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=tools.ROOT)
    time.sleep(0.3)
    try:
        yield
        output, _ = process.communicate(timeout=60)
        seen.append(json.loads(output))
    finally:
        process.kill()
        process.wait()


def hammering(broker: Server, seconds: float, seen: list[dict[str, float]]) -> Meanwhile:
    arguments = [sys.executable, "-m", "bench.cost.hammer", broker.host, str(broker.port), str(seconds + 0.5)]
    return lambda: background(arguments, seen)


# ---- scenarios


def many_partitions(room: Room) -> None:
    """10 and 10,000 partitions on disk."""
    wanted = 10_000
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if allowed < wanted + 200:
        raise Skipped(f"{allowed} descriptors are allowed, each of {wanted} partitions holds one: see ulimit -Hn")
    with (
        servers.kafpy(room.directory / "few") as few,
        servers.kafpy(room.directory / "many") as many,
    ):
        few.create_topics({few.topic: 10})
        many.create_topics({many.topic: 10})
        for number in range(wanted // 1000):
            many.create_topics({f"many-{number}": 1000 if number else 990})
        compare(room, "10 → 10,000 partitions", Side(few), Side(many))
        fact("resident with 10 and 10,000 partitions", f"{few.resident_mb():.0f}, {many.resident_mb():.0f} MB")


def much_stored(room: Room) -> None:
    """100 MB and 10 GB stored in six partitions."""
    room.need_disk(STORED_DISK)
    little, much = STORED
    with (
        servers.kafpy(room.directory / "little") as light,
        servers.kafpy(room.directory / "much") as heavy,
    ):
        for broker, size in ((light, little), (heavy, much)):
            broker.create_topics({broker.topic: 6})
            measure(broker, FILL, 600, size)
        compare(room, "100 MB → 10 GB stored", Side(light), Side(heavy))


def metadata_hammer(room: Room) -> None:
    """Alone, and while a client asks for the Metadata of 1,000 topics of 6 partitions; then that request's own cost."""
    seen: list[dict[str, float]] = []
    with servers.kafpy(room.directory / "hammer") as broker:
        broker.create_topics({broker.topic: 6})
        for first in range(0, TOPICS - 1, 100):
            broker.create_topics({f"topic-{number}": 6 for number in range(first, min(first + 100, TOPICS - 1))})
        hammer = hammering(broker, room.seconds, seen)
        compare(room, "alone → Metadata hammer", Side(broker), Side(broker, hammer))
        before = broker.cpu_s()
        with hammer():
            pass
        alone = seen[-1]
        cost = (broker.cpu_s() - before) / alone["requests"] * 1e3
        fact(f"Metadata, {TOPICS} topics x 6", f"{cost:.2f} ms of CPU, p50 {alone['p50_us'] / 1e3:.2f} ms")


def cold_reader(room: Room) -> None:
    """A reader at 200 MB/s of what is in the page cache, and of what is not."""
    room.need_disk(COLD_DISK)
    seen: list[dict[str, float]] = []
    with servers.kafpy(room.directory / "cold") as broker:
        old = replace(broker, topic="old")
        broker.create_topics({broker.topic: 6, old.topic: 1})
        measure(old, replace(FILL, connections=1), 600, COLD_BYTES)
        segments = sorted((room.directory / "cold" / "old-0").glob("*.log"))

        def reading(cold: bool) -> Meanwhile:
            return lambda: read_beside(old, segments, cold, room.seconds, seen)

        compare(room, "warm → cold reader", Side(broker, reading(False)), Side(broker, reading(True)))
        warm, cold = (median(each["mb_s"] for each in seen[side::2]) for side in (0, 1))
        fact("the readers' MB/s, warm and cold", f"{warm:.0f}, {cold:.0f}")


@contextmanager
def read_beside(
    old: Server, segments: list[Path], cold: bool, seconds: float, seen: list[dict[str, float]]
) -> Iterator[None]:
    for segment in segments:
        descriptor = os.open(segment, os.O_RDONLY)
        try:
            if cold:
                os.fsync(descriptor)  # dirty pages stay
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            else:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
                while os.read(descriptor, 16 << 20):
                    pass
        finally:
            os.close(descriptor)
    with background(command(old, COLD_READER, seconds + 0.5, 0), seen):
        yield


def life(room: Room) -> None:
    """From start to first acknowledgement; what an idle broker uses."""
    directory = room.directory / "life"
    with servers.kafpy(directory) as broker:
        broker.create_topics({broker.topic: 6})
    times = []
    for _ in range(room.repeats):
        start = time.perf_counter()
        with servers.kafpy(directory) as broker:
            acknowledge_one(broker)
            times.append(time.perf_counter() - start)
    fact("start to first acknowledged record", f"{median(times):.2f} s")
    with servers.kafpy(directory) as broker:
        acknowledge_one(broker)
        time.sleep(1)
        before = broker.cpu_s()
        time.sleep(IDLE_SECONDS)
        used = (broker.cpu_s() - before) / IDLE_SECONDS
        fact("idle memory (resident)", f"{broker.resident_mb():.0f} MB")
        fact(f"idle CPU over {IDLE_SECONDS} s", f"{used * 100:.1f} % of a core")


def acknowledge_one(broker: Server) -> None:
    request = api.PRODUCE.request
    records = tools.encoded(tools.SHAPES["1x1K"])
    topic = request.Topic(name=broker.topic, partition_data=[request.Partition(index=0, records=records)])
    with broker.connect() as connection:
        answer = connection.call(api.PRODUCE, request(acks=1, timeout_ms=30_000, topic_data=[topic]), version=9)
    if error := answer.responses[0].partition_responses[0].error_code:
        raise RuntimeError(f"the first record was refused with error {error}")


def fact(name: str, value: str) -> None:
    print(f"| {name} | {value} | | | | |", flush=True)


# ---- the command

SCENARIOS = {
    "partitions": many_partitions,
    "stored": much_stored,
    "metadata": metadata_hammer,
    "cold": cold_reader,
    "life": life,
}


def arguments() -> argparse.Namespace:
    names = "\n".join(f"  {name:11} {scenario.__doc__}" for name, scenario in SCENARIOS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench.cost.scenarios",
        description=f"{__doc__}\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="*", metavar="GLOB", help="of the scenarios' names")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", type=Path, default=tools.BUILD / "data", metavar="DIR", help="a disk as the broker's")
    parser.add_argument("--warm", action="store_true", help="keep the page cache full: see bench/README.md")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    chosen = {name: scenario for name, scenario in SCENARIOS.items() if fnmatch.fnmatch(name, asked.only)}
    if not chosen:
        sys.exit(f"no scenario is called {asked.only!r}; there are: " + ", ".join(SCENARIOS))
    print("| produce beside | process µs | ratio | planes µs | ratio | p99 µs |\n|---|--:|--:|--:|--:|--:|")
    with servers.workspace(asked.data) as directory, Ballast(directory, asked.warm) as ballast:
        for name, scenario in chosen.items():
            with servers.workspace(directory) as own:
                try:
                    scenario(Room(own, asked.seconds, asked.repeats, ballast))
                except Skipped as reason:
                    fact(f"{name}: skipped", str(reason))


if __name__ == "__main__":
    main()
