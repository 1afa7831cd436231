from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy.storage.directories import Directory, DirectoryError, remove


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Directory]:
    directory = Directory(tmp_path / "data")
    yield directory
    directory.close()


def test_one_broker_at_a_time(directory: Directory) -> None:
    with pytest.raises(
        DirectoryError, match=r"in use by another broker: stop that broker, or choose .* --data"
    ) as caught:
        Directory(directory.path)
    assert "\n" not in str(caught.value)


def test_the_lock_is_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        Directory(tmp_path).close()


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(DirectoryError, match="cannot use"):
        Directory(tmp_path / "x")


def test_meta_properties(directory: Directory) -> None:
    assert directory.cluster_id() is None
    directory.identify("abc", 1)
    text = (directory.path / "meta.properties").read_text()
    lines = dict(line.split("=") for line in text.splitlines() if "=" in line)
    assert lines.pop("directory.id")
    assert lines == {"version": "1", "cluster.id": "abc", "node.id": "1"}
    directory.identify("abc", 1)
    assert (directory.path / "meta.properties").read_text() == text
    with pytest.raises(DirectoryError, match="belongs to cluster abc, the metadata to other"):
        directory.identify("other", 1)
    with pytest.raises(DirectoryError, match=r"belongs to node 1, this broker is node 2; set node\.id=1"):
        directory.identify("abc", 2)


@pytest.mark.parametrize("text", ["", "version=2\ncluster.id=abc\nnode.id=1\n", "garbage"])
def test_a_damaged_meta_properties_is_refused(directory: Directory, text: str) -> None:
    (directory.path / "meta.properties").write_text(text)
    with pytest.raises(DirectoryError, match=r"meta\.properties"):
        directory.identify("abc", 1)


def test_a_clean_stop_is_believed_once(directory: Directory) -> None:
    assert not directory.take_clean_shutdown()
    directory.mark_clean_shutdown()
    assert directory.take_clean_shutdown()
    assert not directory.take_clean_shutdown()


def test_checkpoints(directory: Directory) -> None:
    assert directory.recovery_points() == ({}, None)
    directory.write_recovery_points({("t", 0): 5})
    assert directory.recovery_points() == ({("t", 0): 5}, None)
    assert directory.log_start_offsets() == ({}, None)
    directory.write_log_start_offsets({("t", 0): 3})
    assert directory.log_start_offsets() == ({("t", 0): 3}, None)
    (directory.path / "log-start-offset-checkpoint").write_text("7\n")
    assert directory.log_start_offsets()[0] == {}
    (directory.path / "recovery-point-offset-checkpoint").write_text("0\n9\n")
    points, reason = directory.recovery_points()
    assert points == {}
    assert reason is not None
    assert "9 entries announced" in reason


def test_partitions_come_and_go(directory: Directory) -> None:
    folder = directory.create_partition("a-1", 0, b"\7" * 16)
    (folder / "00000000000000000000.log").write_bytes(b"x")
    directory.sync()
    assert directory.partitions() == {("a-1", 0): folder}
    aside = directory.set_aside(folder)
    assert directory.partitions() == {}
    assert directory.deleted() == [aside]
    remove(aside)
    assert directory.deleted() == []


def test_a_stray_folder_is_kept(directory: Directory) -> None:
    aside = directory.set_aside(directory.create_partition("t", 3, b"\7" * 16), stray=True)
    assert directory.deleted() == []
    assert directory.partitions() == {}
    assert aside.is_dir()
