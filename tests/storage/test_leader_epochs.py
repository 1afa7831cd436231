from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from kafpy.storage.leader_epochs import LEADER_EPOCHS, Entry, bring_up_to_date
from tests.core.logs import append, kill, make_batch, running


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with running(1) as runtime:
        yield runtime


def led(runtime: Runtime, folder: Path, *counts: int) -> Log:
    """A log whose leader changed after so many batches of two."""
    for epoch, count in enumerate(counts):
        log = Log(runtime, str(folder), leader_epoch=epoch, segment_bytes=400)
        for _ in range(count):
            append(log, make_batch(2))
        if epoch < len(counts) - 1:
            kill(log)
    return log


def test_a_new_log(runtime: Runtime, tmp_path: Path) -> None:
    log = Log(runtime, str(tmp_path))
    assert bring_up_to_date(tmp_path, log, new=True) == [Entry(0, 0)]
    assert (tmp_path / LEADER_EPOCHS).read_bytes() == b"0\n1\n0 0\n"


@pytest.mark.parametrize(
    "text", [None, "", "0\n", "0\n2\n0 0\n", "1\n1\n0 0\n", "0\n1\nx y\n", "0\n2\n1 0\n0 5\n", "0\n1\n0\n"]
)
def test_made_again_from_the_batches(runtime: Runtime, tmp_path: Path, text: str | None) -> None:
    log = led(runtime, tmp_path, 3, 0, 4, 1, 5)
    if text is not None:
        (tmp_path / LEADER_EPOCHS).write_text(text)
    assert bring_up_to_date(tmp_path, log, new=False) == [Entry(0, 0), Entry(2, 6), Entry(3, 14), Entry(4, 16)]
    assert (tmp_path / LEADER_EPOCHS).read_text() == "0\n4\n0 0\n2 6\n3 14\n4 16\n"


def test_cut_to_the_log(runtime: Runtime, tmp_path: Path) -> None:
    log = led(runtime, tmp_path, 3, 2, 1)
    (tmp_path / LEADER_EPOCHS).write_text("0\n3\n0 0\n1 6\n2 500\n")
    assert bring_up_to_date(tmp_path, log, new=False) == [Entry(0, 0), Entry(1, 6), Entry(2, 12)]


def test_an_epoch_without_records_gives_way(runtime: Runtime, tmp_path: Path) -> None:
    log = led(runtime, tmp_path, 3)
    kill(log)
    for epoch in (1, 2):
        log = Log(runtime, str(tmp_path), leader_epoch=epoch)
        assert bring_up_to_date(tmp_path, log, new=False) == [Entry(0, 0), Entry(epoch, 6)]
        kill(log)
