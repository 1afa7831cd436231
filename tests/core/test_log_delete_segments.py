"""Whole segments go from a log's beginning, to the last one; their files are set aside, and gone at the next start."""

import threading
from itertools import pairwise
from pathlib import Path

import pytest

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from tests.core.logs import NOW, append, idempotent, kill, make_batch, offsets, segment
from tests.core.test_log_delete_records import bases, filled


def aside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.deleted"))


def test_files_are_set_aside(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    log.flush()
    before = bases(tmp_path)
    held = log.read(0, 1)
    assert log.delete_segments(before[3]) == (before[3], before[:3])
    assert log.log_start_offset == before[3]
    assert bases(tmp_path) == before[3:]
    names = [f"{base:020}.{kind}.deleted" for base in before[:3] for kind in ("index", "log", "timeindex")]
    assert aside(tmp_path) == sorted(names)
    assert segment(tmp_path, 0, "log.deleted").read_bytes().startswith(held)
    assert [base for base, _, _ in log.segments()] == before[3:]
    assert offsets(log)[0] == before[3]
    with pytest.raises(IndexError):
        log.read(before[3] - 1, 100)


def test_only_whole_segments_go(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    before = bases(tmp_path)
    assert log.delete_segments(before[2] + 7) == (before[2], before[:2])
    assert log.delete_segments(0) == (before[2], [])
    with pytest.raises(IndexError):
        log.delete_segments(301)


def test_the_last_segment_gives_way_to_an_empty_one(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    before = bases(tmp_path)
    assert log.delete_segments(300) == (300, before)
    assert log.delete_segments(300) == (300, [])
    assert log.segments() == [(300, 0, -1)]
    assert (log.log_start_offset, log.log_end_offset, log.size) == (300, 300, 0)
    assert log.read(300, 100) == b""
    assert append(log, make_batch(5)) == 300
    assert batch.header(log.read(300, 100)).base_offset == 300


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_without_records_keeps_its_end_over_a_restart(runtime: Runtime, tmp_path: Path, clean: bool) -> None:
    log = filled(runtime, tmp_path)
    append(log, idempotent(0))
    log.delete_segments(301)
    if clean:
        log.close()
    else:
        kill(log)
    again = Log(runtime, str(tmp_path), clean=clean)
    assert (again.log_start_offset, again.log_end_offset) == (301, 301)
    assert aside(tmp_path) == []
    assert append(again, make_batch(1)) == 301


def test_what_a_crash_left_between_two_files_is_a_log(runtime: Runtime, tmp_path: Path) -> None:
    """Killed when the first segment was set aside and the second was not; and with an index still in its place."""
    log = filled(runtime, tmp_path)
    log.flush()
    log.close()
    before = bases(tmp_path)
    path = segment(tmp_path)
    path.rename(path.with_name(path.name + ".deleted"))
    again = Log(runtime, str(tmp_path), clean=True)
    assert (again.log_start_offset, again.log_end_offset) == (before[1], 300)
    assert not segment(tmp_path, 0, "index").exists()
    assert aside(tmp_path) == []


def test_largest_timestamps(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path, batches=20)
    assert [timestamp for _, _, timestamp in log.segments()] == [NOW + 1000 * last + 4 for last in (19, 39, 59)]
    log.close()
    again = Log(runtime, str(tmp_path), clean=True)
    assert [timestamp for _, _, timestamp in again.segments()] == [NOW + 1000 * last + 4 for last in (19, 39, 59)]


def test_a_closed_log_refuses(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    log.close()
    with pytest.raises(OSError, match="cannot delete segments"):
        log.delete_segments(10)


def test_while_others_append(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path, batches=2000)
    stop = threading.Event()
    broken: list[BaseException] = []

    def keep() -> None:
        try:
            while not stop.is_set():
                append(log, make_batch(5))
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=keep) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        end = log.log_end_offset
        start, _ = log.delete_segments(end)
        assert start <= log.log_start_offset
    stop.set()
    for thread in threads:
        thread.join()
    assert not broken
    log.flush()
    assert bases(tmp_path)[0] == log.log_start_offset
    assert log.segment_count == len(bases(tmp_path))


def test_jitter_ends_segments_earlier(runtime: Runtime, tmp_path: Path) -> None:
    """A batch a minute and segments of an hour: with jitter some end before, none later, and not all together."""

    def sizes(folder: str, jitter_ms: int) -> list[int]:
        log = Log(runtime, str(tmp_path / folder), segment_ms=3_600_000, segment_jitter_ms=jitter_ms)
        for minute in range(61 * 20):
            append(log, make_batch(1, timestamp=NOW + minute * 60_000))
        starts = [base for base, _, _ in log.segments()]
        return [later - each for each, later in pairwise(starts)]

    assert set(sizes("even", 0)) == {61}
    uneven = sizes("uneven", 3_000_000)
    assert max(uneven) <= 61
    assert min(uneven) >= 10
    assert len(set(uneven)) > 3
