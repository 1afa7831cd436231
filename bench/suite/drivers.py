"""Who makes a load: the native driver, librdkafka, or Kafka's own perf tools; each tells of it in the same words."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cost import groups, tools
from bench.cost.servers import Server
from bench.suite import kafka
from bench.suite.workload import CODECS, Load

NAMES = ("native", "librdkafka", "java")
PATIENCE_S = 300

_JAVA_LAST = re.compile(
    r"(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), .* (\d+) ms 50th, .* (\d+) ms 99th, (\d+) ms 99.9th"
)


class DriverError(Exception):
    """Why the load could not be made."""


@dataclass(frozen=True)
class Made:
    requests: int
    """Produce or Fetch; of clients that batch by themselves, 0: not known."""
    records: int
    bytes: int
    seconds: float
    errors: int
    client_cpu_s: float
    latencies: list[tuple[int, int]]
    """Microseconds and how often; empty where the client tells percentiles alone."""
    percentiles: dict[str, float]
    """Microseconds, by "50", "99", "99.9" and "100"."""


@dataclass(frozen=True)
class Order:
    """A load on a topic, for so long or so many bytes."""

    server: Server
    load: Load
    partitions: int
    rate: float
    seconds: float
    most_bytes: int


def serves(driver: str, load: Load) -> bool:
    return driver == "native" or (load.kind in ("produce", "fetch") and not load.hop)


def make(driver: str, order: Order) -> Made:
    with start(driver, order) as job:
        return job.result()


class Job:
    """A load under way."""

    def __init__(self, command: Sequence[object], order: Order, read: "Reader") -> None:
        self._order, self._read = order, read
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed on exit
        self._process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=tools.ROOT
        )

    def result(self) -> Made:
        try:
            out, _ = self._process.communicate(timeout=self._order.seconds + PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise DriverError(f"the load was not done {PATIENCE_S} s after its time") from None
        if self._process.returncode:
            self._errors.seek(0)
            said = self._errors.read().strip() or _refusals(out)
            raise DriverError(f"{self._order.load.kind} failed: {said[-500:]}")
        return self._read(out, self._order)

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
        self._errors.close()


def _refusals(out: str) -> str:
    try:
        found = json.loads(out)
        return (
            f"{found['errors']} of {found['requests']} requests were refused, at last with error {found['error_code']}"
        )
    except (ValueError, KeyError):
        return out.strip()


class Reader:
    """What a driver printed, in Made's words."""

    def __call__(self, out: str, order: Order) -> Made:
        raise NotImplementedError


def start(driver: str, order: Order) -> Job:
    if order.load.kind == "members":
        return Job(_members(order), order, _MembersReader())
    if driver == "native":
        return Job(_native(order), order, _NativeReader())
    if driver == "librdkafka":
        return Job(_librdkafka(order), order, _JsonReader())
    return Job(*_java(order))


# ---- native: ready-made requests


def _native(order: Order) -> list[object]:
    load, server = order.load, order.server
    kind = "e2e" if load.kind == "end-to-end" else load.kind
    options: dict[str, object] = {
        "in-flight": load.in_flight,
        "connections": load.connections,
        "partitions": order.partitions,
        "acks": load.acks,
        "max-bytes": load.max_bytes,
        "rate": order.rate / (load.connections if kind == "fetch" else 1),
        "seconds": order.seconds,
        "bytes": order.most_bytes,
    }
    if kind != "fetch":
        options["batch"] = tools.shape_file(load.batch)
    pairs = [text for name, value in options.items() for text in (f"--{name}", value)]
    hop = ["--hop"] if load.hop else []
    return [tools.program("load"), kind, server.host, server.port, server.topic, *pairs, *hop]


class _NativeReader(Reader):
    def __call__(self, out: str, order: Order) -> Made:
        found = json.loads(out)
        records = found["requests"] * order.load.batch.records
        if order.load.kind == "fetch":  # replies, whatever was produced there
            records = int(found["mb_s"] * 1e6 * found["seconds"] / (order.load.batch.value_bytes or 1))
        return Made(
            requests=found["requests"],
            records=records,
            bytes=int(found["mb_s"] * 1e6 * found["seconds"]),
            seconds=found["seconds"],
            errors=found["errors"],
            client_cpu_s=found["client_cpu_s"],
            latencies=[(us, count) for us, count in found["latencies"]],
            percentiles={
                "50": found["p50_us"],
                "99": found["p99_us"],
                "99.9": found["p999_us"],
                "100": found["max_us"],
            },
        )


# ---- members of groups: a heartbeat and a commit each, every second


def form_groups(server: Server, load: Load) -> None:
    """Once; the members are in their groups for ten minutes after they were last heard of."""
    tools.BUILD.mkdir(parents=True, exist_ok=True)
    members = groups.stable_groups(server, load.groups, load.connections)
    _script(server).write_bytes(b"".join(member.script() for member in members))


def _script(server: Server) -> Path:
    return tools.BUILD / f"{server.topic}-{server.port}.members"


