"""Brokers that are born quickly and die where a test says: forked from one process that has imported everything.

Run as a script it is that process. It reads one JSON line per broker, forks it, and tells `port N`, `ran NAME`, and at
last `ended STATUS COUNT`; between them the broker itself reads the names of what it should do.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KILLED = -signal.SIGKILL


def compile_shim(folder: Path) -> Path:
    shim = folder / "faults.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", shim, HERE / "faults.c", "-ldl"], check=True)
    return shim


class Nursery:
    """The forking process, seen from the test. One broker at a time."""

    def __init__(self, shim: Path, *, wrapper: tuple[str, ...] = ()) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [*wrapper, sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self.status: int | None = None
        self.count = 0

    def start(
        self,
        directories: list[Path],
        *,
        kill_at: int = -1,
        torn: bool = True,
        fail: tuple[str, str, int, int, bool] | None = None,
        log: Path | None = None,
        errors: Path | None = None,
        **settings: Any,
    ) -> int | None:
        """The port; None when it died before it had one.

        `fail`: call, part of the path, which one, errno (0: it writes half), whether all later ones fail too.
        """
        self.status = None
        born = {
            "root": str(directories[0].parent),
            "kill_at": kill_at,
            "torn": torn,
            "fail": fail,
            "log": None if log is None else str(log),
            "errors": "/dev/null" if errors is None else str(errors),
            "settings": {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log_dirs": [str(each) for each in directories],
                **settings,
            },
        }
        self._write(json.dumps(born))
        word, *rest = self._read()
        return int(rest[0]) if word == "port" else None

    def run(self, name: str) -> bool:
        """Have the broker do what is not asked over the network. False: it died."""
        if self.status is None:
            self._write(name)
            return self._read()[0] == "ran"
        return False

    def wait(self) -> int:
        while self.status is None:
            self._read()
        return self.status

    def stop(self) -> int:
        self.run("stop")
        return self.wait()

    def fail(self, call: str, path: str, nth: int, error: int, *, on: bool = False) -> None:
        """From now on; as start() does it from the beginning. nth=0: no more."""
        assert self.run(f"fail {call} {path} {nth} {error} {int(on)}")

    def kill(self) -> int:
        """As a crash: SIGKILL."""
        self.run("die")
        return self.wait()

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _read(self) -> list[str]:
        assert self._process.stdout is not None
        words = self._process.stdout.readline().split()
        assert words, "the forking process is gone"
        if words[0] == "ended":
            self.status, self.count = int(words[1]), int(words[2])
        return words


# ---- the process


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def read_line() -> str:
    """Byte by byte: what follows the line belongs to whoever reads next, which may be another process."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return ""
        line += byte
    return line.decode().strip()


def obey(broker: Any) -> None:
    """On a thread: what the test asks for, until it asks for the end."""
    import trio

    while (name := read_line()) not in ("stop", ""):
        if name == "checkpoint":
            broker.partitions.write_checkpoints()
        elif name == "retain":
            trio.from_thread.run(broker.state.delete_old_segments, trio_token=broker.clock.token)
        elif name == "settle":
            broker.runtime.settle()
        elif name.startswith("fail "):
            call, path, nth, error, on = name.split()[1:]
            ctypes.CDLL(None).faults_fail(call.encode(), path.encode(), ctypes.c_long(int(nth)), int(error), int(on))
        elif name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        say("ran", name)
    os.kill(os.getpid(), signal.SIGTERM)


def serve(born: dict[str, Any]) -> None:
    from kafpy.broker.server import Broker, run
    from kafpy.broker.settings import Settings

    shim = ctypes.CDLL(None)
    os.dup2(os.open(born["errors"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    if born["log"]:
        shim.faults_log(born["log"].encode())
    if born["fail"]:
        name, path, nth, error, on = born["fail"]
        shim.faults_fail(name.encode(), path.encode(), ctypes.c_long(nth), error, int(on))
    shim.faults_arm(born["root"].encode(), ctypes.c_long(born["kill_at"]), int(born["torn"]))

    def ready(broker: Broker) -> None:
        say("port", broker.port)
        threading.Thread(target=obey, args=(broker,), daemon=True).start()

    settings = born["settings"]
    run(Settings(**{**settings, "log_dirs": tuple(settings["log_dirs"])}), ready)


def child(born: dict[str, Any], counted: int) -> None:
    import logging

    status = 1
    try:
        logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING, force=True)
        serve(born)
        status = 0
    except BaseException as error:
        logging.error("%s: %s", type(error).__name__, error)
    os.write(counted, str(ctypes.CDLL(None).faults_count()).encode())
    os._exit(status)


def main() -> None:
    import kafpy.broker.inbox
    import kafpy.broker.server
    import kafpy.handlers.registry  # noqa: F401

    ctypes.CDLL(None).faults_count.restype = ctypes.c_long
    while line := read_line():
        if not line.startswith("{"):
            continue  # meant for a broker that died
        counts, counted = os.pipe()
        if (pid := os.fork()) == 0:
            child(json.loads(line), counted)
        os.close(counted)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        say("ended", status, int(os.read(counts, 20) or 0))
        os.close(counts)


if __name__ == "__main__":
    main()
