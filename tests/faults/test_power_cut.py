"""Power lost, on a real file system: with flush.messages=1 nothing that was acknowledged is lost or changed."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy.broker.server import Broker
from tests.clients.raw import RawClient, batch_of
from tests.core.logs import offsets, read_all
from tests.faults.nursery import Nursery
from tests.faults.workload import check_indexes, log_of, settings

EXT4_IOC_SHUTDOWN = 0x8004587D
LOG_FLUSHED, LOG_NOT_FLUSHED = b"\1\0\0\0", b"\2\0\0\0"


class Disk:
    """An ext4 file system whose power can be cut."""

    def __init__(self, folder: Path) -> None:
        self.image, self.mounted = folder / "image", folder / "mounted"
        self.mounted.mkdir()
        with self.image.open("wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-O", "^metadata_csum_seed", self.image], check=True)

    def mount(self) -> bool:
        command = ["mount", "-o", "loop", self.image, self.mounted]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def cut(self, how: bytes) -> None:
        descriptor = os.open(self.mounted, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, how)
        finally:
            os.close(descriptor)

    def unmount(self) -> None:
        """Lazily: a process that was only just killed may still hold it."""
        subprocess.run(["umount", "--lazy", self.mounted], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("only root can mount a file system to cut the power of")
    disk = Disk(tmp_path)
    if not disk.mount():
        pytest.skip("mounting a file system is not allowed here")
    yield disk
    disk.unmount()


@pytest.mark.parametrize("how", [LOG_FLUSHED, LOG_NOT_FLUSHED], ids=["journal written", "journal lost"])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_acknowledged_and_flushed_is_kept(nursery: Nursery, disk: Disk, how: bytes, count: int) -> None:
    data = disk.mounted / "data"
    port = nursery.start([data], log_segment_bytes=1500)
    assert port is not None
    client = RawClient("127.0.0.1", port)
    client.create("flushed", configs={"flush.messages": "1"})
    client.create("plain")
    for number in range(count):
        for topic in ("flushed", "plain"):
            assert client.produce(topic, batch_of([b"%d" % number * 50])).base_offset == number
    disk.cut(how)
    client.close()
    nursery.run("stop")
    nursery.wait()
    disk.unmount()
    assert disk.mount()
    for extra in range(2):
        with Broker(settings(data)) as broker:
            log = log_of(broker, "flushed", 0)
            assert offsets(log) == list(range(count + extra))
            plain = log_of(broker, "plain", 0)
            assert offsets(plain) == list(range(plain.log_end_offset))
            for number, stored in enumerate(read_all(log)[:count]):
                assert b"%d" % number * 50 in stored
            for each in (log, plain):
                assert each.append(batch_of([b"after"]))[0] == 0
    check_indexes(data)
