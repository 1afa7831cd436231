"""What a broker leaves behind while it runs, so that little is to be done after a crash."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafpy.broker import recovery_progress
from kafpy.broker.recovery_progress import Progress
from tests.core.logs import append, idempotent

Start = Callable[..., Any]


def test_snapshots_follow_the_rolls(start: Start, data: Path) -> None:
    running = start(log_segment_bytes=500)
    with running.connect() as client:
        client.create("t")
    partitions = running.broker.partitions
    log = partitions.log("t", 0)
    taken = []
    for number in range(40):
        append(log, idempotent(number))
        running.broker.runtime.settle()
        partitions.write_checkpoints()
        taken.append(max((int(path.stem) for path in data.glob("t-0/*.snapshot")), default=0))
    assert taken[0] == 0
    assert 30 < taken[-1] <= 40
    assert len(set(taken)) < 15
    assert len(list(data.glob("t-0/*.snapshot"))) == 3
    assert "t 0 40" in (data / "replication-offset-checkpoint").read_text()


def test_long_recoveries_are_heard_of(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(recovery_progress, "INTERVAL_S", 0.02)
    with caplog.at_level(logging.WARNING), Progress(7) as progress:
        with progress.opening(Path("/data/a-0")):
            pass
        with progress.opening(Path("/data/b-0")):
            time.sleep(0.1)
    assert "1 of 7 logs are open; now recovering b-0" in caplog.messages


@pytest.mark.parametrize("fails", [False, True])
def test_the_last_line_says_what_is_left_to_do(
    start: Start, data: Path, tmp_path: Path, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    other = tmp_path / "other"
    running = start(log_dirs=(str(data), str(other)))
    if fails:
        running.broker._directories[1].failure = "it is broken"
    running.stop()
    left = f"the next start has to recover {other}" if fails else "nothing is left to recover"
    assert caplog.messages[-1] == f"stopped, {left}"
