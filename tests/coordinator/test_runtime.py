"""The runtime with the smallest of shards, a real log and a virtual clock."""

import os
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from kafpy._core import batch
from kafpy._core.commits import Commits
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from kafpy.coordinator.result import Record, Result, Timer
from kafpy.coordinator.runtime import CoordinatorRuntime, RuntimeConfig
from kafpy.coordinator.ticket import Gathering, Ticket
from kafpy.protocol.errors import ErrorCode

COMMIT_TIMEOUT_MS = 5000


@dataclass
class Sum:
    """Adds up its records' values; a total is also asked for at the next tick."""

    total: int = 0
    replayed: list[int] = field(default_factory=list)
    waiting: list[Any] = field(default_factory=list)
    ticks: list[Hashable] = field(default_factory=list)

    def replay(self, record: Record, offset: int) -> None:
        if record.key == b"bad":
            raise ValueError("no such record")
        self.total += int(record.value or b"0")
        self.replayed.append(offset)

    def loaded(self, now_ms: int) -> Result:
        return Result(timers=[Timer("loaded", 1000)])

    def unloaded(self) -> Result:
        return Result(replies=[(ticket, "unloaded") for ticket in self.waiting])

    def expired(self, key: Hashable, now_ms: int) -> Result:
        if key == "broken":
            raise ZeroDivisionError
        self.ticks.append(key)
        replies = [(ticket, self.total) for ticket in self.waiting]
        self.waiting.clear()
        return Result(replies=replies)

    def add(self, ticket: Ticket, *amounts: int, size: int = 0, atomic: bool = True) -> Result:
        records = [Record(b"k" * size + b"k", b"%d" % amount) for amount in amounts]
        return Result(records=records, replies=[(ticket, "added")], atomic=atomic)

    def get(self, ticket: Ticket) -> Result:
        return Result(replies=[(ticket, self.total)])

    def get_at_tick(self, ticket: Ticket, after_ms: int) -> Result:
        self.waiting.append(ticket)
        return Result(timers=[Timer("tick", after_ms)])


class Slow:
    """Commits that come when the test says so."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK)
        self.waiting: list[Any] = []
        self.over: list[tuple[Any, int]] = []

    def wait(self, log: Log, offset: int, tag: Any) -> None:
        self.waiting.append(tag)

    def finish(self, outcome: int) -> None:
        self.over += [(tag, outcome) for tag in self.waiting]
        self.waiting.clear()
        os.eventfd_write(self.fd, 1)

    def take(self) -> list[tuple[Any, int]]:
        os.eventfd_read(self.fd)
        over, self.over = self.over, []
        return over

    def close(self) -> None:
        os.close(self.fd)


class Stage:
    """One coordinator partition, 0, and the answers in the order they came."""

    def __init__(self, path: Path, slow: bool = False, **log_settings: int) -> None:
        self.native = Runtime()
        self.log: Log | None = Log(self.native, str(path), **log_settings)
        self.slow = Slow()
        self.commits: Any = self.slow if slow else Commits(self.native)
        self.max_batch_bytes = 1_000_000
        self.shards: list[Sum] = []
        self.answers: list[Any] = []
        self.runtime = CoordinatorRuntime[Sum](
            RuntimeConfig("topic", 1 << 16, COMMIT_TIMEOUT_MS),
            new_shard=self._new_shard,
            find_log=lambda index: self.log,
            max_batch_bytes=lambda: self.max_batch_bytes,
            commits=self.commits,
            wall_ms=self.native.wall_ms,
            now=trio.current_time,
        )

    def _new_shard(self) -> Sum:
        self.shards.append(Sum())
        return self.shards[-1]

    @property
    def shard(self) -> Sum:
        return self.shards[-1]

    def ticket(self, name: str) -> Ticket:
        return Ticket(lambda answer: self.answers.append((name, answer)), lambda error: error.name)

    def ask(self, name: str, operation: Callable[[Sum, Ticket], Result]) -> None:
        ticket = self.ticket(name)
        self.runtime.run(0, ticket, lambda shard, _: operation(shard, ticket))

    def add(self, name: str, *amounts: int, **options: Any) -> None:
        self.ask(name, lambda shard, ticket: shard.add(ticket, *amounts, **options))

    def get(self, name: str) -> None:
        self.ask(name, Sum.get)

    def batches(self) -> list[int]:
        """How many records each has."""
        assert self.log is not None
        data = self.log.read(0, 1 << 20)
        bounds = batch.split(data)
        return [batch.header(data[start:]).record_count for start in bounds[:-1]]

    async def led(self) -> None:
        self.runtime.lead(0)
        await self.settled()

    async def settled(self) -> None:
        """Nothing is left to do but to wait."""
        await trio.testing.wait_all_tasks_blocked()
        while self.runtime._to_load or any(led.error == 14 for led in self.runtime._led.values()):
            await trio.sleep(0)

    async def answered(self, count: int) -> list[Any]:
        while len(self.answers) < count:
            await trio.sleep(0)
        return self.answers

    def close(self) -> None:
        self.commits.close()
        if self.log is not None:
            self.log.close(flush=False)
        self.native.close()


Script = Callable[[Stage], Awaitable[None]]


@pytest.fixture
def perform(tmp_path: Path) -> Callable[..., None]:
    """Runs a script beside the runtime's task."""

    def perform(
        script: Script, clock: Any = None, before: Callable[[Stage], None] | None = None, **settings: Any
    ) -> None:
        stage = Stage(tmp_path / "topic-0", **settings)

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(stage.runtime.serve)
                await script(stage)
                nursery.cancel_scope.cancel()

        try:
            if before is not None:
                before(stage)
            trio.run(main, clock=clock)
        finally:
            stage.close()

    return perform


