"""Files that a crash, or somebody, damaged. Whatever the damage: what a log recovers is a prefix of what it was."""

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from kafpy.broker.server import Broker
from kafpy.broker.settings import Settings
from kafpy.metadata import StoreError
from kafpy.storage.directories import DirectoryError
from tests.core.logs import NOW, append, idempotent, kill, make_batch, offsets, read_all, running

SETTINGS = {"segment_bytes": 700, "index_interval_bytes": 150}


@pytest.fixture(scope="module")
def written() -> Iterator[tuple[Path, list[bytes]]]:
    """A log of several segments whose process was killed, and its batches."""
    with tempfile.TemporaryDirectory() as made, running(1) as runtime:
        folder = Path(made) / "t-0"
        log = Log(runtime, str(folder), **SETTINGS)
        for i in range(24):
            append(log, make_batch(1 + i % 3, timestamp=NOW + i, value=b"%d" % i * (i * 7 % 20)))
        runtime.settle()
        stored = read_all(log)
        kill(log)
        yield folder, stored


def comparable(stored: bytes) -> bytes:
    """Without the leader epoch, which no checksum covers."""
    return stored[:12] + stored[16:]


def recovered(runtime: Runtime, folder: Path) -> list[bytes]:
    log = Log(runtime, str(folder), **SETTINGS)
    try:
        found = read_all(log)
        assert append(log, make_batch()) == log.log_end_offset - 1
        return list(map(comparable, found))
    finally:
        kill(log)


@st.composite
def damages(draw: st.DrawFn) -> tuple[str, float, int, bytes]:
    """What is done, where in the segment, to which segment from the end, with which bytes."""
    kind = draw(st.sampled_from(["cut", "flip", "overwrite", "zeros", "append", "append zeros", "append stale"]))
    return kind, draw(st.floats(0, 1)), draw(st.integers(0, 2)), draw(st.binary(min_size=1, max_size=300))


def damage(path: Path, kind: str, where: float, data: bytes, stored: list[bytes]) -> int:
    """The position below which nothing changed."""
    content = bytearray(path.read_bytes())
    position = min(int(where * len(content)), len(content) - 1)
    match kind:
        case "cut":
            del content[position:]
        case "flip":
            content[position] ^= 1 << data[0] % 8
        case "overwrite":
            content[position : position + len(data)] = data
        case "zeros":
            content[position:] = bytes(len(content) - position)
        case _:
            position = len(content)
            content += {"append": data, "append zeros": bytes(4096), "append stale": stored[data[0] % len(stored)]}[
                kind
            ]
    path.write_bytes(content)
    return position


@given(damages())
@example(("flip", 0.0, 0, b"\0"))
@example(("flip", 0.999, 0, b"\0"))
def test_what_is_recovered_is_a_prefix(written: tuple[Path, list[bytes]], done: tuple[str, float, int, bytes]) -> None:
    kind, where, which, data = done
    original, stored = written
    with tempfile.TemporaryDirectory() as made, running(1) as runtime:
        folder = Path(made) / "t-0"
        shutil.copytree(original, folder)
        path = sorted(folder.glob("*.log"))[-1 - which]
        for index in folder.glob("*index"):
            if index.stem >= path.stem:
                index.unlink()  # as it was before the roll reached the disk
        intact = damage(path, kind, where, data, stored)
        before = [each for each in stored if batch.header(each).base_offset < int(path.stem)]
        for each in stored[len(before) :]:
            intact -= len(each)
            if intact < 0:
                break
            before.append(each)
        found = recovered(runtime, folder)
        assert found == [comparable(each) for each in stored[: len(found)]]
        assert len(found) >= len(before)
        assert len(recovered(runtime, folder)) == len(found) + 1


