"""A disk that fails: its directory goes offline for good, the others go on, clients are told 56."""

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.raw import RawClient, batch_of
from tests.faults.nursery import Nursery

STORAGE_ERROR = 56
LEADER_NOT_AVAILABLE = 5
SETTINGS = {"log_segment_bytes": 2000, "log_flush_offset_checkpoint_interval_ms": 3_600_000}


class Bench:
    """A broker with two directories; topic `here` lies in the second, `other` in the first with the metadata."""

    def __init__(self, nursery: Nursery, folder: Path, second: Path | None = None) -> None:
        self.nursery = nursery
        self.directories = [folder / "one", second or folder / "two"]
        self.log = folder / "calls"
        self.errors = folder / "errors"

    def start(self, *fail: Any) -> RawClient:
        port = self.nursery.start(self.directories, fail=fail or None, log=self.log, errors=self.errors, **SETTINGS)
        assert port is not None, self.errors.read_text()
        return RawClient("127.0.0.1", port)

    def prepare(self, **configs: str) -> None:
        client = self.start()
        for name in ("other", "here"):
            client.create(name, configs={key.replace("_", "."): value for key, value in configs.items()})
            assert client.produce(name, batch_of([b"first"])).error_code == 0
        client.close()
        assert self.nursery.stop() == 0
        assert (self.directories[0] / "other-0").is_dir()
        assert (self.directories[1] / "here-0").is_dir()
        self.log.unlink()

    def calls(self) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines()]


@pytest.fixture
def bench(nursery: Nursery, folder: Path) -> Iterator[Bench]:
    bench = Bench(nursery, folder)
    yield bench
    if nursery.status is None:
        nursery.stop()


def until(true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to it")


def partition(client: RawClient, topic: str) -> Any:
    return client.metadata(topic).topics[0].partitions[0]


def check_offline(bench: Bench, client: RawClient) -> None:
    """`here` is gone with its directory, `other` is well."""
    until(lambda: partition(client, "here").leader_id == -1)
    lost = partition(client, "here")
    assert (lost.error_code, lost.offline_replicas, lost.isr_nodes) == (LEADER_NOT_AVAILABLE, [1], [1])
    assert client.produce("here", batch_of([b"x"])).error_code == STORAGE_ERROR
    assert client.fetch("here").error_code == STORAGE_ERROR
    assert client.offset("here", -1).error_code == STORAGE_ERROR
    well = partition(client, "other")
    assert (well.error_code, well.leader_id, well.offline_replicas) == (0, 1, [])
    assert client.produce("other", batch_of([b"goes on"])).error_code == 0
    client.create("new")
    assert (bench.directories[0] / "new-0").is_dir()
    said = [line for line in bench.errors.read_text().splitlines() if "offline" in line]
    assert len(said) == 1
    assert str(bench.directories[1]) in said[0]
    assert "started again" in said[0]


def check_restart(bench: Bench, values: list[bytes]) -> None:
    """After the disk is repaired the directory is what it was; it was not left as by a clean stop."""
    assert bench.nursery.stop() == 0
    assert not (bench.directories[1] / ".kafka_cleanshutdown").exists()
    assert (bench.directories[0] / ".kafka_cleanshutdown").exists()
    client = bench.start()
    assert client.values("here") == values
    assert partition(client, "here").leader_id == 1
    assert client.produce("here", batch_of([b"again"])).base_offset == len(values)
    client.close()


def only_once(bench: Bench, name: str) -> None:
    """What failed on a file is not tried on that file again, nor anything else in its directory."""
    calls = bench.calls()
    failed = [number for number, call in enumerate(calls) if call[2] in ("failed", "short")]
    assert len(failed) == 1
    path = calls[failed[0]][1]
    assert not [call for call in calls[failed[0] + 1 :] if call[1] == path]
    assert calls[failed[0]][0] == name


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, 0], ids=["EIO", "ENOSPC", "short"])
def test_a_failed_append(bench: Bench, error: int) -> None:
    bench.prepare()
    client = bench.start("pwritev", "two/here-0", 2, error, False)
    assert client.produce("here", batch_of([b"second"])).error_code == 0
    assert client.produce("here", batch_of([b"third"])).error_code == STORAGE_ERROR
    check_offline(bench, client)
    only_once(bench, "pwritev")
    client.close()
    check_restart(bench, [b"first", b"second"])