def test_one_batch_for_a_drain(perform: Callable[..., None]) -> None:
    async def script(stage: Stage) -> None:
        await stage.led()
        stage.add("a", 1)
        stage.add("b", 2, 3)
        stage.get("c")
        assert stage.answers == [], "nothing is written yet"
        stage.runtime.flush()
        assert stage.answers == [("a", "added"), ("b", "added"), ("c", 6)]
        assert stage.batches() == [3]
        stage.get("d")
        assert stage.answers[-1] == ("d", 6), "nothing is under way"
        stage.add("e", 4)
        stage.runtime.flush()
        assert stage.batches() == [3, 1]
        assert stage.shard.replayed == [0, 1, 2, 3]

    perform(script)


def test_replies_wait_for_the_commit(perform: Callable[..., None]) -> None:
    """flush.messages=1: the high watermark comes with the sync, and what is asked meanwhile comes behind it."""

    async def script(stage: Stage) -> None:
        await stage.led()
        for number in range(5):
            stage.add(f"add {number}", number)
            stage.runtime.flush()
            stage.get(f"get {number}")
        answers = await stage.answered(10)
        assert [name for name, _ in answers if name.startswith("add")] == [f"add {number}" for number in range(5)]
        for number in range(5):
            name, total = answers[answers.index((f"add {number}", "added")) + 1]
            assert name == f"get {number}"
            assert total == sum(range(number + 1))
            assert stage.log is not None
            assert stage.log.high_watermark == 5

    perform(script, flush_messages=1)


def test_loading(perform: Callable[..., None]) -> None:
    def before(stage: Stage) -> None:
        assert stage.log is not None
        for keys, values in (([b"k", b"bad", b"k"], [b"1", b"7", b"2"]), ([b"k"], [b"30"])):
            data = batch.encode(values, keys=keys, timestamps=stage.native.wall_ms())
            assert stage.log.append(data)[0] == 0

    async def script(stage: Stage) -> None:
        stage.get("nobody")
        stage.runtime.lead(0)
        stage.get("early")
        stage.runtime.run_everywhere(lambda shard, _: Result(records=[Record(b"k", b"100")]))
        await stage.settled()
        stage.get("late")
        assert stage.answers == [
            ("nobody", "NOT_COORDINATOR"),
            ("early", "COORDINATOR_LOAD_IN_PROGRESS"),
            ("late", 133),
        ]
        assert stage.shard.replayed == [0, 2, 3, 4]

    perform(script, before=before)


def test_resigning(perform: Callable[..., None]) -> None:
    async def script(stage: Stage) -> None:
        await stage.led()
        stage.ask("waits", lambda shard, ticket: shard.get_at_tick(ticket, 1000))
        stage.add("unwritten", 1)
        stage.runtime.resign(0)
        stage.runtime.flush()
        stage.get("late")
        assert stage.answers == [
            ("unwritten", "NOT_COORDINATOR"),
            ("waits", "unloaded"),
            ("late", "NOT_COORDINATOR"),
        ]
        await trio.sleep(2)
        assert stage.shard.ticks == [], "its timers are off"
        await stage.led()
        stage.get("again")
        assert stage.answers[-1] == ("again", 0)

    perform(script, clock=trio.testing.MockClock(autojump_threshold=0.01))


def test_timers(perform: Callable[..., None]) -> None:
    async def script(stage: Stage) -> None:
        await stage.led()
        stage.ask("waits", lambda shard, ticket: shard.get_at_tick(ticket, 500))
        await trio.sleep(0.4)
        stage.ask("moves it on", lambda shard, ticket: shard.get_at_tick(ticket, 500))
        await trio.sleep(0.4)
        assert stage.shard.ticks == []
        await trio.sleep(0.15)
        assert stage.shard.ticks == ["tick"]
        assert stage.answers == [("waits", 0), ("moves it on", 0)]
        await trio.sleep(1)
        assert stage.shard.ticks == ["tick", "loaded"]

    perform(script, clock=trio.testing.MockClock(autojump_threshold=0.01))


