"""`kafpy` as a shell runs it: a process with pipes."""

import subprocess
import sys
from typing import NamedTuple


class Ran(NamedTuple):
    status: int
    out: bytes
    err: str


class Tool:
    """Commands go to the broker at `bootstrap`."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def command(self, *arguments: str) -> list[str]:
        verb = 2 if arguments[0] in ("perf", "group", "topic") else 1
        place = ["-b", self.bootstrap]
        return [sys.executable, "-m", "kafpy.cli.main", *arguments[:verb], *place, *arguments[verb:]]

    def run(self, *arguments: str, given: bytes | str = b"", status: int | None = 0) -> Ran:
        data = given.encode() if isinstance(given, str) else given
        done = subprocess.run(self.command(*arguments), input=data, capture_output=True, timeout=60)
        ran = Ran(done.returncode, done.stdout, done.stderr.decode())
        assert status is None or ran.status == status, ran
        return ran

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
