"""Where batches begin that lie about so many bytes apart: as a walk over all batches says."""

from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from tests.core.logs import append, make_batch, read_all


def boundaries(log: Log) -> dict[int, int]:
    """Offsets that begin batches, with the bytes before each."""
    held = read_all(log)
    sizes = [0, *accumulate(len(each) for each in held)]
    return {batch.header(each).base_offset: size for each, size in zip(held, sizes, strict=False)}


def filled(runtime: Runtime, folder: Path, count: int = 300) -> Log:
    log = Log(runtime, str(folder), segment_bytes=20_000, index_interval_bytes=500)
    for number in range(count):
        append(log, make_batch(1 + number % 5, value=bytes(number % 400)))
    return log


@pytest.mark.parametrize("every", [1, 1000, 5000, 30_000])
def test_marks_of_many_segments(runtime: Runtime, tmp_path: Path, every: int) -> None:
    log = filled(runtime, tmp_path)
    known = boundaries(log)
    marks = log.marks(every, 10_000)
    assert marks
    for offset, position in marks:
        assert abs(known[offset] - position) <= 5 * 450, "it may be a batch off"
    for (low, before), (high, behind) in pairwise([(0, 0), *marks]):
        assert low < high
        assert before + every <= behind <= before + every + 2 * 2500
    assert log.size - marks[-1][1] <= every + 2 * 2500


def test_indexes_of_files_and_a_bound(runtime: Runtime, tmp_path: Path) -> None:
    filled(runtime, tmp_path).close()
    log = Log(runtime, str(tmp_path), clean=True, segment_bytes=20_000, index_interval_bytes=500)
    known = boundaries(log)
    marks = log.marks(2000, 10_000)
    assert {offset for offset, _ in marks} <= known.keys()
    assert log.marks(2000, 3) == marks[:3]
    assert log.marks(1 << 40, 10) == []


def test_what_lies_below_the_start_is_no_mark(runtime: Runtime, tmp_path: Path) -> None:
    log = filled(runtime, tmp_path)
    log.delete_records(400)
    marks = log.marks(1000, 10_000)
    assert min(offset for offset, _ in marks) > 400


def test_an_empty_log_has_none(runtime: Runtime, tmp_path: Path) -> None:
    assert Log(runtime, str(tmp_path)).marks(1, 10) == []
