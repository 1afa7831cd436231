"""kill -9 at every storage system call of 150 operations, of a recovery, and of a clean stop."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.nursery import KILLED, Nursery
from tests.faults.workload import SETTINGS, Driver, Promises, check

STRIDE = 12
CALLS = "write,pwrite64,pwritev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,unlink,unlinkat,rmdir,mkdir,openat"


def crashed(nursery: Nursery, folder: Path, kill_at: int, *, torn: bool) -> Promises:
    """A directory as a broker left it that died in the workload, or in the stop at its end."""
    shutil.rmtree(folder)
    folder.mkdir()
    promises = Driver(nursery, nursery.start([folder / "data"], kill_at=kill_at, torn=torn, **SETTINGS)).run()
    if nursery.status is None:
        nursery.run("stop")
    assert nursery.wait() in (KILLED, 0)
    return promises


def storage_calls(nursery: Nursery, folder: Path) -> int:
    """How many there are from the first start to the end of the stop. Helpers' timing moves it by a few."""
    promises = crashed(nursery, folder, -1, torn=False)
    assert nursery.status == 0
    for topic, index in (("plain", 0), ("plain", 1), ("flushed", 0)):
        assert promises.topics[topic][1][index].start > 0
    assert min(path.stem for path in folder.glob("data/plain-0/*.log")) > f"{0:020}", "no whole segment was deleted"
    check(folder / "data", promises)
    return nursery.count


def survive(nursery: Nursery, folder: Path, points: range, *, torn: bool) -> int:
    killed = 0
    for point in points:
        promises = crashed(nursery, folder, point, torn=torn)
        killed += nursery.status == KILLED
        try:
            check(folder / "data", promises)
        except Exception as error:
            error.add_note(f"killed at storage call {point}, torn={torn}")
            raise
    return killed


def test_some_crash_points(nursery: Nursery, folder: Path) -> None:
    calls = storage_calls(nursery, folder)
    assert calls > 600
    points = range(1, calls, STRIDE)
    assert survive(nursery, folder, points, torn=True) >= len(points) - 2


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("torn", [False, True], ids=["whole", "torn"])
def test_every_crash_point(nursery: Nursery, folder: Path, torn: bool) -> None:
    points = range(1, storage_calls(nursery, folder) + 1)
    assert survive(nursery, folder, points, torn=torn) >= len(points) - 20


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("crash", [0.3, 0.7, 0.95])
def test_every_crash_point_of_the_recovery_itself(nursery: Nursery, folder: Path, crash: float) -> None:
    promises = crashed(nursery, folder, int(storage_calls(nursery, folder) * crash), torn=True)
    assert nursery.status == KILLED
    left = folder / "left"
    (folder / "data").rename(left)
    point, status = 0, KILLED
    while status == KILLED:
        point += 1
        shutil.rmtree(folder / "data", ignore_errors=True)
        shutil.copytree(left, folder / "data")
        if nursery.start([folder / "data"], kill_at=point, **SETTINGS) is not None:
            nursery.run("stop")
        status = nursery.wait()
        check(folder / "data", promises)
    assert point > 20


def test_no_storage_call_is_missed(shim: Path, folder: Path) -> None:
    """What the injector counts is what the kernel sees."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace, log = folder / "strace", folder / "calls"
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
        pytest.skip("tracing processes is not allowed here")
    traced = ("strace", "-f", "-y", "-s", "0", "-o", str(trace), "-e", f"trace={CALLS}", "--seccomp-bpf")
    nursery = Nursery(shim, wrapper=traced)
    data = folder / "traced" / "data"
    data.parent.mkdir()
    Driver(nursery, nursery.start([data], log=log, **SETTINGS)).run()
    assert nursery.stop() == 0
    nursery.close()
    counted = Counter(line.split()[0] for line in log.read_text().splitlines())
    found: Counter[str] = Counter()
    for line in trace.read_text().splitlines():
        call = re.match(r"\d+ +(\w+)\(", line)
        if call is not None and str(data.parent) in line and (call[1] != "openat" or "O_CREAT" in line):
            found[{"renameat": "rename", "unlinkat": "unlink"}.get(call[1], call[1])] += 1
    assert found == counted
