"""A log opened again: after a clean stop, a kill, or damage done to its files (C-01, C-02, C-03, C-05)."""

import random
from pathlib import Path

import pytest

from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from tests.core.logs import NOW, append, kill, make_batch, offsets, read_all, segment

SETTINGS = {"index_interval_bytes": 100}


def filled(runtime: Runtime, folder: Path, count: int = 8, **settings: int) -> list[bytes]:
    """The batches of a log whose process was killed."""
    log = Log(runtime, str(folder), **SETTINGS, **settings)
    for i in range(count):
        append(log, make_batch(1 + i % 3, timestamp=NOW + 10 * i, value=b"x" * (i * 7 % 20)))
    stored = read_all(log)
    runtime.settle()
    kill(log)
    return stored


def reopened(runtime: Runtime, folder: Path, **settings: int) -> Log:
    return Log(runtime, str(folder), **SETTINGS, **settings)


def test_a_killed_log_comes_back_whole(runtime: Runtime, tmp_path: Path) -> None:
    stored = filled(runtime, tmp_path)
    log = reopened(runtime, tmp_path)
    assert read_all(log) == stored
    assert append(log, make_batch()) == log.log_end_offset - 1


def test_c_01_a_torn_tail_is_cut_at_the_last_whole_batch(runtime: Runtime, tmp_path: Path) -> None:
    stored = filled(runtime, tmp_path)
    whole = b"".join(stored)
    last_two = len(whole) - len(stored[-1]) - len(stored[-2])
    for size in range(last_two, len(whole)):
        segment(tmp_path).write_bytes(whole[:size])
        log = reopened(runtime, tmp_path)
        kept = stored[:-2] if size < len(whole) - len(stored[-1]) else stored[:-1]
        assert read_all(log) == kept
        assert segment(tmp_path).stat().st_size == len(b"".join(kept)) == log.size
        kill(log)


def garbage() -> dict[str, bytes]:
    header = make_batch()
    return {
        "zeros": bytes(5000),
        "one zero": b"\0",
        "noise": random.Random(5).randbytes(3000),
        "text": b"not a batch at all, whatever its length " * 10,
        "lower offset": header,
        "enormous length": header[:8] + b"\x7f\xff\xff\xf0" + header[12:],
        "negative length": header[:8] + b"\xff\xff\xff\xf0" + header[12:],
        "old magic": header[:16] + b"\x01" + header[17:],
    }


@pytest.mark.parametrize("tail", garbage().values(), ids=garbage().keys())
def test_c_02_what_is_no_batch_is_cut_off(runtime: Runtime, tmp_path: Path, tail: bytes) -> None:
    stored = filled(runtime, tmp_path)
    with segment(tmp_path).open("ab") as file:
        file.write(tail)
    assert read_all(reopened(runtime, tmp_path)) == stored
    assert segment(tmp_path).read_bytes() == b"".join(stored)


def test_c_03_a_flipped_bit_cuts_there(runtime: Runtime, tmp_path: Path) -> None:
    stored = filled(runtime, tmp_path)
    whole = b"".join(stored)
    starts = [len(b"".join(stored[:i])) for i in range(len(stored))]
    chosen = random.Random(7)
    for _ in range(150):
        at = chosen.randrange(len(whole))
        hit = max(i for i, start in enumerate(starts) if start <= at)
        if at - starts[hit] < 8 or 12 <= at - starts[hit] < 16:
            continue  # base offset and leader epoch lie outside the CRC
        damaged = bytearray(whole)
        damaged[at] ^= 1 << chosen.randrange(8)
        segment(tmp_path).write_bytes(damaged)
        log = reopened(runtime, tmp_path)
        assert read_all(log) == stored[:hit]
        kill(log)


def test_damage_in_the_middle_drops_later_segments(runtime: Runtime, tmp_path: Path) -> None:
    stored = filled(runtime, tmp_path, segment_bytes=200)
    bases = sorted(int(path.stem) for path in tmp_path.glob("*.log"))
    assert len(bases) > 3
    damaged = bytearray(segment(tmp_path, bases[1]).read_bytes())
    damaged[30] ^= 1
    segment(tmp_path, bases[1]).write_bytes(damaged)
    log = reopened(runtime, tmp_path)
    assert log.log_end_offset == bases[1]
    assert read_all(log) == [each for each in stored if int.from_bytes(each[:8], "big") < bases[1]]
    assert sorted(int(path.stem) for path in tmp_path.glob("*.log")) == bases[:2]
    assert append(log, make_batch()) == bases[1]


