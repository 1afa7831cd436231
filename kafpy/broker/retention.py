"""Retention over all logs of the broker: what has to go is set aside, and told so that it is removed later.

Blocks; called from a helper thread, while nothing else changes topics.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafpy.broker.partitions import Hosted, Partitions
from kafpy.broker.settings import Settings
from kafpy.broker.topic_config import Effective
from kafpy.metadata import Image
from kafpy.storage.retention import Extent, Limits, Segment, start_after

logger = logging.getLogger(__name__)

ASIDE = (".log.deleted", ".index.deleted", ".timeindex.deleted")


def delete_old_segments(partitions: Partitions, image: Image, settings: Settings, now_ms: int) -> dict[int, list[Path]]:
    """Files to remove, by the milliseconds after which."""
    due = list(_due(partitions, image, settings, now_ms))
    if not due:
        return {}
    for each in due:
        with suppress(OSError):
            each.hosted.log.flush()
    partitions.write_checkpoints()  # what producers last sent may be in these segments alone: a snapshot knows it
    aside: dict[int, list[Path]] = {}
    for each in due:
        with suppress(OSError):  # closed meanwhile, or its directory is offline now
            aside.setdefault(each.delay_ms, []).extend(_delete(each))
    partitions.write_checkpoints()
    return aside


class Due(NamedTuple):
    hosted: Hosted
    start: int
    """Of its log, when all that has to go is gone."""
    delay_ms: int


def _due(partitions: Partitions, image: Image, settings: Settings, now_ms: int) -> Iterator[Due]:
    effective = {name: Effective(settings, topic.configs) for name, topic in image.topics.items()}
    for name, _, hosted in partitions.hosted():
        configs = effective.get(name)
        if configs is not None and not hosted.log.offline:
            log = hosted.log
            try:
                segments = list(_segments(hosted))
            except OSError as error:
                logger.error("%s: nobody can tell how old its segments are: %s", hosted.folder.name, error)
                continue
            extent = Extent(log.log_start_offset, log.high_watermark, log.log_end_offset)
            start = start_after(segments, extent, _limits(configs), now_ms)
            if start > segments[0].base_offset:
                yield Due(hosted, start, configs.whole("file.delete.delay.ms"))


def _limits(configs: Effective) -> Limits:
    if "delete" in configs.cleanup_policy():
        return Limits(configs.whole("retention.ms"), configs.whole("retention.bytes"))
    return Limits()


def _delete(due: Due) -> list[Path]:
    folder = due.hosted.folder
    start, bases = due.hosted.log.delete_segments(due.start)
    logger.info("%s begins at %d now, segments deleted: %d", folder.name, start, len(bases))
    return [folder / f"{base:020}{suffix}" for base in bases for suffix in ASIDE]


def _segments(hosted: Hosted) -> Iterator[Segment]:
    for base_offset, size, timestamp in hosted.log.segments():
        if timestamp < 0 and size:
            changed = (hosted.folder / f"{base_offset:020}.log").stat().st_mtime
            timestamp = int(changed * 1000)
        yield Segment(base_offset, size, timestamp)
