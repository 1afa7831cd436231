"""What an API means: one small file each. Importing the package registers them all (registry.SERVED)."""

from kafpy.handlers import (
    api_versions,
    create_topics,
    delete_topics,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
)

__all__ = [
    "api_versions",
    "create_topics",
    "delete_topics",
    "find_coordinator",
    "init_producer_id",
    "list_offsets",
    "metadata",
]
