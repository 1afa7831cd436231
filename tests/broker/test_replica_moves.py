"""What is seen of a move that is under way, and what ends it. The swap waits for the lock that every change takes."""

import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from kafpy._core import batch
from kafpy.broker.replica_moves import Future
from kafpy.protocol.errors import ErrorCode
from tests.handlers.real import RealBroker


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealBroker]:
    broker = RealBroker(tmp_path / "one", tmp_path / "two")
    broker.create("t")
    broker.fill("t", 10)
    yield broker
    broker.close()


def where(real: RealBroker) -> tuple[str, str]:
    """The directory of the partition, and the other."""
    here = real.partitions.directory("t", 0)
    assert here is not None
    return here, next(str(path) for path in real.paths if str(path) != here)


async def caught_up(real: RealBroker) -> Future:
    """When the copy has all there was; what is told of it."""
    for _ in range(1000):
        _, futures = await real.state.describe_directories()
        if ("t", 0) in futures and futures["t", 0].offset_lag == 0:
            return futures["t", 0]
        await trio.sleep(0.005)
    raise AssertionError("it never caught up")


def held(real: RealBroker, work: Callable[[trio.Nursery], Awaitable[None]]) -> None:
    """Runs `work` while no change can be made, then lets the moves that it began end."""

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            real.state._start_soon = lambda move: nursery.start_soon(move)
            async with real.state._changing:
                await work(nursery)

    trio.run(run)
    assert trio.run(real.state.describe_directories)[1] == {}


def left(real: RealBroker) -> list[str]:
    return sorted(path.name for each in real.paths for path in each.glob("t-0*") if not path.name.endswith("-delete"))


def test_progress(real: RealBroker) -> None:
    here, there = where(real)
    log = real.partitions.log("t", 0)
    assert log is not None

    async def work(_: trio.Nursery) -> None:
        assert await real.state.move_replica("t", 0, there) == ErrorCode.NONE
        assert await caught_up(real) == Future(there, log.size, 0)
        assert await real.state.move_replica("t", 0, there) == ErrorCode.NONE  # the same one
        size = log.size
        assert log.append(batch.encode([b"more"] * 3, timestamps=5000))[0] == 0
        assert (await real.state.describe_directories())[1] == {("t", 0): Future(there, size, 3)}
        contents = {each.path: each for each in (await real.state.describe_directories())[0]}
        assert contents[here].sizes == {("t", 0): log.size}
        assert contents[there].sizes == {}
        assert real.partitions.log("t", 0) is log

    held(real, work)
    assert real.partitions.directory("t", 0) == there
    moved = real.partitions.log("t", 0)
    assert moved is not None
    assert (moved.log_end_offset, moved.size) == (13, log.size)


def test_asking_for_where_it_lies_ends_it(real: RealBroker) -> None:
    here, there = where(real)

    async def work(_: trio.Nursery) -> None:
        assert await real.state.move_replica("t", 0, there) == ErrorCode.NONE
        await caught_up(real)
        assert await real.state.move_replica("t", 0, here) == ErrorCode.NONE
        assert (await real.state.describe_directories())[1] == {}

    held(real, work)
    assert real.partitions.directory("t", 0) == here
    assert left(real) == ["t-0"]
    real.fill("t", 1)


def test_a_target_that_goes_offline_ends_it(real: RealBroker, caplog: pytest.LogCaptureFixture) -> None:
    """Another log of that directory met a disk that fails: nothing more is written there, and nobody else suffers."""
    here, there = where(real)

    async def work(_: trio.Nursery) -> None:
        assert await real.state.move_replica("t", 0, there) == ErrorCode.NONE
        await caught_up(real)
        target = real.partitions.directory_at(there)
        assert target is not None
        target.failure = "u-0: Input/output error"

    held(real, work)
    assert real.partitions.directory("t", 0) == here
    assert "was not moved to" in caplog.text
    assert not (Path(there) / "t-0").exists()
    real.fill("t", 1)


def test_a_deleted_topic_does_not_come_back(real: RealBroker) -> None:
    """It is deleted, and made again under the same name, before the copy could take its place."""
    _, there = where(real)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            real.state._start_soon = lambda move: nursery.start_soon(move)
            async with real.state._changing:
                nursery.start_soon(real.state.delete_topic, "t")
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(real.state.create_topic, "t", 1)
                await trio.testing.wait_all_tasks_blocked()
                assert await real.state.move_replica("t", 0, there) == ErrorCode.NONE
                await caught_up(real)

    trio.run(run)
    log = real.partitions.log("t", 0)
    assert log is not None
    assert log.log_end_offset == 0
    assert left(real) == ["t-0"]


def test_a_broker_that_stops_does_not_wait_for_it(real: RealBroker) -> None:
    here, there = where(real)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            real.state._start_soon = lambda move: nursery.start_soon(move)
            async with real.state._changing:
                assert await real.state.move_replica("t", 0, there) == ErrorCode.NONE
                await caught_up(real)
                nursery.cancel_scope.cancel()

    trio.run(run)
    assert real.partitions.directory("t", 0) == here
    assert left(real) == ["t-0"]


@pytest.mark.parametrize("longer", ["first", "second", None])
def test_a_folder_that_is_there_twice(real: RealBroker, longer: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """As a crash at the very end of a move leaves it; the log that was used since is the longer one."""
    here, there = where(real)
    original, copy = Path(here) / "t-0", Path(there) / "t-0"
    old = Path(here).parent / "old"
    shutil.copytree(original, old)
    real.fill("t", 5)
    real.close()
    if longer == "second":
        original.rename(copy)
        old.rename(original)
    else:
        shutil.copytree(old if longer == "first" else original, copy)
    real._open()
    log = real.partitions.log("t", 0)
    assert log is not None
    assert log.log_end_offset == 15
    assert [name.endswith("-stray") for name in left(real)] == [False, True]
    assert "is there twice" in caplog.text
