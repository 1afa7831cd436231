"""What is measured: brokers that the suite starts and stops, and those that run already."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.cost import tools
from bench.cost.servers import Server
from bench.suite import kafka
from kafpy import __version__
from kafpy.client.connection import ClientError, Connection

START_S = 60
STOP_S = 60
POLL_S = 0.005


class TargetError(Exception):
    """One line that says what to do."""


class Target:
    """A kind of broker by a name; `start` gives one that clients can talk to."""

    unmanaged = ""
    """Why the suite may not start, stop and kill it by itself; empty: it may."""
    settings = "as it runs"
    """What it was started with, for the report."""
    warm_up_s = 3.0

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version

    def start(self, data: Path) -> "Running":
        raise NotImplementedError


class Running:
    def __init__(
        self,
        server: Server,
        data: Path | None,
        process: subprocess.Popen[bytes] | None,
        log: Path,
        *,
        bare: bool = False,
    ) -> None:
        self.server = server
        self.data = data
        self.bare = bare
        """It knows Produce and Fetch and nothing else: no topics, no settings."""
        self._process = process
        self._log = log

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def complaint(self) -> str:
        return self._log.read_text(errors="replace")[-600:].strip() if self._log.exists() else ""


class Kafpy(Target):
    def __init__(self, name: str = "kafpy", overrides: Sequence[str] = ()) -> None:
        super().__init__(name, __version__)
        self._overrides = overrides
        self.settings = ", ".join(overrides) or "defaults"

    def start(self, data: Path) -> Running:
        data.mkdir(parents=True, exist_ok=True)
        port = _free_port()
        program = [sys.executable, "-m", "kafpy.cli.main", "serve", "--log-level", "warning"]
        given = [text for each in self._overrides for text in ("--override", each)]
        return _started([*program, "--data", str(data / "data"), "--port", str(port), *given], data, port)


class Kafka(Target):
    warm_up_s = 25.0  # of load: a JVM compiles what it meets often

    def __init__(self, name: str = "kafka", version: str = kafka.DEFAULT_VERSION) -> None:
        super().__init__(name, version)
        self._libs = kafka.jars(version)
        self.settings = f"defaults, {' '.join(kafka.HEAP)}"

    def start(self, data: Path) -> Running:
        port = _free_port()
        properties = kafka.configure(self._libs, data, port, _free_port())
        return _started(kafka.server(self._libs, properties), data, port)


class Loop(Target):
    """The bare C loop of bench/cost: what the system calls and the checksum of a request cost here and now."""

    unmanaged = "the loop is no broker"

    def __init__(self, capacity: int) -> None:
        """`capacity`: bytes, after which it overwrites what it has."""
        super().__init__("loop", "")
        self._capacity = capacity

    def start(self, data: Path) -> Running:
        data.mkdir(parents=True, exist_ok=True)
        port, log = _free_port(), data / "log"
        command = [str(tools.program("limit")), str(port), str(data / "limit.log"), str(self._capacity)]
        with log.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL)
        running = Running(Server("127.0.0.1", port, (process.pid,)), None, process, log, bare=True)
        deadline = time.monotonic() + START_S
        while not log.read_bytes().startswith(b"limit ready"):
            if process.poll() is not None or time.monotonic() > deadline:
                running.stop(signal.SIGKILL)
                raise TargetError(f"the C loop did not start: {running.complaint()}")
            time.sleep(POLL_S)
        return running


class Existing(Target):
    """name=HOST:PORT,pid=N[,N]; without pids nothing is known of what it spends."""

    unmanaged = "the tool did not start this broker"

    def __init__(self, text: str) -> None:
        name, equals, address = text.partition("=")
        host, colon, rest = address.partition(":")
        port, _, pids = rest.partition(",pid=")
        if not (equals and colon and port.isdecimal()):
            raise TargetError(f"--target {text}: expected NAME=HOST:PORT,pid=N")
        try:
            numbers = tuple(int(pid) for pid in pids.split(",") if pid)
            host = socket.gethostbyname(host)
        except ValueError:
            raise TargetError(f"--target {text}: a pid is a number") from None
        except OSError:
            raise TargetError(f"--target {text}: there is no host {host}") from None
        super().__init__(name, "")
        for pid in numbers:
            if not Path(f"/proc/{pid}").exists():
                raise TargetError(f"--target {text}: there is no process {pid} here")
        self._server = Server(host, int(port), numbers)
        try:
            self._server.connect().close()
        except ClientError as error:
            raise TargetError(f"--target {text}: {error}") from None

    def start(self, data: Path) -> Running:
        del data
        return Running(self._server, None, None, Path(os.devnull))


def _started(command: list[str], data: Path, port: int) -> Running:
    """Ready when it answers ApiVersions."""
    log = data / "log"
    environment = {**os.environ, "PYTHONPATH": str(tools.ROOT)}
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=environment)
    running = Running(Server("127.0.0.1", port, (process.pid,)), data, process, log)
    deadline = time.monotonic() + START_S
    while not answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            running.stop(signal.SIGKILL)
            raise TargetError(f"{command[0]} did not start: {running.complaint()}")
        time.sleep(POLL_S)
    return running


def answers(port: int) -> bool:
    try:
        Connection("127.0.0.1", port, timeout_s=5).close()
    except ClientError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
