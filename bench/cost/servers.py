"""What is measured: the bare loop, a broker of our own, or one that is already there; and their CPU and memory."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.cost import tools
from kafpy.client.connection import Connection, error_name
from kafpy.protocol import api

TICKS = os.sysconf("SC_CLK_TCK")
PLANE = "kafpy-plane"


@dataclass(frozen=True)
class Server:
    host: str
    port: int
    pids: tuple[int, ...]
    topic: str = "cost"

    def cpu_s(self) -> float:
        return sum(_cpu_s(Path(f"/proc/{pid}/stat")) for pid in self.pids)

    def thread_cpu_s(self, name: str) -> float:
        """Of the threads with that name."""
        tasks = [task for pid in self.pids for task in Path(f"/proc/{pid}/task").iterdir()]
        return sum(_cpu_s(task / "stat") for task in tasks if (task / "comm").read_text().strip() == name)

    def resident_mb(self) -> float:
        statuses = [Path(f"/proc/{pid}/status").read_text() for pid in self.pids]
        return sum(int(text.partition("VmRSS:")[2].split()[0]) for text in statuses) / 1024

    def connect(self) -> Connection:
        return Connection(self.host, self.port, timeout_s=300)

    def create_topics(self, topics: dict[str, int]) -> None:
        """Names with their numbers of partitions."""
        request = api.CREATE_TOPICS.request
        wanted = [
            request.Topic(name=name, num_partitions=partitions, replication_factor=1)
            for name, partitions in topics.items()
        ]
        with self.connect() as connection:
            answer = connection.call(api.CREATE_TOPICS, request(topics=wanted, timeout_ms=300_000))
        for topic in answer.topics:
            if topic.error_code:
                raise RuntimeError(f"{topic.name}: {topic.error_message or error_name(topic.error_code)}")


def _cpu_s(stat: Path) -> float:
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def target(text: str, topic: str) -> Server:
    """HOST:PORT,pid=N[,N]"""
    address, found, pids = text.partition(",pid=")
    host, colon, port = address.rpartition(":")
    if not (found and colon):
        raise ValueError(f"{text!r} is not HOST:PORT,pid=N[,N]")
    return Server(host, int(port), tuple(int(pid) for pid in pids.split(",")), topic)


@contextmanager
def workspace(data: Path) -> Iterator[Path]:
    """A directory of our own below `data`, gone afterwards."""
    data.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="cost-", dir=data))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def limit(directory: Path, capacity: int) -> Iterator[Server]:
    command: list[str | Path] = [tools.program("limit"), "0", directory / "limit.log", str(capacity)]
    with _running(command, "limit ready on ") as (process, port):
        yield Server("127.0.0.1", int(port), (process.pid,))


@contextmanager
def kafpy(directory: Path) -> Iterator[Server]:
    """This source tree's broker. It finds again what an earlier one left in `directory`."""
    program = [sys.executable, "-m", "kafpy.cli.main"]
    command = [*program, "serve", "--log-level", "warning", "--data", directory, "--port", "0"]
    with _running(command, "kafpy ready on ") as (process, address):
        host, _, port = address.rpartition(":")
        yield Server(host, int(port), (process.pid,))


@contextmanager
def _running(command: list[str | Path], ready: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    path = os.pathsep.join(filter(None, (str(tools.ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout
        line = process.stdout.readline()
        if not line.startswith(ready):
            raise RuntimeError(f"{command[0]} did not start: {line.strip() or 'no output'}")
        yield process, line.removeprefix(ready).strip()
    finally:
        process.terminate()
        process.wait(60)
