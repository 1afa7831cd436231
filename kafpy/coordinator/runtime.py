"""Drives replicated state machines: one shard per partition of a coordinator's topic that is led here.

    run an operation → replay its records into the shard at once, keep them for this drain of the inbox
    flush, at the drain's end → one batch per partition, appended
    committed (the high watermark is there) → replies; what is asked meanwhile waits behind it
    lead a partition → a new shard, the log replayed into it on a thread, then it is asked

So a reply never tells of what could still be lost, and what is served was loaded the same way. The shard is ahead of
its log only while a batch is under way: when an append or a commit fails, everybody who waits is refused, and a new
shard is loaded from what the log has. The borrowed shape is Kafka's CoordinatorRuntime.
"""

import logging
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, Generic, TypeVar, cast

import trio

from kafpy._core import batch
from kafpy._core.commits import Commits
from kafpy._core.log import Log
from kafpy.coordinator.result import Record, Result, Shard, Ticket
from kafpy.coordinator.timers import Deadlines, Timers
from kafpy.protocol.errors import ErrorCode
from kafpy.storage import compression

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)
T = TypeVar("T")

BATCH_OVERHEAD, RECORD_OVERHEAD = 61, 32
MAX_OPENED_BYTES = 64 << 20
_COMMIT_TIMEOUT = ("the runtime's commit time-out",)
_UNAVAILABLE = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REQUEST_TIMED_OUT}
)
_ELSEWHERE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    topic: str
    load_bytes: int
    """Read at a time while loading."""
    commit_timeout_ms: int
    codec: int = compression.NONE


@dataclass(slots=True, eq=False)
class _Flight:
    """One batch that is appended and not committed."""

    end_offset: int
    deadline: float
    replies: list[tuple[Ticket, Any]]


@dataclass(slots=True, eq=False)
class _Led(Generic[S]):
    """A partition that is led here, from lead() to resign() or the next failure."""

    index: int
    shard: S
    next_offset: int = 0
    error: ErrorCode = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    """What requests are refused with; NONE: it is asked."""
    records: list[Record] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Where in `records` an operation's last one stands, or one that may be the last of a batch."""
    replies: list[tuple[Ticket, Any]] = field(default_factory=list)
    in_flight: deque[_Flight] = field(default_factory=deque)
    deadlines: Deadlines = field(default_factory=Deadlines)
    postponed: list[Callable[[S, int], Result]] = field(default_factory=list)