def test_a_failed_sync_is_not_tried_again(bench: Bench) -> None:
    """acks=all with flush.messages=1: the record is in the file, but nobody was told so."""
    bench.prepare(flush_messages="1")
    client = bench.start("fdatasync", "two/here-0", 1, errno.EIO, False)
    assert client.produce("here", batch_of([b"second"])).error_code == STORAGE_ERROR
    check_offline(bench, client)
    only_once(bench, "fdatasync")
    client.close()
    check_restart(bench, [b"first", b"second"])


@pytest.mark.parametrize(
    ("call", "which"), [("openat", 2), ("fdatasync", 1), ("rename", 1), ("ftruncate", 1), ("fsync", 1)]
)
def test_a_failed_roll(bench: Bench, call: str, which: int) -> None:
    """Of the files opened for writing the first is the active segment's, at the start."""
    bench.prepare()
    client = bench.start(call, "two/here-0", which, errno.EIO, False)
    sent = 0
    while client.produce("here", batch_of([b"x" * 900])).error_code == 0:
        sent += 1
        assert sent < 100
    check_offline(bench, client)
    client.close()
    check_restart(bench, [b"first", *[b"x" * 900] * sent])


def test_a_failed_read(bench: Bench) -> None:
    """The client is told, at the latest when it asks again."""
    bench.prepare()
    client = bench.start("read", "00.log", 1, errno.EIO, True)
    assert client.fetch("here").error_code == STORAGE_ERROR
    client.close()


def test_a_failed_checkpoint(bench: Bench) -> None:
    bench.prepare()
    client = bench.start("rename", "two/recovery-point", 1, errno.EIO, False)
    assert bench.nursery.run("checkpoint")
    check_offline(bench, client)
    client.close()
    check_restart(bench, [b"first"])


def test_a_log_that_cannot_be_opened(bench: Bench) -> None:
    bench.prepare()
    client = bench.start("openat", "two/here-0", 1, errno.EIO, False)
    check_offline(bench, client)
    client.close()
    check_restart(bench, [b"first"])


def test_all_directories_fail(bench: Bench) -> None:
    bench.prepare()
    client = bench.start("pwritev", "", 1, errno.EIO, True)
    assert client.produce("here", batch_of([b"x"])).error_code == STORAGE_ERROR
    assert client.produce("other", batch_of([b"x"])).error_code == STORAGE_ERROR
    assert bench.nursery.wait() == 1
    last = bench.errors.read_text().splitlines()[-1]
    assert "every log directory is offline" in last
    client.close()
    client = bench.start()
    assert client.values("here") == client.values("other") == [b"first"]
    client.close()


def test_a_full_disk(nursery: Nursery, folder: Path) -> None:
    """A small tmpfs: the write that fills it falls short, and what it left is cut at the next start."""
    second = folder / "small"
    second.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", second], check=False)
    if made.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        bench = Bench(nursery, folder, second)
        bench.prepare()
        client = bench.start()
        sent = 0
        while (answer := client.produce("here", batch_of([b"%05d" % sent * 300]))).error_code == 0:
            sent += 1
        assert answer.error_code == STORAGE_ERROR
        assert sent > 20
        check_offline(bench, client)
        client.close()
        assert nursery.stop() == 0
        subprocess.run(["mount", "-o", "remount,size=1m", second], check=True)
        client = bench.start()
        assert client.values("here") == [b"first", *[b"%05d" % number * 300 for number in range(sent)]]
        client.close()
    finally:
        if nursery.status is None:
            nursery.stop()
        subprocess.run(["umount", second], check=True)
