"""What reading a topic in Spark costs: our source beside Spark's own connector. `make bench-spark`.

All contestants read the same topics of four partitions. Each has a session of its own, and they take turns, so that a
noisy minute hits all. Rows per second are of wall-clock time; CPU is of the session and its workers, and beside it of
the broker. Leaves results.json, report.md and a picture.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from confluent_kafka import Producer

from bench.cost.tools import ROOT
from bench.spark import report
from bench.spark.contestants import Contestant, contestants
from bench.suite import machine
from bench.suite.kafka import Missing
from bench.suite.targets import Kafka, Kafpy, Running, Target

ACTIONS = ("count", "sum(length)", "noop", "parquet")
PARTITIONS = 4


@click.command(help=__doc__)
@click.option("--against", type=click.Choice(["kafka"]), help="Read from Apache Kafka as well; takes java and mvn.")
@click.option("--megabytes", default=600, show_default=True, help="Of values in each topic.")
@click.option("--repeats", default=3, show_default=True, help="Of every action, after one that does not count.")
@click.option("--size", "sizes", type=int, multiple=True, default=(100, 1000), show_default=True, help="Of a value.")
@click.option("--action", "actions", type=click.Choice(ACTIONS), multiple=True, default=ACTIONS)
@click.option("--out", type=click.Path(path_type=Path), help="[default: bench/results/spark-DATE]")
def main(
    against: str | None, megabytes: int, repeats: int, sizes: list[int], actions: list[str], out: Path | None
) -> None:
    folder = out or ROOT / "bench" / "results" / time.strftime("spark-%Y-%m-%d-%H%M%S")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        chosen = contestants(against == "kafka")
        with tempfile.TemporaryDirectory(prefix="kafpy-spark-") as scratch, ExitStack() as stack:
            brokers = {
                name: stack.enter_context(_running(target, Path(scratch) / name))
                for name, target in {"kafpy": Kafpy(), **({"kafka": Kafka()} if against else {})}.items()
            }
            rows: list[dict[str, Any]] = []
            for size in sizes:
                for more in _measured(chosen, brokers, size, megabytes, repeats, actions, scratch):
                    rows += more
                    found = {"machine": machine.describe(), "megabytes": megabytes, "repeats": repeats, "rows": rows}
                    (folder / "results.json").write_text(json.dumps(found, indent=1))
                    (folder / "report.md").write_text(report.table(rows))
    except Missing as error:
        raise click.ClickException(str(error)) from None
    report.draw(rows, folder / "rows.png")
    click.echo(f"{report.table(rows)}\n{folder}")


@contextmanager
def _running(target: Target, data: Path) -> Iterator[Running]:
    running = target.start(data)
    try:
        yield running
    finally:
        running.stop()


def _measured(
    chosen: list[Contestant],
    brokers: dict[str, Running],
    size: int,
    megabytes: int,
    repeats: int,
    actions: list[str],
    scratch: str,
) -> Iterator[list[dict[str, Any]]]:
    """The rows of one action after the other."""
    count = megabytes * 1_000_000 // size
    topic = f"values-{size}"
    for name, running in brokers.items():
        click.echo(f"{name}: {count:,} records of {size} B", err=True)
        _fill(running, topic, size, count)
    with ExitStack() as stack:
        sessions = {
            each.name: stack.enter_context(Session(each, brokers[each.broker], topic, count, scratch))
            for each in chosen
        }
        for action in actions:
            taken: dict[str, list[dict[str, float]]] = {name: [] for name in sessions}
            for repeat in range(repeats + 1):
                for name, session in sessions.items():
                    click.echo(f"{size} B, {action}, {repeat}/{repeats}: {name}", err=True)
                    one = session.perform(action)
                    if repeat:
                        taken[name].append(one)
            yield [
                {"size": size, "action": action, "name": name, "rows": count, "repeats": each, **_middle(each, count)}
                for name, each in taken.items()
            ]


def _middle(repeats: list[dict[str, float]], rows: int) -> dict[str, float]:
    def middle(key: str) -> float:
        return statistics.median(each[key] for each in repeats)

    return {
        "rows_per_s": rows / middle("seconds"),
        "cpu_us_per_row": middle("cpu") * 1e6 / rows,
        "broker_cpu_us_per_row": middle("broker_cpu") * 1e6 / rows,
    }


def _fill(running: Running, topic: str, size: int, count: int) -> None:
    server = running.server
    server.create_topics({topic: PARTITIONS})
    settings = {
        "bootstrap.servers": f"{server.host}:{server.port}",
        "linger.ms": 20,
        "batch.size": 131_072,
        "queue.buffering.max.messages": 500_000,
    }
    producer = Producer(settings)
    value = bytes(at * 7919 % 251 for at in range(size))
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, b"%08d" % number, number * PARTITIONS // count)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(300):
        raise click.ClickException(f"{topic}: not all records were taken")


class Session:
    """A program with a JVM of its own, which waits to be told what to do."""

    def __init__(self, who: Contestant, broker: Running, topic: str, rows: int, scratch: str) -> None:
        server = broker.server
        job = {
            "format": who.format,
            "settings": who.settings,
            "options": {"kafka.bootstrap.servers": f"{server.host}:{server.port}", "subscribe": topic, **who.options},
            "columns": who.columns,
            "rows": rows,
            "broker_pid": server.pids[0],
            "scratch": f"{scratch}/{who.name.replace(',', '')}",
        }
        command = [sys.executable, "-m", "bench.spark.session", json.dumps(job)]
        self._name = who.name
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT
        )

    def __enter__(self) -> "Session":
        self._line()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        self._errors.close()

    def perform(self, action: str) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(action + "\n")
        self._process.stdin.flush()
        found: dict[str, float] = json.loads(self._line())
        return found

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise click.ClickException(f"{self._name}: {self._errors.read()[-2000:]}")
        return line


if __name__ == "__main__":
    main()
