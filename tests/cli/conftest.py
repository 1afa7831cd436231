"""`kafpy serve` as a user starts it: a process of its own."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


class Served:
    def __init__(self, *arguments: str, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kafpy.cli.main", "serve", "--log-level", "warning", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        match = re.fullmatch(r"kafpy ready on (\S+):(\d+)\n", self.line)
        self.host, self.port = (match[1], int(match[2])) if match else ("", 0)
        self.address = f"{self.host}:{self.port}"

    def stop(self, signal_: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit status, and what came on stdout and stderr after the first line."""
        if self.process.poll() is None:
            self.process.send_signal(signal_)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """serve(*arguments): a broker on a free port with its data in the test's directory."""
    started: list[Served] = []

    def serve(*arguments: str) -> Served:
        given = arguments or ("--port", "0", "--data", str(tmp_path / "data"))
        started.append(Served(*given, cwd=None))
        return started[-1]

    yield serve
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()


@pytest.fixture
def broker(serve: Callable[..., Served]) -> Served:
    return serve()


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
