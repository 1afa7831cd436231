"""What the broker does unasked: checkpoints, retention, idle logs' space, removing what was set aside, taking
directories offline."""

import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from kafpy._core.plane import Planes
from kafpy.broker.partitions import Partitions
from kafpy.broker.settings import Settings
from kafpy.broker.state import BrokerState
from kafpy.storage.directories import remove

logger = logging.getLogger(__name__)

IDLE_MS = 60_000


async def _repeat(work: Callable[[], Awaitable[object]], interval_ms: Callable[[], int], first_ms: int) -> None:
    """From the beginning of one time to that of the next, so that a clock that is moved on meanwhile is noticed."""
    due = trio.current_time() + first_ms / 1000
    while True:
        await trio.sleep_until(due)
        due = trio.current_time() + interval_ms() / 1000
        await work()


async def write_checkpoints(partitions: Partitions, settings: Settings) -> None:
    interval = settings.log_flush_offset_checkpoint_interval_ms
    await _repeat(lambda: trio.to_thread.run_sync(partitions.write_checkpoints), lambda: interval, interval)


async def delete_old_segments(state: BrokerState) -> None:
    await _repeat(
        state.delete_old_segments,
        lambda: state.settings.log_retention_check_interval_ms,
        state.settings.log_initial_task_delay_ms,
    )


async def watch_directories(failures_fd: int, state: BrokerState, planes: Planes) -> None:
    """Until no directory is left. Connections that were closed for what they sent come by the same way."""
    told = 0, 0
    while not state.partitions.offline:
        await trio.lowlevel.wait_readable(failures_fd)
        os.eventfd_read(failures_fd)
        told = _tell_refusals(planes, told)
        state.partitions.tell_damage()
        state.partitions.fail_directories()
        await state.lose_leaders()


def _tell_refusals(planes: Planes, told: tuple[int, int]) -> tuple[int, int]:
    """Not a byte of what a client sent. Returns how many there have been."""
    count, host, crowded = planes.refusals()
    more = count - told[0] - 1
    if more >= 0:
        again = f" ({more} more since the last report)" if more else ""
        logger.warning("a connection from %s was closed: it sent no request that is served here%s", host, again)
    if crowded > told[1]:
        logger.error(
            "%d connections were turned away: the descriptors that are left are for files; raise the limit (ulimit -n)",
            crowded - told[1],
        )
    return count, crowded


async def release_idle_space(partitions: Partitions) -> None:
    """A log that was busy a minute ago and is not now gives back what was allocated ahead of it."""
    await _repeat(lambda: trio.to_thread.run_sync(partitions.release_idle_space), lambda: IDLE_MS, IDLE_MS)


async def remove_after(delay_ms: int, aside: list[Path]) -> None:
    """Files and folders. What a stop leaves behind is removed at the next start."""
    await trio.sleep(delay_ms / 1000)
    for path in aside:
        await trio.to_thread.run_sync(remove, path)
