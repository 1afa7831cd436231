"""Moves replicas between this broker's directories while they are in use (AlterReplicaLogDirs, KIP-113).

A helper thread copies the log into a folder of its own until little is missing. Then, one change at a time as every
other: the old log takes no appends (NOT_LEADER_OR_FOLLOWER, which clients try again), the rest is copied, the copy gets
the partition's name, is opened and served, and the old folder is set aside; only when that is durable are appends taken
again. A crash leaves the old folder, or both with the same records; copies that were not finished are removed at the
next start.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from errno import EDQUOT, EIO, ENOSPC
from pathlib import Path
from typing import NamedTuple

import trio

from kafpy.broker.partitions import Hosted, Partitions
from kafpy.metadata import Topic
from kafpy.protocol.errors import ErrorCode
from kafpy.storage import producer_snapshot
from kafpy.storage.checkpoints import TopicPartition
from kafpy.storage.directories import Directory, remove
from kafpy.storage.replica_copy import Cancelled, ReplicaCopy

logger = logging.getLogger(__name__)

ALMOST_THERE = 1 << 20
"""Bytes that may be missing when appends are stopped."""
PASSES = 20
"""A log that grows as fast as it is copied is stopped all the same."""


@dataclass(slots=True, eq=False)
class Move:
    topic_id: bytes
    moved: Hosted
    target: Directory
    copy: ReplicaCopy | None = None
    reached: int = 0
    cancelled: bool = False

    @property
    def is_over(self) -> bool:
        return self.cancelled or self.target.failure is not None


class Future(NamedTuple):
    """What is told of a move that is under way."""

    path: str
    size: int
    offset_lag: int


class ReplicaMoves:
    def __init__(
        self,
        partitions: Partitions,
        changing: trio.Lock,
        topic: Callable[[str], Topic | None],
        remove_later: Callable[[list[Path], int], None],
    ) -> None:
        self._partitions = partitions
        self._changing = changing
        self._topic = topic
        self._remove_later = remove_later
        self._moves: dict[TopicPartition, Move] = {}
        self._copying = trio.CapacityLimiter(1)

    def begin(self, name: str, index: int, path: str) -> tuple[ErrorCode, Callable[[], Awaitable[None]] | None]:
        """Kafka's answer, and what is left to do after it. Asking for where it lies ends a move that is under way."""
        target = self._partitions.directory_at(path)
        if target is None:
            return ErrorCode.LOG_DIR_NOT_FOUND, None
        if target.failure is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR, None
        topic = self._topic(name)
        if topic is None or not 0 <= index < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        moved = self._partitions.place(name, index)
        if moved is None or moved.log.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR, None
        under_way = self._moves.get((name, index))
        if under_way is not None and not under_way.cancelled:
            if under_way.target is target:
                return ErrorCode.NONE, None
            under_way.cancelled = True
        if moved.directory is target:
            return ErrorCode.NONE, None
        move = Move(topic.topic_id, moved, target)
        self._moves[name, index] = move
        return ErrorCode.NONE, lambda: self._run(name, index, move)

    def futures(self) -> dict[TopicPartition, Future]:
        """Blocks."""
        found = {}
        for key, move in list(self._moves.items()):
            if move.copy is not None and not move.cancelled:
                lag = max(move.moved.log.log_end_offset - move.reached, 0)
                found[key] = Future(str(move.target.path), move.copy.size(), lag)
        return found

    async def _run(self, name: str, index: int, move: Move) -> None:
        copy = ReplicaCopy(move.moved.folder, move.target.path, lambda: move.is_over)
        done = False
        try:
            # Abandoned by a stop of the broker; the copy is removed at the next start then.
            await trio.to_thread.run_sync(self._copy, move, copy, limiter=self._copying, abandon_on_cancel=True)
            async with self._changing:
                with trio.CancelScope(shield=True):
                    done = await self._swap(name, index, move, copy)
        except (Cancelled, OSError) as error:
            if not move.cancelled and self._partitions.place(name, index) is move.moved:
                why = move.target.failure or error
                logger.error("%s was not moved to %s: %s", move.moved.folder, move.target.path, why)
            self._judge(move.target, copy.write_failure)
        finally:
            move.cancelled = True
            if self._moves.get((name, index)) is move:
                del self._moves[name, index]
            if not done and move.target.failure is None:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(remove, copy.folder)

    def _judge(self, target: Directory, failure: OSError | None) -> None:
        """A disk that failed a write or a sync is offline, as with any other file; one that is only full is not."""
        if failure is not None and failure.errno not in (ENOSPC, EDQUOT):
            with suppress(OSError), self._partitions.watched(target):
                raise failure

    def _copy(self, move: Move, copy: ReplicaCopy) -> None:
        def reached(offset: int) -> None:
            move.reached = offset

        if move.is_over:
            raise Cancelled
        copy.begin()
        move.copy = copy
        for _ in range(PASSES):
            end = move.moved.log.log_end_offset
            missing = copy.catch_up(reached)
            move.reached = end
            if missing < ALMOST_THERE:
                return

    async def _swap(self, name: str, index: int, move: Move, copy: ReplicaCopy) -> bool:
        topic = self._topic(name)
        ours = topic is not None and topic.topic_id == move.topic_id
        if topic is None or not ours or move.cancelled or self._partitions.place(name, index) is not move.moved:
            raise Cancelled
        if move.target.failure is not None:
            raise OSError(EIO, "went offline", str(move.target.path))
        move.moved.log.lead(False)
        try:
            fresh = await trio.to_thread.run_sync(self._finish, topic, index, move, copy)
        except BaseException:
            move.moved.log.lead(True)
            raise
        self._partitions.replace(topic, index, fresh)
        aside = await trio.to_thread.run_sync(self._partitions.set_moved_aside, move.moved)
        fresh.log.lead(True)
        self._remove_later(aside, 0)
        return True

    def _finish(self, topic: Topic, index: int, move: Move, copy: ReplicaCopy) -> Hosted:
        """The copy complete, durable and under its name; OSError or Cancelled leaves no trace under that name."""
        move.moved.log.flush()
        copy.finish()
        with self._partitions.watched(move.target):
            producer_snapshot.write(copy.folder, *move.moved.log.producer_snapshot())
        folder = move.target.path / move.moved.folder.name
        with self._partitions.watched(move.target):
            if folder.exists() or folder.is_symlink():
                raise FileExistsError(f"{folder} is in the way")
            copy.folder.rename(folder)
        try:
            with self._partitions.watched(move.target):
                move.target.sync()
            self._partitions.announce_start(topic.name, index, move.moved.log, move.target)
            return self._partitions.reopen(move.moved, topic, index, move.target, folder)
        except BaseException:
            folder.rename(copy.folder)
            raise