def test_below_the_recovery_point_nothing_is_read_again(runtime: Runtime, tmp_path: Path) -> None:
    filled(runtime, tmp_path, segment_bytes=200)
    bases = sorted(int(path.stem) for path in tmp_path.glob("*.log"))
    damaged = bytearray(segment(tmp_path).read_bytes())
    damaged[-1] ^= 1
    segment(tmp_path).write_bytes(damaged)
    log = reopened(runtime, tmp_path, recovery_point=bases[-1])
    assert log.segment_count == len(bases)
    kill(log)
    assert reopened(runtime, tmp_path, recovery_point=0).segment_count == 1


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "garbage", "shifted", "another log's"])
def test_c_05_index_files_are_made_again(runtime: Runtime, tmp_path: Path, suffix: str, damage: str) -> None:
    here = tmp_path / "here"
    log = Log(runtime, str(here), segment_bytes=700, **SETTINGS)
    for i in range(30):
        append(log, make_batch(2, timestamp=NOW + i))
    stored = read_all(log)
    log.close()
    for path in here.glob(f"*.{suffix}"):
        data = path.read_bytes()
        if damage == "missing":
            path.unlink()
            continue
        changed = {
            "empty": b"",
            "cut": data[:-3],
            "garbage": random.Random(3).randbytes(len(data)),
            "shifted": data[1:] + b"\0",
            "another log's": bytes(8) if suffix == "index" else bytes(12),
        }
        path.write_bytes(changed[damage])
    log = Log(runtime, str(here), clean=True, segment_bytes=700, **SETTINGS)
    assert read_all(log) == stored
    for i in range(30):
        found = log.batch_for_time(NOW + i)
        assert found is not None
        if suffix == "index" or damage not in ("empty", "another log's"):
            assert int.from_bytes(found[:8], "big") == max(2 * (i - 1), 0)


def test_a_clean_stop_leaves_nothing_to_do(runtime: Runtime, tmp_path: Path) -> None:
    log = Log(runtime, str(tmp_path), segment_bytes=700, **SETTINGS)
    for i in range(30):
        append(log, make_batch(timestamp=NOW + i))
    stored = read_all(log)
    log.close()
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    assert {name.partition(".")[2] for name in before} == {"log", "index", "timeindex"}
    again = Log(runtime, str(tmp_path), clean=True, segment_bytes=700, **SETTINGS)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before
    assert read_all(again) == stored
    assert (again.high_watermark, again.recovery_point) == (30, 30) or again.recovery_point <= 30
    again.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {n: data for n, (data, _) in before.items()}


def test_left_over_files_are_cleared_away(runtime: Runtime, tmp_path: Path) -> None:
    filled(runtime, tmp_path)
    for name in (
        "next",
        "00000000000000000000.index.tmp",
        "00000000000000000005.index",
        "00000000000000000005.timeindex",
    ):
        (tmp_path / name).write_bytes(b"junk")
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n0\n")
    reopened(runtime, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000000000000000000.log", "leader-epoch-checkpoint"]


def test_with_flush_messages_1_a_recovered_tail_is_on_the_disk(runtime: Runtime, tmp_path: Path) -> None:
    filled(runtime, tmp_path)
    log = reopened(runtime, tmp_path, flush_messages=1)
    assert log.recovery_point == log.high_watermark == log.log_end_offset > 0


def test_a_segment_that_cannot_be_opened_is_an_error(runtime: Runtime, tmp_path: Path) -> None:
    segment(tmp_path).mkdir()
    with pytest.raises(OSError, match="cannot"):
        reopened(runtime, tmp_path)


def test_a_log_may_start_above_zero(runtime: Runtime, tmp_path: Path) -> None:
    filled(runtime, tmp_path, segment_bytes=200)
    bases = sorted(int(path.stem) for path in tmp_path.glob("*.log"))
    segment(tmp_path).unlink()
    log = reopened(runtime, tmp_path)
    assert log.log_start_offset == bases[1]
    assert offsets(log)[0] == bases[1]
    with pytest.raises(IndexError):
        log.read(0, 10)