def _members(order: Order) -> list[object]:
    server = order.server
    period_ms, pid = 1000, server.pids[0] if server.pids else os.getpid()
    return [tools.program("members"), server.host, server.port, _script(server), order.seconds, period_ms, pid]


class _MembersReader(Reader):
    """Latency is that of commits."""

    def __call__(self, out: str, order: Order) -> Made:
        del order
        found = json.loads(out)
        beats, commits = found["heartbeat"], found["commit"]
        return Made(
            requests=beats["requests"] + commits["requests"],
            records=0,
            bytes=0,
            seconds=found["seconds"],
            errors=beats["errors"] + commits["errors"],
            client_cpu_s=found["client_cpu_s"],
            latencies=[],
            percentiles={"50": commits["p50_us"], "99": commits["p99_us"], "100": commits["max_us"]},
        )


# ---- librdkafka: a process of confluent-kafka


def _librdkafka(order: Order) -> list[object]:
    return [sys.executable, "-m", "bench.suite.librdkafka", json.dumps(_plain(order))]


def _plain(order: Order) -> dict[str, object]:
    load = order.load
    codec = next(name for name, number in CODECS.items() if number == load.batch.codec)
    return {
        "kind": load.kind,
        "bootstrap": f"{order.server.host}:{order.server.port}",
        "topic": order.server.topic,
        "partitions": order.partitions,
        "records": load.batch.records,
        "bytes": load.batch.value_bytes,
        "codec": codec,
        "acks": load.acks,
        "in_flight": load.in_flight,
        "max_bytes": load.max_bytes,
        "rate": order.rate * load.batch.records,
        "seconds": order.seconds,
        "most_bytes": order.most_bytes,
    }


class _JsonReader(Reader):
    def __call__(self, out: str, order: Order) -> Made:
        del order
        found = json.loads(out)
        found["latencies"] = [(us, count) for us, count in found["latencies"]]
        return Made(**found)


# ---- Kafka's own perf tools


def _java(order: Order) -> tuple[list[object], Order, Reader]:
    libs, load, server = kafka.jars(), order.load, order.server
    count = max(1, min(order.most_bytes // load.batch.value_bytes, int(JAVA_RECORDS_S * order.seconds)))
    address = f"{server.host}:{server.port}"
    if load.kind == "fetch":
        consumer = Path(tempfile.mkstemp(suffix=".properties")[1])
        consumer.write_text(f"max.partition.fetch.bytes={load.max_bytes}\n")
        arguments = ["--bootstrap-server", address, "--topic", server.topic, "--num-records", count]
        command = kafka.tool(libs, CONSUMER_PERF, *arguments, "--command-config", consumer, "--timeout", 60_000)
        return [*command], replace(order, most_bytes=count * load.batch.value_bytes), _JavaConsumer()
    codec = _plain(order)["codec"]
    size = load.batch.records * (load.batch.value_bytes + 20)
    producer = [
        f"bootstrap.servers={address}",
        f"acks={load.acks}",
        f"batch.size={size}",
        f"max.in.flight.requests.per.connection={min(load.in_flight, 5)}",
        f"compression.type={codec}",
        f"buffer.memory={max(32 << 20, size * 64)}",
    ]
    rate = order.rate * load.batch.records or -1
    arguments = ["--topic", server.topic, "--num-records", count, "--record-size", load.batch.value_bytes]
    properties = [text for each in producer for text in ("--command-property", each)]
    command = kafka.tool(libs, PRODUCER_PERF, *arguments, "--throughput", rate, *properties)
    return [*command], order, _JavaProducer()


PRODUCER_PERF = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERF = "org.apache.kafka.tools.ConsumerPerformance"
JAVA_RECORDS_S = 300_000
"""Records for each second that is asked for: the tools count records, not time."""


class _JavaProducer(Reader):
    def __call__(self, out: str, order: Order) -> Made:
        match = _JAVA_LAST.search(out.strip().splitlines()[-1] if out.strip() else "")
        if match is None:
            raise DriverError(f"ProducerPerformance said: {out[-300:]}")
        records, rate = int(match[1]), float(match[2])
        return Made(
            requests=0,
            records=records,
            bytes=records * order.load.batch.value_bytes,
            seconds=records / rate,
            errors=0,
            client_cpu_s=0,
            latencies=[],
            percentiles={"50": int(match[4]) * 1e3, "99": int(match[5]) * 1e3, "99.9": int(match[6]) * 1e3},
        )


class _JavaConsumer(Reader):
    def __call__(self, out: str, order: Order) -> Made:
        del order
        fields = [each.strip() for each in out.strip().splitlines()[-1].split(",")] if out.strip() else []
        if len(fields) < 10:
            raise DriverError(f"ConsumerPerformance said: {out[-300:]}")
        megabytes, records, fetching_ms = float(fields[2]), int(fields[4]), float(fields[7])
        return Made(0, records, int(megabytes * (1 << 20)), fetching_ms / 1000, 0, 0, [], {})