def test_a_timer_that_raises(perform: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    async def script(stage: Stage) -> None:
        await stage.led()
        stage.ask(
            "a", lambda shard, ticket: Result(replies=[(ticket, 1)], timers=[Timer("broken", 10), Timer("tick", 20)])
        )
        await trio.sleep(0.5)
        assert stage.shard.ticks == ["tick"]
        assert "topic-0: an operation failed" in caplog.text

    perform(script, clock=trio.testing.MockClock(autojump_threshold=0.01))


def test_an_append_that_is_refused(perform: Callable[..., None]) -> None:
    """Everybody who waits is refused, and the shard is what its log says."""

    async def script(stage: Stage) -> None:
        await stage.led()
        stage.add("kept", 1)
        stage.runtime.flush()
        stage.ask("waits", lambda shard, ticket: shard.get_at_tick(ticket, 60_000))
        stage.add("too large", 2, size=3000)
        stage.get("behind it")
        stage.runtime.flush()
        await stage.settled()
        stage.get("after")
        assert stage.answers == [
            ("kept", "added"),
            ("too large", "UNKNOWN_SERVER_ERROR"),
            ("behind it", "UNKNOWN_SERVER_ERROR"),
            ("waits", "unloaded"),
            ("after", 1),
        ]

    perform(script, max_message_bytes=2000)


def test_a_disk_that_fails(perform: Callable[..., None]) -> None:
    async def script(stage: Stage) -> None:
        await stage.led()
        assert stage.log is not None
        stage.add("a", 1)
        stage.log.fail()
        stage.runtime.flush()
        stage.get("b")
        await stage.settled()
        assert stage.answers == [("a", "NOT_COORDINATOR"), ("b", "NOT_COORDINATOR")]
        stage.runtime.resign(0)
        stage.get("c")
        assert stage.answers[2:] == [("c", "NOT_COORDINATOR")]

    perform(script)


def test_a_sync_that_fails(perform: Callable[..., None]) -> None:
    """The batch is in the log, and will never be committed."""

    async def script(stage: Stage) -> None:
        await stage.led()
        assert stage.log is not None
        stage.add("a", 1)
        stage.runtime.flush()
        stage.get("b")
        await stage.settled()
        assert stage.answers == []
        stage.log.fail()
        stage.slow.finish(56)
        assert await stage.answered(2) == [("a", "NOT_COORDINATOR"), ("b", "NOT_COORDINATOR")]

    perform(script, slow=True)


def test_a_commit_that_takes_too_long(perform: Callable[..., None]) -> None:
    async def script(stage: Stage) -> None:
        await stage.led()
        stage.add("a", 1)
        stage.runtime.flush()
        await trio.sleep(COMMIT_TIMEOUT_MS / 2000)
        stage.add("b", 2)
        stage.runtime.flush()
        await trio.sleep(COMMIT_TIMEOUT_MS / 2000 + 0.1)
        assert stage.answers == [("a", "COORDINATOR_NOT_AVAILABLE")]
        stage.slow.finish(0)
        assert await stage.answered(2) == [("a", "COORDINATOR_NOT_AVAILABLE"), ("b", "added")]
        stage.get("c")
        assert stage.answers[-1] == ("c", 3)

    perform(script, clock=trio.testing.MockClock(autojump_threshold=0.01), slow=True)


def test_batches_are_cut_between_operations(perform: Callable[..., None]) -> None:
    async def script(stage: Stage) -> None:
        stage.max_batch_bytes = 300
        await stage.led()
        for name in "abc":
            stage.add(name, 1, 2, 3)
        stage.runtime.flush()
        assert stage.batches() == [6, 3]
        stage.add("d", *[1] * 15, atomic=False)
        stage.runtime.flush()
        assert stage.batches() == [6, 3, 7, 7, 1]
        assert [answer for _, answer in stage.answers] == ["added"] * 4

    perform(script, max_message_bytes=140)


def test_an_operation_that_raises_harms_nobody(perform: Callable[..., None]) -> None:
    async def script(stage: Stage) -> None:
        await stage.led()
        stage.add("a", 1)
        with pytest.raises(ZeroDivisionError):
            stage.ask("b", lambda shard, ticket: Result(timers=[Timer("x", 1 // 0)]))
        stage.runtime.flush()
        assert stage.answers == [("a", "added")]

    perform(script)


def test_gathering() -> None:
    sent: list[Any] = []
    gathering = Gathering(3, sent.append)
    tickets = [gathering.ticket(part, lambda error: error) for part in range(3)]
    tickets[2].reply("c")
    tickets[0].reply("a")
    assert sent == []
    tickets[1].refuse(ErrorCode.NOT_COORDINATOR)
    assert sent == [["a", ErrorCode.NOT_COORDINATOR, "c"]]
    Gathering(0, sent.append)
    assert sent[1] == []
