"""A broker as a user runs it: a process of its own, which tests may stop, kill and start again."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

START_TIMEOUT_S = 60
NO_RETENTION = {"log_initial_task_delay_ms": 7 * 86_400_000}
"""Tests like records from 2023: nothing may come and delete them half a minute after the start."""


class BrokerProcess:
    """Runs until stopped or killed; the data directory and the port stay the same over restarts."""

    def __init__(self, directory: Path, **overrides: object) -> None:
        self.directory = directory
        self.host = "127.0.0.1"
        self.port = 0
        self._overrides = [
            f"--override={key.replace('_', '.')}={value}" for key, value in (NO_RETENTION | overrides).items()
        ]
        self._errors = directory.parent / f"{directory.name}.stderr"
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def stderr(self) -> str:
        return self._errors.read_text()

    def start(self) -> None:
        given = ["--data", str(self.directory), "--port", str(self.port), *self._overrides]
        with self._errors.open("a") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "kafpy.cli.main", "serve", "--log-level=warning", *given],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.fullmatch(r"kafpy ready on (\S+):(\d+)\n", line)
        if match is None:
            process.kill()
            process.communicate()
            raise AssertionError(f"the broker did not start: {line!r} {self.stderr}")
        self.host, self.port = match[1], int(match[2])
        self._process = process

    def stop(self) -> None:
        """The clean way; complains when it was not."""
        assert self._end(signal.SIGTERM) == 0, self.stderr

    def kill(self) -> None:
        """As a crash: SIGKILL."""
        self._end(signal.SIGKILL)

    def restart(self, *, crash: bool) -> None:
        if crash:
            self.kill()
        else:
            self.stop()
        self.start()

    def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.poll() is None:
            os.kill(process.pid, how)
        process.communicate(timeout=START_TIMEOUT_S)
        return process.returncode
