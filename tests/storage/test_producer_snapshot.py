from pathlib import Path

import pytest

from kafpy._core.crc32c import crc32c
from kafpy.storage.producer_snapshot import NOTHING, ProducerEntry, Snapshot, newest, remove_above, write

ENTRIES = [ProducerEntry(7, 1, 5, 3, 100, 1234), ProducerEntry(2**40, 0, 2**31 - 2, 4, 0, -1)]


def test_what_was_known_is_known_again(tmp_path: Path) -> None:
    write(tmp_path, 104, ENTRIES)
    assert newest(tmp_path, 104) == Snapshot(104, ENTRIES)
    assert newest(tmp_path, 1000) == Snapshot(104, ENTRIES)
    write(tmp_path, 200, [])
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [104, 200]
    assert newest(tmp_path, 200) == Snapshot(200, [])


def test_the_bytes_are_kafkas(tmp_path: Path) -> None:
    write(tmp_path, 104, ENTRIES[:1])
    data = (tmp_path / "00000000000000000104.snapshot").read_bytes()
    assert data[:2] == b"\0\1"
    assert int.from_bytes(data[2:6], "big") == crc32c(data[6:])
    assert data[6:].hex() == (
        "00000001000000000000000700010000000800000000000000670000000300000000000004d2ffffffffffffffffffffffff"
    )


def test_a_snapshot_that_kafka_wrote(tmp_path: Path) -> None:
    """By Apache Kafka 4.3 for one batch of ten records of an idempotent producer."""
    kafka = bytes.fromhex(
        "0001 167800b1 00000001 0000000000000000 0000 00000009 0000000000000009 00000009 000001a1eec8b5c0"
        "ffffffff ffffffffffffffff"
    )
    path = tmp_path / "00000000000000000010.snapshot"
    path.write_bytes(kafka)
    entry = ProducerEntry(0, 0, 0, 9, 0, 0x1A1EEC8B5C0)
    assert newest(tmp_path, 10) == Snapshot(10, [entry])
    path.unlink()
    write(tmp_path, 10, [entry])
    assert path.read_bytes() == kafka


def test_a_sequence_that_wraps(tmp_path: Path) -> None:
    write(tmp_path, 5, ENTRIES[1:])
    data = (tmp_path / "00000000000000000005.snapshot").read_bytes()
    assert int.from_bytes(data[20:24], "big") == 2


def test_a_snapshot_above_what_is_on_disk_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, 104, ENTRIES)
    assert newest(tmp_path, 103) == NOTHING


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "version"])
def test_a_damaged_one_is_passed_over(tmp_path: Path, damage: str) -> None:
    write(tmp_path, 104, ENTRIES)
    path = tmp_path / "00000000000000000104.snapshot"
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-1] ^= 1
    if damage == "version":
        data[1] = 2
    path.write_bytes(b"" if damage == "empty" else data[:-1] if damage == "cut" else data)
    (tmp_path / "x.snapshot").write_bytes(b"")
    assert newest(tmp_path, 1000) == NOTHING


def test_the_newest_few_are_kept(tmp_path: Path) -> None:
    for offset in (5, 100, 30, 70):
        write(tmp_path, offset, [])
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [30, 70, 100]
    remove_above(tmp_path, 70)
    assert sorted(int(path.stem) for path in tmp_path.iterdir()) == [30, 70]
