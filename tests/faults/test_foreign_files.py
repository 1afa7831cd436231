"""C-08: what does not belong into a data directory is left alone, or takes it offline; no link leads out of it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.raw import RawClient, batch_of
from tests.faults.nursery import Nursery

STORAGE_ERROR = 56


class Bench:
    """Topic `t` with partitions 0 and 1, one in each directory; the metadata lies in the first."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.nursery = nursery
        self.directories = [folder / "one", folder / "two"]
        self.outside = folder / "outside"
        self.errors = folder / "errors"
        self.outside.mkdir()
        with self.start() as client:
            client.create("t", 2)
            for partition in (0, 1):
                assert client.produce("t", batch_of([b"first"]), partition=partition).error_code == 0
        assert nursery.stop() == 0
        (self.first,) = self.directories[0].glob("t-?")
        (self.second,) = self.directories[1].glob("t-?")

    def start(self) -> RawClient:
        port = self.nursery.start(self.directories, errors=self.errors)
        assert port is not None, self.errors.read_text()
        return RawClient("127.0.0.1", port)

    def well(self, client: RawClient, folder: Path) -> bool:
        """Whether its partition serves; a partition that does not says 56 and has no leader."""
        partition = int(folder.name[-1])
        produced = client.produce("t", batch_of([b"more"]), partition=partition)
        if produced.error_code == 0:
            assert client.values("t", partition=partition)[0] == b"first"
            return True
        assert produced.error_code == STORAGE_ERROR
        assert client.fetch("t", partition=partition).error_code == STORAGE_ERROR
        leaders = {each.partition_index: each.leader_id for each in client.metadata("t").topics[0].partitions}
        assert leaders[partition] == -1
        return False

    @property
    def said(self) -> str:
        return self.errors.read_text()


@pytest.fixture
def bench(nursery: Nursery, folder: Path) -> Iterator[Bench]:
    yield Bench(nursery, folder)
    if nursery.status is None:
        nursery.stop()


IGNORED: dict[str, Callable[[Bench], Path]] = {
    "a file": lambda bench: bench.directories[1] / "notes.txt",
    "a file like a partition": lambda bench: bench.directories[1] / "other-0",
    "a file like a deleted partition": lambda bench: bench.directories[1] / f"other-0.{'a' * 32}-delete",
    "a file in a partition": lambda bench: bench.second / "notes.txt",
    "a segment's backup": lambda bench: bench.second / f"{0:020}.log.bak",
    "an odd segment name": lambda bench: bench.second / "7.log",
}


@pytest.mark.parametrize("kind", ["file", "folder", "link", "broken link"])
@pytest.mark.parametrize("what", IGNORED)
def test_c_08_ignored(bench: Bench, what: str, kind: str) -> None:
    path, target = IGNORED[what](bench), bench.outside / "target"
    target.mkdir()
    (target / "precious").write_bytes(b"precious")
    match kind:
        case "file":
            path.write_bytes(b"words")
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(target)
        case _:
            path.symlink_to(bench.outside / "nothing")
    with bench.start() as client:
        assert bench.well(client, bench.first)
        assert bench.well(client, bench.second)
    assert bench.nursery.stop() == 0
    assert [each.name for each in bench.outside.rglob("*")] == ["target", "precious"]
    if "like a" not in what:
        assert path.is_symlink() or path.exists()


def test_c_08_a_link_in_place_of_a_partition(bench: Bench) -> None:
    """Neither followed nor replaced by an empty log: what it leads to may be the partition."""
    moved = bench.outside / bench.second.name
    shutil.move(bench.second, moved)
    bench.second.symlink_to(moved)
    before = {path.name: path.read_bytes() for path in moved.iterdir()}
    with bench.start() as client:
        assert bench.well(client, bench.first)
        assert not bench.well(client, bench.second)
    assert str(bench.second) in bench.said
    assert bench.nursery.stop() == 0
    assert {path.name: path.read_bytes() for path in moved.iterdir()} == before
    bench.second.unlink()
    shutil.move(moved, bench.second)
    with bench.start() as client:
        assert bench.well(client, bench.second)


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_c_08_a_segment_that_is_no_file(bench: Bench, kind: str) -> None:
    """The directory fails, as with a file that cannot be read; the other goes on."""
    segment = bench.second / f"{0:020}.log"
    moved = bench.outside / "segment"
    segment.rename(moved)
    if kind == "link":
        segment.symlink_to(moved)
    else:
        segment.mkdir()
    (bench.directories[1] / ".kafka_cleanshutdown").unlink()
    before = moved.read_bytes()
    with bench.start() as client:
        assert not bench.well(client, bench.second)
        assert bench.well(client, bench.first)
    assert f"{bench.directories[1]} is offline" in bench.said
    assert bench.nursery.stop() == 0
    assert moved.read_bytes() == before


def test_c_08_an_unreadable_checkpoint(bench: Bench) -> None:
    path = bench.directories[1] / "recovery-point-offset-checkpoint"
    path.unlink()
    path.mkdir()
    with bench.start() as client:
        assert not bench.well(client, bench.second)
        assert bench.well(client, bench.first)
    assert f"{bench.directories[1]} is offline" in bench.said
    assert bench.nursery.stop() == 0
    path.rmdir()
    with bench.start() as client:
        assert bench.well(client, bench.second)


# ---- a directory that cannot be used at all


def blocked(path: Path) -> None:
    """As an unmounted or broken disk: nothing can be opened in it."""
    path.rename(path.with_name("taken-away"))
    path.write_bytes(b"no directory")


def test_a_directory_that_cannot_be_used(bench: Bench) -> None:
    blocked(bench.directories[1])
    with bench.start() as client:
        assert not bench.well(client, bench.second)
        assert bench.well(client, bench.first)
        client.create("new", 3)
        assert len(list(bench.directories[0].glob("new-*"))) == 3
    assert bench.said.count("is offline") == 1
    assert f"{bench.directories[1]} is offline" in bench.said
    assert bench.nursery.stop() == 0
    bench.directories[1].unlink()
    bench.directories[1].with_name("taken-away").rename(bench.directories[1])
    with bench.start() as client:
        assert bench.well(client, bench.first)
        assert bench.well(client, bench.second)


def test_the_directory_of_the_metadata_cannot_be_used(bench: Bench) -> None:
    blocked(bench.directories[0])
    assert bench.nursery.start(bench.directories, errors=bench.errors) is None
    assert bench.nursery.status == 1
    (said,) = bench.said.splitlines()
    assert f"cannot use {bench.directories[0]}" in said
    assert "choose another directory with --data DIR" in said
    assert "the first of log.dirs holds the broker's metadata" in said
    assert {path.name for path in bench.second.iterdir()} >= {f"{0:020}.log"}


def test_no_directory_can_be_used(bench: Bench) -> None:
    for directory in bench.directories:
        blocked(directory) if directory.name == "one" else shutil.rmtree(directory)
    bench.directories[1].write_bytes(b"no directory")
    assert bench.nursery.start(bench.directories, errors=bench.errors) is None
    assert bench.nursery.status == 1
    assert "choose another directory with --data DIR" in bench.said