class CoordinatorRuntime(Generic[S]):
    """Belongs to the loop; serve() is its task there."""

    def __init__(
        self,
        config: RuntimeConfig,
        *,
        new_shard: Callable[[], S],
        find_log: Callable[[int], Log | None],
        max_batch_bytes: Callable[[], int],
        commits: Commits,
        wall_ms: Callable[[], int],
        now: Callable[[], float],
    ) -> None:
        """`find_log` is asked each time: a log is replaced when its replica moves to another directory."""
        self._config = config
        self._new_shard = new_shard
        self._find_log = find_log
        self._max_batch_bytes = max_batch_bytes
        self._commits = commits
        self._wall_ms = wall_ms
        self._now = now
        self._led: dict[int, _Led[S]] = {}
        self._owners: dict[int, _Led[S]] = {}
        """By the identity of its deadlines, for timers."""
        self._dirty: list[_Led[S]] = []
        self._timers = Timers()
        self._alarm: trio.CancelScope | None = None
        self._to_load: deque[_Led[S]] = deque()
        self._loading = trio.Event()

    # ---- leadership

    @property
    def led(self) -> set[int]:
        return set(self._led)

    def lead(self, index: int) -> None:
        if index not in self._led:
            self._load_soon(index, [])

    def _load_soon(self, index: int, postponed: list[Callable[[S, int], Result]]) -> None:
        led = self._led[index] = _Led(index, self._new_shard(), postponed=postponed)
        self._owners[id(led.deadlines)] = led
        self._to_load.append(led)
        self._loading.set()

    def resign(self, index: int) -> None:
        led = self._led.pop(index, None)
        if led is not None:
            self._abandon(led, ErrorCode.NOT_COORDINATOR)

    def _abandon(self, led: _Led[S], error: ErrorCode) -> None:
        """Whoever waits is refused, and its timers are off."""
        was_asked, led.error = led.error is ErrorCode.NONE, ErrorCode.NOT_COORDINATOR
        self._owners.pop(id(led.deadlines), None)
        self._timers.forget(led.deadlines)
        waiting = [ticket for flight in led.in_flight for ticket, _ in flight.replies]
        waiting += [ticket for ticket, _ in led.replies]
        led.in_flight.clear()
        led.replies, led.records, led.ends = [], [], []
        for ticket in waiting:
            ticket.refuse(error)
        if was_asked:
            _answer(led.shard.unloaded().replies)

    # ---- operations

    def run(self, index: int, ticket: Ticket, operation: Callable[[S, int], Result]) -> None:
        """The ticket is answered by the operation or refused; records are written by flush()."""
        led = self._led.get(index)
        if led is None:
            ticket.refuse(ErrorCode.NOT_COORDINATOR)
        elif led.error is not ErrorCode.NONE:
            ticket.refuse(led.error)
        else:
            self._take(led, operation(led.shard, self._wall_ms()))

    def ask_each(self, question: Callable[[S], T]) -> Iterator[T]:
        """Of every shard that is loaded; between two answers the loop may turn."""
        for index in sorted(self._led):
            led = self._led.get(index)
            if led is not None and led.error is ErrorCode.NONE:
                yield question(led.shard)

    def run_everywhere(self, operation: Callable[[S, int], Result]) -> None:
        """On every shard; on one that is loading, right after that."""
        for led in list(self._led.values()):
            if led.error is ErrorCode.NONE:
                self._run_unasked(led, operation)
            elif led.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                led.postponed.append(operation)

    def _run_unasked(self, led: _Led[S], operation: Callable[[S, int], Result]) -> None:
        """Nobody but the log file hears of what goes wrong; a request's operation ends its own connection."""
        try:
            self._take(led, operation(led.shard, self._wall_ms()))
        except Exception:
            logger.exception("%s-%d: an operation failed", self._config.topic, led.index)

    def _take(self, led: _Led[S], result: Result) -> None:
        if result.records:
            if not led.records:
                self._dirty.append(led)
            for record in result.records:
                led.shard.replay(record, led.next_offset)
                led.next_offset += 1
                led.records.append(record)
                if not result.atomic:
                    led.ends.append(len(led.records))
            if result.atomic:
                led.ends.append(len(led.records))
        if result.timers:
            self._set_timers(led, result)
        for note in result.notes:
            logger.info("%s", note)
        if result.replies:
            if led.records:
                led.replies += result.replies
            elif led.in_flight:
                led.in_flight[-1].replies += result.replies
            else:
                _answer(result.replies)

    # ---- writing

    def flush(self) -> None:
        """Append what operations have left since the last time, and answer those that wait for nothing else."""
        while self._dirty:
            dirty, self._dirty = self._dirty, []
            for led in dirty:
                if led.records:
                    self._write(led)

    def _write(self, led: _Led[S]) -> None:
        records, ends, replies = led.records, led.ends, led.replies
        led.records, led.ends, led.replies = [], [], []
        log = self._find_log(led.index)
        error, end_offset = int(ErrorCode.NOT_LEADER_OR_FOLLOWER), -1
        if log is not None:
            error, end_offset = self._append(log, records)
            if error == ErrorCode.MESSAGE_TOO_LARGE and len(ends) > 1:
                for first, last in _batches(records, ends, self._max_batch_bytes()):
                    error, end_offset = self._append(log, records[first:last])
                    if error:
                        break
        if error or log is None:
            led.replies = replies
            self._fail(led, error)
            return
        outcome = self._commits.wait(log, end_offset, led)
        if outcome == 0:
            led.in_flight.clear()
            _answer(replies)
        elif outcome is None:
            deadline = self._now() + self._config.commit_timeout_ms / 1000
            if not led.in_flight:
                self._set_timer(led, _COMMIT_TIMEOUT, deadline)
            led.in_flight.append(_Flight(end_offset, deadline, replies))
        else:
            led.replies = replies
            self._fail(led, outcome)

    def _append(self, log: Log, records: list[Record]) -> tuple[int, int]:
        """As one batch: the error code, and the offset behind it."""
        keys, values = zip(*records, strict=True)
        codec = self._config.codec
        data = batch.encode(
            values,
            keys=keys,
            timestamps=self._wall_ms(),
            codec=codec,
            compress=None if codec == compression.NONE else partial(compression.compress, codec),
        )
        error, base_offset, _ = log.append(data)
        return error, base_offset + len(records)

    def _fail(self, led: _Led[S], error: int) -> None:
        """The shard knows what its log does not: another one takes its place."""
        logger.error(
            "%s-%d did not take a batch (%s): its groups are loaded again",
            self._config.topic,
            led.index,
            ErrorCode(error).name,
        )
        self._abandon(led, _refusal(error))
        log = self._find_log(led.index)
        if self._led.get(led.index) is led and log is not None and not log.offline:
            self._load_soon(led.index, [])

    # ---- tasks

    async def serve(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._load)
            nursery.start_soon(self._watch_commits)
            nursery.start_soon(self._fire_timers)

    async def _load(self) -> None:
        """One at a time: replaying holds the GIL, and the first one is ready the sooner."""
        while True:
            await self._loading.wait()
            self._loading = trio.Event()
            while self._to_load:
                led = self._to_load.popleft()
                if self._led.get(led.index) is led:
                    await self._load_one(led)

    async def _load_one(self, led: _Led[S]) -> None:
        log = self._find_log(led.index)
        try:
            if log is None:
                raise OSError("its log is offline")
            led.next_offset = log.log_end_offset
            if log.log_end_offset > log.log_start_offset:
                await trio.to_thread.run_sync(self._replay, led, log)
        except (OSError, batch.CorruptBatch, compression.CompressionError) as error:
            logger.error("%s-%d cannot be loaded: %s", self._config.topic, led.index, error)
            led.error = ErrorCode.NOT_COORDINATOR
            return
        if self._led.get(led.index) is not led:
            return
        led.error = ErrorCode.NONE
        self._take(led, led.shard.loaded(self._wall_ms()))
        for operation in led.postponed:
            self._run_unasked(led, operation)
        led.postponed.clear()
        self.flush()

    def _replay(self, led: _Led[S], log: Log) -> None:
        """On a thread; nobody else has the shard yet."""
        led.next_offset, replay = log.log_start_offset, led.shard.replay
        while led.next_offset < log.log_end_offset:
            data = log.read(led.next_offset, self._config.load_bytes)
            pairs, led.next_offset = batch.decode_pairs(data, _open)
            for at, key, value in pairs:
                if key is None:
                    continue
                try:
                    replay(Record(key, value), at)
                except ValueError as error:
                    logger.error("%s-%d offset %d is passed over: %s", self._config.topic, led.index, at, error)

    async def _watch_commits(self) -> None:
        while True:
            await trio.lowlevel.wait_readable(self._commits.fd)
            for tag, outcome in self._commits.take():
                led = cast("_Led[S]", tag)
                if self._led.get(led.index) is not led:
                    continue  # its requests were refused meanwhile
                if outcome:
                    self._fail(led, outcome)
                else:
                    self._committed(led)
            self.flush()

    def _committed(self, led: _Led[S]) -> None:
        log = self._find_log(led.index)
        high_watermark = -1 if log is None else log.high_watermark
        while led.in_flight and led.in_flight[0].end_offset <= high_watermark:
            _answer(led.in_flight.popleft().replies)
        if not led.in_flight:
            self._timers.cancel(led.deadlines, _COMMIT_TIMEOUT)

    # ---- timers

    def _set_timers(self, led: _Led[S], result: Result) -> None:
        now = self._now()
        for key, after_ms in result.timers:
            if after_ms is None:
                self._timers.cancel(led.deadlines, key)
            else:
                self._set_timer(led, key, now + after_ms / 1000)

    def _set_timer(self, led: _Led[S], key: Hashable, deadline: float) -> None:
        self._timers.set(led.deadlines, key, deadline)
        if self._alarm is not None and deadline < self._alarm.deadline:
            self._alarm.deadline = deadline

    async def _fire_timers(self) -> None:
        while True:
            first = self._timers.next
            with trio.CancelScope(deadline=float("inf") if first is None else first) as self._alarm:
                await trio.sleep_forever()
            now = self._now()
            while (due := self._timers.pop_due(now)) is not None:
                deadlines, key = due
                led = self._owners[id(deadlines)]
                if key == _COMMIT_TIMEOUT:
                    self._give_up_waiting(led, now)
                else:
                    self._run_unasked(led, partial(self._expire, key))
            self.flush()

    @staticmethod
    def _expire(key: Hashable, shard: S, now_ms: int) -> Result:
        return shard.expired(key, now_ms)

    def _give_up_waiting(self, led: _Led[S], now: float) -> None:
        """What they asked for may still become committed; they are told to ask again."""
        for flight in led.in_flight:
            if flight.deadline > now:
                self._set_timer(led, _COMMIT_TIMEOUT, flight.deadline)
                break
            late, flight.replies = flight.replies, []
            for ticket, _ in late:
                ticket.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _answer(replies: Iterable[tuple[Ticket, Any]]) -> None:
    for ticket, answer in replies:
        ticket.reply(answer)


def _refusal(error: int) -> ErrorCode:
    """As Kafka words errors of a coordinator's append (CoordinatorOperationExceptionHelper)."""
    if error in _UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NOT_COORDINATOR if error in _ELSEWHERE else ErrorCode.UNKNOWN_SERVER_ERROR


def _batches(records: list[Record], ends: list[int], max_bytes: int) -> Iterable[tuple[int, int]]:
    """As few ranges as the size of a batch allows, cut only where an end is. What does not fit goes alone: the log
    refuses it."""
    sizes = [0, *accumulate(len(key) + len(value or b"") + RECORD_OVERHEAD for key, value in records)]
    first = last = 0
    for end in ends:
        if last > first and sizes[end] - sizes[first] + BATCH_OVERHEAD > max_bytes:
            yield first, last
            first = last
        last = end
    yield first, last


def _open(codec: int, payload: memoryview) -> bytes:
    return compression.decompress(codec, bytes(payload), MAX_OPENED_BYTES)
