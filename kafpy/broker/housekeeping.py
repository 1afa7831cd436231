"""What the broker does by the clock: checkpoints, space of idle logs, removing what deletions set aside."""

import logging
from pathlib import Path

import trio

from kafpy.broker.partitions import Partitions
from kafpy.broker.settings import Settings
from kafpy.storage.directories import remove

logger = logging.getLogger(__name__)

IDLE_SECONDS = 60


async def write_checkpoints(partitions: Partitions, settings: Settings) -> None:
    while True:
        await trio.sleep(settings.log_flush_offset_checkpoint_interval_ms / 1000)
        try:
            await trio.to_thread.run_sync(partitions.write_checkpoints)
        except OSError as error:
            # an old checkpoint costs time after a crash, never records
            logger.warning("checkpoints were not written: %s", error)


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
