"""Waiting for high watermarks, on logs whose watermark follows their syncs."""

import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy._core import batch
from kafpy._core.commits import Commits
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime

STORAGE_ERROR, UNKNOWN_PARTITION = 56, 3


@pytest.fixture
def commits(runtime: Runtime) -> Iterator[Commits]:
    made = Commits(runtime)
    yield made
    made.close()


def synced_log(runtime: Runtime, path: Path) -> Log:
    return Log(runtime, str(path), flush_messages=1)


def append(log: Log) -> int:
    """Where the high watermark has to come."""
    error, base_offset, _ = log.append(batch.encode([b"v"], timestamps=log.runtime.wall_ms()))
    assert error == 0
    return base_offset + 1


def taken(commits: Commits, count: int) -> list[tuple[object, int]]:
    found: list[tuple[object, int]] = []
    while len(found) < count:
        assert select.select([commits.fd], [], [], 30)[0], "nobody told"
        found += commits.take()
    return found


def test_what_is_there_is_not_waited_for(runtime: Runtime, commits: Commits, tmp_path: Path) -> None:
    log = Log(runtime, str(tmp_path / "t-0"))
    assert commits.wait(log, append(log), "tag") == 0
    assert commits.take() == []
    log.close()


def test_told_when_the_watermark_comes(runtime: Runtime, commits: Commits, tmp_path: Path) -> None:
    log = synced_log(runtime, tmp_path / "t-0")
    expected = {}
    for number in range(20):
        outcome = commits.wait(log, append(log), number)
        assert outcome in (None, 0)
        if outcome is None:
            expected[number] = 0
    assert dict(taken(commits, len(expected))) == expected
    assert log.high_watermark == 20
    assert commits.take() == []
    log.close()


def test_told_when_it_never_will(runtime: Runtime, commits: Commits, tmp_path: Path) -> None:
    failing, closing = synced_log(runtime, tmp_path / "t-0"), synced_log(runtime, tmp_path / "t-1")
    assert commits.wait(failing, 5, "failing") is None
    assert commits.wait(closing, 5, "closing") is None
    failing.fail()
    closing.close()
    assert dict(taken(commits, 2)) == {"failing": STORAGE_ERROR, "closing": UNKNOWN_PARTITION}
    assert commits.wait(failing, 5, "again") == STORAGE_ERROR
    assert commits.wait(closing, 5, "again") == UNKNOWN_PARTITION


def test_a_watermark_that_moves_and_does_not_suffice(runtime: Runtime, commits: Commits, tmp_path: Path) -> None:
    log = synced_log(runtime, tmp_path / "t-0")
    assert commits.wait(log, 2, "second") is None
    append(log)
    log.flush()
    assert commits.take() == []
    append(log)
    assert taken(commits, 1) == [("second", 0)]
    log.close()


@pytest.mark.parametrize("told", [False, True], ids=["silent", "told"])
def test_closing_forgets(runtime: Runtime, tmp_path: Path, told: bool) -> None:
    log = synced_log(runtime, tmp_path / "t-0")
    commits = Commits(runtime)
    for number in range(3):
        assert commits.wait(log, 1, number) is None
    if told:
        append(log)
        log.flush()
    commits.close()
    assert commits.take() == []
    log.close()


def test_told_again_while_it_is_dropped(runtime: Runtime, commits: Commits, tmp_path: Path) -> None:
    """Syncs that follow each other closely tell a waiter that is on its way out."""
    log = synced_log(runtime, tmp_path / "t-0")
    over = 0
    for number in range(2000):
        over += commits.wait(log, append(log), number) == 0
        over += len(commits.take())
    over += len(taken(commits, 2000 - over))
    assert over == 2000
    log.close()
