"""What the broker does unasked: checkpoints, idle logs' space, removing deleted folders, taking directories offline."""

import os
from pathlib import Path

import trio

from kafpy.broker.partitions import Partitions
from kafpy.broker.settings import Settings
from kafpy.broker.state import BrokerState
from kafpy.storage.directories import remove

IDLE_SECONDS = 60


async def write_checkpoints(partitions: Partitions, settings: Settings) -> None:
    while True:
        await trio.sleep(settings.log_flush_offset_checkpoint_interval_ms / 1000)
        await trio.to_thread.run_sync(partitions.write_checkpoints)


async def watch_directories(failures_fd: int, state: BrokerState) -> None:
    """Until no directory is left."""
    while not state.partitions.offline:
        await trio.lowlevel.wait_readable(failures_fd)
        os.eventfd_read(failures_fd)
        state.partitions.fail_directories()
        await state.lose_leaders()


async def release_idle_space(partitions: Partitions) -> None:
    """A log that was busy a minute ago and is not now gives back what was allocated ahead of it."""
    while True:
        await trio.sleep(IDLE_SECONDS)
        await trio.to_thread.run_sync(partitions.release_idle_space)


async def remove_after(delay_ms: int, folders: list[Path]) -> None:
    """What a stop leaves behind is removed at the next start."""
    await trio.sleep(delay_ms / 1000)
    for folder in folders:
        await trio.to_thread.run_sync(remove, folder)