@pytest.mark.parametrize("bit", range(32, 64))
@pytest.mark.parametrize("which", [0, 3, 23])
def test_a_base_offset_that_changed(written: tuple[Path, list[bytes]], bit: int, which: int, tmp_path: Path) -> None:
    """It lies outside the CRC; the batches around it tell."""
    original, stored = written
    folder = tmp_path / "t-0"
    shutil.copytree(original, folder)
    path = max(each for each in folder.glob("*.log") if int(each.stem) <= batch.header(stored[which]).base_offset)
    content = bytearray(path.read_bytes())
    at = content.index(stored[which])
    content[at + bit // 8] ^= 1 << 7 - bit % 8
    path.write_bytes(content)
    with running(1) as runtime:
        found = recovered(runtime, folder)
    assert found == [comparable(each) for each in stored[: len(found)]]
    assert len(found) == which


def test_gaps_of_a_compacted_log_stay(tmp_path: Path) -> None:
    content = b"".join(batch_at(offset) for offset in (0, 5, 6, 30))
    (tmp_path / f"{0:020}.log").write_bytes(content)
    with running(1) as runtime:
        log = Log(runtime, str(tmp_path), keys_required=True)
        assert offsets(log) == [0, 5, 6, 30]
        kill(log)


def batch_at(offset: int) -> bytes:
    return offset.to_bytes(8, "big") + make_batch()[8:]


def test_a_snapshot_above_the_end_is_not_believed(tmp_path: Path) -> None:
    with running(1) as runtime:
        log = Log(runtime, str(tmp_path))
        append(log, idempotent(0))
        kill(log)
        log = Log(runtime, str(tmp_path), producers=[(7, 0, 400, 0, 500, NOW)], producers_offset=501)
        assert append(log, idempotent(0)) == 0
        assert append(log, idempotent(1)) == 1
        kill(log)


# ---- the broker's small files

SMALL_FILES = [
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "t-0/leader-epoch-checkpoint",
    "meta.properties",
    ".kafka_cleanshutdown",
    "t-0/partition.metadata",
    "t-0/00000000000000000012.snapshot",
    "metadata.sqlite",
]
HARM: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda _: None,
    "empty": lambda _: b"",
    "torn": lambda data: data[: len(data) // 2],
    "garbage": lambda data: random.Random(3).randbytes(max(len(data), 40)),
    "future": lambda _: b"0\n1\nt 0 99999999\n",
    "newer version": lambda data: b"7" + data[1:],
}


def settings(directory: Path) -> Settings:
    return Settings(listeners="PLAINTEXT://127.0.0.1:0", log_dirs=(str(directory),), log_segment_bytes=700)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a broker that stopped cleanly with 12 records in t-0."""
    import trio

    from kafpy.broker.state import BrokerState

    data = tmp_path_factory.mktemp("stopped") / "data"
    with Broker(settings(data)) as broker:

        async def fill() -> None:
            state = BrokerState(
                settings=broker.settings,
                cluster_id=broker._store.cluster_id(),
                image=broker._image,
                store=broker._store,
                partitions=broker.partitions,
                remove_later=lambda *_: None,
                limit=lambda *_: None,
                groups=broker._groups,
                wall_ms=broker.runtime.wall_ms,
            )
            await state.create_topic("t", 1)

        trio.run(fill)
        log = broker.partitions.log("t", 0)
        assert log is not None
        for number in range(12):
            append(log, idempotent(number))
    return data


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("name", SMALL_FILES)
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_c_06_small_files(stopped: Path, tmp_path: Path, clean: bool, name: str, harm: str) -> None:
    """Made again, or refused with a line that names the file; never does an offset go back unsaid."""
    data = tmp_path / "data"
    shutil.copytree(stopped, data)
    if not clean:
        (data / ".kafka_cleanshutdown").unlink()
    path = data / name
    left = HARM[harm](path.read_bytes() if path.exists() else b"")
    path.unlink(missing_ok=True)
    if left is not None:
        path.write_bytes(left)
    try:
        with Broker(settings(data)) as broker:
            log = broker.partitions.log("t", 0)
            assert log is not None
            assert offsets(log) == list(range(12))
            assert append(log, idempotent(11)) == 11
            assert append(log, idempotent(12)) == 12
            assert (data / "t-0/leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    except (DirectoryError, StoreError) as refused:
        assert str(data) in str(refused)
        assert name in ("meta.properties", "metadata.sqlite")
        assert sorted(path.name for path in data.glob("t-0/*.log")) == sorted(
            path.name for path in stopped.glob("t-0/*.log")
        )
    else:
        with Broker(settings(data)) as broker:
            log = broker.partitions.log("t", 0)
            assert log is not None
            assert offsets(log) == list(range(13))


def test_a_lost_folder_is_told(stopped: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = tmp_path / "data"
    shutil.copytree(stopped, data)
    shutil.rmtree(data / "t-0")
    with Broker(settings(data)) as broker:
        log = broker.partitions.log("t", 0)
        assert log is not None
        assert log.log_end_offset == 0
    assert "t-0 has no folder in any log directory; it starts empty" in caplog.messages
