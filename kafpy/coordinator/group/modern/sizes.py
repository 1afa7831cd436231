"""Records have a size that their topic takes; one that is too large could not be stored, and its batch with it."""

from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.sync import RECORD_OVERHEAD
from kafpy.coordinator.result import Record


def fit(records: list[Record], config: GroupConfig) -> bool:
    limit = config.message_max_bytes - RECORD_OVERHEAD
    return all(len(key) + len(value or b"") <= limit for key, value in records)
