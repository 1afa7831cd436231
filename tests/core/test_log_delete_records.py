"""A log's start moves up: what is below it is gone for readers, from the disk, and after a restart."""

import threading
from pathlib import Path

import pytest

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from tests.core.logs import NOW, append, make_batch, offsets, segment


def bases(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.log"))


def filled(runtime: Runtime, folder: Path, batches: int = 10) -> Log:
    """60 batches of five records; so many batches to a segment."""
    log = Log(runtime, str(folder), segment_bytes=len(make_batch(5)) * batches)
    for number in range(60):
        append(log, make_batch(5, timestamp=NOW + number * 1000))
    return log


def test_segments_below_the_start_are_removed(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    before = bases(tmp_path)
    assert len(before) > 4
    start = before[3] + 2
    assert log.delete_records(start) == start
    assert log.log_start_offset == start
    assert bases(tmp_path) == before[3:]
    assert not segment(tmp_path, before[0], "index").exists()
    assert log.segment_count == len(before) - 3
    assert offsets(log)[0] == before[3]
    with pytest.raises(IndexError):
        log.read(start - 1, 100)
    append(log, make_batch(5))
    assert log.log_end_offset == 305


def test_the_start_never_goes_back_nor_beyond_the_high_watermark(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    assert log.delete_records(100) == 100
    assert log.delete_records(50) == 100
    for beyond in (301, 2**63 - 1, -2):
        with pytest.raises(IndexError):
            log.delete_records(beyond)
    assert log.log_start_offset == 100
    assert log.delete_records(-1) == 300
    assert log.read(300, 100) == b""
    assert append(log, make_batch(5)) == 300
    assert batch.header(log.read(300, 100)).base_offset == 300


@pytest.mark.parametrize("clean", [True, False])
def test_the_start_is_kept_over_a_restart(runtime: Runtime, tmp_path: Path, clean: bool) -> None:
    log = filled(runtime, tmp_path)
    log.delete_records(123)
    log.close()
    again = Log(runtime, str(tmp_path), clean=clean, log_start_offset=123)
    assert (again.log_start_offset, again.log_end_offset) == (123, 300)
    assert offsets(again)[0] == 120
    again.close()
    assert Log(runtime, str(tmp_path), clean=clean, log_start_offset=1000).log_start_offset == bases(tmp_path)[0]
    assert Log(runtime, str(tmp_path), clean=clean).log_start_offset == bases(tmp_path)[0]


def test_a_look_up_by_time_finds_nothing_below_the_start(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    log.delete_records(123)
    found = log.batch_for_time(0)
    assert found is not None
    assert batch.header(found).base_offset == 120


def test_the_end_is_cut_off_where_the_log_starts(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    log.delete_records(123)
    log.truncate(124)
    assert (log.log_start_offset, log.log_end_offset) == (120, 120)
    assert append(log, make_batch(5)) == 120


def test_a_closed_log_refuses(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    log.close()
    with pytest.raises(OSError, match="cannot delete records"):
        log.delete_records(10)


def test_while_others_append_and_read(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path, batches=500)
    stop = threading.Event()
    broken: list[BaseException] = []

    def keep(work: str) -> None:
        try:
            while not stop.is_set():
                if work == "append":
                    append(log, make_batch(5))
                else:
                    try:
                        log.read(log.log_start_offset, 1000)
                    except IndexError:
                        continue  # it moved in between
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=keep, args=(work,)) for work in ("append", "read", "read")]
    for thread in threads:
        thread.start()
    for _ in range(200):
        log.delete_records(-1)
    stop.set()
    for thread in threads:
        thread.join()
    assert not broken
    log.flush()
    assert bases(tmp_path)[0] <= log.log_start_offset <= log.log_end_offset
    assert log.segment_count == len(bases(tmp_path))
