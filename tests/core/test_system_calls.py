"""What the hot paths cost in system calls, as strace sees them."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafpy._core.log import Log
from tests.core import logs
from tests.core.logs import make_batch
from tests.core.served import TOPIC, Client, fetch_frame, produce_frame, produced, sized

SERVER = """
import sys, time
from pathlib import Path
from tests.core.served import Served

served = Served(Path(sys.argv[1]), settings={"clean": True, "segment_bytes": int(sys.argv[2])})
print(served.port, flush=True)
sys.stdin.read()
served.close()
"""
READS = "sendfile,read,readv,pread64,preadv,preadv2"
WATCHED = f"{READS},pwrite64,pwritev,pwritev2,write,send,sendto,sendmsg,openat,fsync,fdatasync,ftruncate"


def tracing() -> str | None:
    """Why strace cannot be used here; None when it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        return "strace may not trace here (no ptrace)"
    return None


pytestmark = pytest.mark.skipif(tracing() is not None, reason=tracing() or "")


@contextmanager
def server(folder: Path, segment_bytes: int = 1 << 30) -> Iterator[tuple[int, int]]:
    """A process with one plane: its port and its id."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder), str(segment_bytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), process.pid
    finally:
        process.stdin.close()
        assert process.wait(20) == 0


@contextmanager
def trace(pid: int, out: Path) -> Iterator[None]:
    strace = subprocess.Popen(
        ["strace", "-f", "-y", "-e", f"trace={WATCHED}", "-o", str(out), "-p", str(pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert strace.stderr is not None
    assert "attached" in strace.stderr.readline()  # one line for all threads
    try:
        yield
    finally:
        time.sleep(0.1)
        strace.terminate()
        strace.communicate(timeout=20)


def calls(out: Path) -> list[str]:
    """Calls on the segment or on a client's socket."""
    lines = [line.split(None, 1)[1] for line in out.read_text().splitlines()]
    return [line for line in lines if re.search(r"\.log>|<(TCP|socket):", line) and "resumed" not in line]


def counted(lines: list[str]) -> Counter[str]:
    return Counter(line.partition("(")[0] for line in lines)


@pytest.mark.parametrize(("version", "sends"), [(11, 1), (12, 2)], ids=["v11", "v12: tags behind the records"])
def test_a_fetch_of_64_kb_is_one_sendfile(tmp_path: Path, version: int, sends: int) -> None:
    with server(tmp_path) as (port, pid), Client(port) as client:
        assert client.produce(make_batch(value=bytes(65_000))).error_code == 0
        client.send(fetch_frame({0: 0}, version=version))
        client.receive()
        with trace(pid, tmp_path / "trace"):
            client.send(fetch_frame({0: 0}, version=version))
            assert len(client.receive()) > 65_000
        seen = calls(tmp_path / "trace")
    assert counted(seen) == {"sendfile": 1, "sendto": sends}, seen


def test_five_pipelined_produces_are_one_write_and_one_send(tmp_path: Path) -> None:
    with server(tmp_path) as (port, pid), Client(port) as client:
        assert client.produce(make_batch()).error_code == 0
        with trace(pid, tmp_path / "trace"):
            client.socket.sendall(sized(produce_frame(make_batch(value=bytes(1000)))) * 5)
            assert [produced(client.receive())[0].base_offset for _ in range(5)] == [1, 2, 3, 4, 5]
        seen = calls(tmp_path / "trace")
    writes = [line for line in seen if ".log>" in line]
    assert len(writes) == 1, seen
    assert writes[0].startswith("pwritev")
    assert sum(line.startswith("send") for line in seen) == 1, seen


def by_thread(pid: int, out: Path) -> dict[str, list[str]]:
    """Calls on segments by the name of their thread."""
    found: dict[str, list[str]] = {}
    for line in out.read_text().splitlines():
        tid, call = line.split(None, 1)
        name = Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip()
        if call.startswith("<..."):
            continue  # the second half of one that was interrupted by another thread's
        if ".log" in call or "index" in call or "sync" in call:
            found.setdefault(name, []).append(call)
    return found


def make_cold(path: Path) -> None:
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
        except BlockingIOError:
            return
    pytest.skip("this file system keeps its pages")


@pytest.mark.parametrize("reopened", [False, True], ids=["active segment", "sealed segments"])
def test_a_plane_neither_opens_nor_syncs_nor_reads_what_is_cold(tmp_path: Path, reopened: bool) -> None:
    segment_bytes = 300_000 if reopened else 1 << 30
    folder = tmp_path / f"{TOPIC}-0"
    with logs.running() as runtime:
        log = Log(runtime, str(folder), segment_bytes=segment_bytes)
        for _ in range(20):
            logs.append(log, make_batch(value=bytes(65_000)))
        log.close()
    with server(tmp_path, segment_bytes) as (port, pid), Client(port) as client:
        make_cold(logs.segment(folder))
        with trace(pid, tmp_path / "trace"):
            got = client.fetch_one(1, max_wait_ms=10_000, partition_max_bytes=100_000, version=11).records
            assert len(got) > 65_000
            for _ in range(6):
                assert client.produce(make_batch(value=bytes(65_000)), acks=-1).error_code == 0
            time.sleep(0.3)
        seen = by_thread(pid, tmp_path / "trace")
    plane = Counter(call.partition("(")[0] for call in seen["kafpy-plane"] if "EAGAIN" not in call)
    # A roll without a prepared file makes it in place; nothing else is opened.
    assert plane == {"sendfile": 1, "pwritev": 6, **({"openat": plane["openat"]} if plane["openat"] else {})}, seen
    assert all("O_CREAT" in call for call in seen["kafpy-plane"] if call.startswith("openat")), seen
    assert any(call.startswith("pread64") for call in seen["kafpy-helper"]), seen
