"""Idempotent producers: what a log takes once, takes for a repeat, or refuses."""

from pathlib import Path

import pytest

from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from tests.core.logs import NOW, append, error_of, idempotent, kill

OUT_OF_ORDER, FENCED = 45, 47


@pytest.fixture
def log(runtime: Runtime, tmp_path: Path) -> Log:
    return Log(runtime, str(tmp_path))


def test_a_repeat_within_five_batches_is_answered_with_its_first_offset(log: Log) -> None:
    for i in range(8):
        assert append(log, idempotent(2 * i, 2)) == 2 * i
    for i in range(3, 8):
        assert append(log, idempotent(2 * i, 2)) == 2 * i
    for i in range(3):
        assert error_of(log, idempotent(2 * i, 2)) == OUT_OF_ORDER
    assert log.log_end_offset == 16
    assert append(log, idempotent(16)) == 16


def test_a_gap_is_refused(log: Log) -> None:
    append(log, idempotent(0, 3))
    assert error_of(log, idempotent(4)) == OUT_OF_ORDER
    assert error_of(log, idempotent(1)) == OUT_OF_ORDER
    assert error_of(log, idempotent(0, 2)) == OUT_OF_ORDER
    assert append(log, idempotent(3)) == 3


def test_an_unknown_producer_may_start_anywhere(log: Log) -> None:
    assert append(log, idempotent(1000)) == 0
    assert error_of(log, idempotent(1000, producer=8)) == 0


def test_producers_do_not_see_each_other(log: Log) -> None:
    for producer in range(100):
        for sequence in range(3):
            assert error_of(log, idempotent(sequence, producer=producer)) == 0
    assert len(log.producers()) == 100
    for producer in range(100):
        assert append(log, idempotent(2, producer=producer)) == 3 * producer + 2


def test_epochs(log: Log) -> None:
    append(log, idempotent(0, epoch=3))
    assert error_of(log, idempotent(1, epoch=2)) == FENCED
    assert error_of(log, idempotent(1, epoch=4)) == OUT_OF_ORDER
    assert append(log, idempotent(0, epoch=4)) == 1
    assert error_of(log, idempotent(1, epoch=3)) == FENCED
    assert append(log, idempotent(1, epoch=4)) == 2


def test_sequences_wrap(log: Log) -> None:
    top = 2**31 - 1
    append(log, idempotent(top - 3, 3))
    assert append(log, idempotent(top, 2)) == 3
    assert append(log, idempotent(top, 2)) == 3
    assert append(log, idempotent(1)) == 5
    again = Log(log.runtime, log.directory)
    assert append(again, idempotent(2)) == 6


@pytest.mark.parametrize("clean", [False, True])
def test_producers_come_back_with_the_log(log: Log, clean: bool) -> None:
    for i in range(7):
        append(log, idempotent(i))
        append(log, idempotent(i, producer=9, epoch=2))
    before = sorted(known[:5] for known in log.producers())
    if clean:
        log.close()
    else:
        kill(log)
    again = Log(log.runtime, log.directory, clean=clean)
    assert sorted(known[:5] for known in again.producers()) == before
    assert append(again, idempotent(5)) == 10
    assert error_of(again, idempotent(8)) == OUT_OF_ORDER
    assert error_of(again, idempotent(7, producer=9, epoch=1)) == FENCED
    assert append(again, idempotent(7)) == 14


def test_a_snapshot_and_what_follows_it(runtime: Runtime, tmp_path: Path) -> None:
    size = 3 * len(idempotent(0))
    log = Log(runtime, str(tmp_path), segment_bytes=size)
    append(log, idempotent(40, producer=5))
    for i in range(5):
        append(log, idempotent(i))
    snapshot, at = log.producers(), log.log_end_offset
    for i in range(5, 8):
        append(log, idempotent(i))
    kill(log)
    again = Log(runtime, str(tmp_path), segment_bytes=size, producers=snapshot, producers_offset=at)
    assert sorted(known[:5] for known in again.producers()) == [(5, 0, 40, 0, 0), (7, 0, 7, 0, 8)]
    assert append(again, idempotent(41, producer=5)) == 9
    assert append(again, idempotent(8)) == 10


def test_truncation_takes_their_batches_back(log: Log) -> None:
    for i in range(6):
        append(log, idempotent(i))
    append(log, idempotent(0, producer=9))
    log.truncate(4)
    assert [known[:5] for known in log.producers()] == [(7, 0, 3, 0, 3)]
    assert error_of(log, idempotent(5)) == OUT_OF_ORDER
    assert append(log, idempotent(4)) == 4


def test_a_refused_batch_leaves_no_trace(log: Log) -> None:
    append(log, idempotent(0))
    damaged = bytearray(idempotent(1))
    damaged[-1] ^= 1
    assert error_of(log, bytes(damaged)) == 2
    assert append(log, idempotent(1)) == 1


def test_old_producers_make_room(runtime: Runtime, tmp_path: Path) -> None:
    log = Log(runtime, str(tmp_path), producer_expiry_ms=1000)
    for producer in range(50):
        assert error_of(log, idempotent(0, producer=producer, timestamp=NOW)) == 0
    runtime.advance(10_000)
    for producer in range(1000, 1200):
        assert error_of(log, idempotent(0, producer=producer)) == 0
    assert {known[0] for known in log.producers()} >= set(range(1000, 1200))
    assert not {known[0] for known in log.producers()} & set(range(50))
