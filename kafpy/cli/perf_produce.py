"""`kafpy perf produce`: kafka-producer-perf-test with its flags and lines."""

import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from kafpy._core.lines import Packer, runs
from kafpy.cli import client_properties as properties
from kafpy.cli.main import fail
from kafpy.cli.options import client_option, with_pairs
from kafpy.cli.perf_stats import Stats
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.producer import Batch, Producer
from kafpy.client.settings import ClientSettings

FILE = click.Path(dir_okay=False, path_type=Path)
TURN_BYTES = 1 << 16
TURN_RECORDS = 500
Make = Callable[[Packer, int, int], None]
"""make(packer, count, now_ms): adds so many records."""


@click.command("produce")
@client_option("--producer.config", "--producer-props")
@click.option("--topic", required=True, metavar="TOPIC", help="Where records go.")
@click.option("--num-records", required=True, type=click.IntRange(min=1), help="How many.")
@click.option("--throughput", required=True, type=float, help="Records a second, about; -1: as many as go.")
@click.option("--record-size", type=click.IntRange(min=1), help="Random capitals of so many bytes.")
@click.option("--payload-file", type=FILE, help="One of its lines, at random, for each record.")
@click.option("--payload-monotonic", is_flag=True, help="The record's number.")
@click.option("--payload-delimiter", default="\\n", show_default=True, help="Between the lines of the file.")
@click.option("--warmup-records", type=click.IntRange(min=0), default=0, help="So many first ones are warm-up.")
@click.option("--reporting-interval", type=click.IntRange(min=1), default=5000, show_default=True, help="In ms.")
@click.option("--transactional-id", hidden=True)
@click.option("--transaction-duration-ms", type=int, hidden=True)
@click.option("--print-metrics", is_flag=True, hidden=True)
@click.argument("more", nargs=-1, metavar="[KEY=VALUE]…")
def produce(bootstrap: ClientSettings, **given: Any) -> None:
    """Send records as fast as they go, or at a given rate, and tell latencies.

    Several properties may follow one --command-property, as with Kafka's tool.
    """
    if given["transactional_id"] or given["transaction_duration_ms"]:
        fail("transactions are not supported by this producer")
    if given["print_metrics"]:
        click.echo("kafpy: --print-metrics has no effect here", err=True)
    if sum(map(bool, (given["record_size"], given["payload_file"], given["payload_monotonic"]))) != 1:
        raise click.UsageError("choose one of --record-size, --payload-file and --payload-monotonic")
    if given["warmup_records"] >= given["num_records"]:
        raise click.UsageError("--warmup-records must be fewer than --num-records")
    bootstrap = with_pairs(bootstrap, given["more"], "--command-property")
    client = dict(bootstrap.properties)
    properties.warn_of_others(client, properties.PRODUCER)
    make = _maker(given)
    try:
        with Cluster(bootstrap) as cluster:
            _run(cluster, client, make, given)
    except ClientError as error:
        fail(str(error))


def _maker(given: dict[str, Any]) -> Make:
    size = given["record_size"]
    if size:
        return lambda packer, count, now_ms: packer.add_random(count, size, timestamp=now_ms)
    if given["payload_monotonic"]:
        numbers = iter(range(given["num_records"]))

        def monotonic(packer: Packer, count: int, now_ms: int) -> None:
            for _ in range(count):
                packer.add(b"%d" % next(numbers), timestamp=now_ms)

        return monotonic
    path: Path = given["payload_file"]
    click.echo(f"Reading payloads from: {path.absolute()}")
    try:
        data = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        fail(f"cannot read {path}: {error}")
    delimiter = "\n" if given["payload_delimiter"] == "\\n" else given["payload_delimiter"]
    payloads = [each.encode() for each in data.removesuffix(delimiter).split(delimiter)]
    if not data:
        fail("File does not exist or empty file provided.")
    click.echo(f"Number of records read: {len(payloads)}")
    chance = random.Random(0)

    def picked(packer: Packer, count: int, now_ms: int) -> None:
        for payload in chance.choices(payloads, k=count):
            packer.add(payload, timestamp=now_ms)

    return picked


class Run:
    """What is delivered goes to the statistics; of the warm-up only to those of everything."""

    def __init__(self, warmup: int, interval_ms: int) -> None:
        now = _now_ms()
        self._warmup = warmup
        self._interval_ms = interval_ms
        self._all = Stats(now, interval_ms, click.echo)
        self._steady: Stats | None = None

    def warm(self) -> None:
        """The warm-up has been sent."""
        self._steady = Stats(_now_ms(), self._interval_ms, click.echo, steady=True)
        self._all.silent = True

    def done(self, batch: Batch, _: int) -> None:
        now = _now_ms()
        for timestamp, count, size in runs(batch.packed):
            self._all.record(now - timestamp, count, size, now)
            steady = min(count, self._all.count - self._warmup) if self._steady else 0
            if self._steady and steady > 0:
                self._steady.record(now - timestamp, steady, size * steady // count, now)

    def totals(self) -> list[str]:
        now = _now_ms()
        return [each.total_line(now) for each in (self._all, self._steady) if each is not None]


def _run(cluster: Cluster, client: dict[str, str], make: Make, given: dict[str, Any]) -> None:
    warmup = given["warmup_records"]
    if warmup:
        click.echo(f"Warmup first {warmup} records. Steady state results will print after the complete test summary.")
    run = Run(warmup, given["reporting_interval"])
    interrupted = False
    with Producer(cluster, properties.policy(client), done=run.done) as producer:
        try:
            _send(producer, run, client, make, given)
            producer.flush()
        except KeyboardInterrupt:
            interrupted = True
            with suppress(KeyboardInterrupt):
                producer.flush()
        for line in run.totals():
            click.echo(line)
        for reason, lost in producer.failed.items():
            fail(f"{lost} records were not delivered: {reason}")
    if interrupted:
        sys.exit(130)


def _send(producer: Producer, run: Run, client: dict[str, str], make: Make, given: dict[str, Any]) -> None:
    """Puts all records into the producer, at the rate that is asked for."""
    warmup, total, throughput = given["warmup_records"], given["num_records"], given["throughput"]
    linger_s = properties.number(client, "linger.ms", 5) / 1000
    held_bytes = properties.number(client, "buffer.memory", 32 << 20)
    at_once = max(1, min(TURN_RECORDS, TURN_BYTES // (given["record_size"] or 100)))
    packer = producer.topic(given["topic"])
    began = flushed = time.monotonic()
    sent = 0
    while sent < total:
        now = time.monotonic()
        due = total if throughput <= 0 else int((now - began) * throughput) + 1
        count = min(due, total, sent + at_once, total if sent >= warmup else warmup) - sent
        if count > 0:
            if warmup and sent == warmup:
                run.warm()
            make(packer, count, _now_ms())
            sent += count
        flush = now - flushed >= linger_s
        flushed = now if flush else flushed
        producer.pump(flush=flush, wait_s=0.0 if due > sent else min(linger_s or 0.001, 0.001))
        while producer.held > held_bytes:
            producer.pump(flush=True, wait_s=0.1)
        if due <= sent and not producer.under_way:
            time.sleep(0.0005)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
