"""Spark's own daemons from the pip package: a master with two workers, and a Connect server, each a process of ours."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from spark_source import java

ROOT = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
SLOTS = {"spark.cores.max": "2", "spark.executor.cores": "1", "spark.executor.memory": "512m"}
SETTINGS = {
    **SLOTS,
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.task.maxFailures": "1",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}
"""Two executors, and no task before both are there."""


class Daemon:
    """Runs until it is stopped; `match` is the line that said it was ready."""

    def __init__(self, command: list[str], ready: str, folder: Path) -> None:
        folder.mkdir()
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.match = self._until(re.compile(ready))
        self._rest = threading.Thread(target=lambda: self._until(None), daemon=True)
        self._rest.start()

    def _until(self, ready: "re.Pattern[str] | None") -> "re.Match[str] | None":
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line)
            found = ready.search(line) if ready else None
            if found:
                return found
        return None

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._rest.join()

    def __enter__(self) -> "re.Match[str]":
        if self.match is None:
            self.stop()
            raise AssertionError("".join(self.lines[-30:]))
        return self.match

    def __exit__(self, *_: object) -> None:
        self.stop()


def environment() -> dict[str, str]:
    """Of daemons and drivers: the Python that has kafpy, for executors too, and this tree of it."""
    java.provide()
    return {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "512m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """The master's address."""
    run, local = [str(SPARK_HOME / "bin" / "spark-class")], ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    deploy = "org.apache.spark.deploy"
    with Daemon([*run, f"{deploy}.master.Master", *local], r"at (spark://[\d.:]+)", folder / "master") as found:
        worker = [
            *run,
            f"{deploy}.worker.Worker",
            *local,
            "--cores",
            "1",
            "--memory",
            "1g",
            "--work-dir",
            ".",
            found[1],
        ]
        with (
            Daemon(worker, "Successfully registered", folder / "worker-1"),
            Daemon(worker, "Successfully registered", folder / "worker-2"),
        ):
            yield found[1]


@contextmanager
def connect_server(master: str, folder: Path) -> Iterator[str]:
    """The address for clients."""
    settings = {**SETTINGS, "spark.connect.grpc.binding.port": "0", "spark.connect.grpc.binding.address": "127.0.0.1"}
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    main = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, *words, *main]
    with Daemon(command, r"Spark Connect server started at: \S*?:(\d+)", folder / "connect") as found:
        yield f"sc://127.0.0.1:{found[1]}"


def drive(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A driver, or a client of Connect, as a process. From a file, for Connect takes `python -c` for a doctest."""
    path = folder / "driver.py"
    path.write_text(script)
    return subprocess.run([sys.executable, str(path), *arguments], env=environment(), capture_output=True, text=True)
