"""The APIs that kafpy speaks, by name and by key."""

from kafpy.protocol.messages.api_versions import API_VERSIONS
from kafpy.protocol.messages.create_topics import CREATE_TOPICS
from kafpy.protocol.messages.delete_topics import DELETE_TOPICS
from kafpy.protocol.messages.fetch import FETCH
from kafpy.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafpy.protocol.messages.init_producer_id import INIT_PRODUCER_ID
from kafpy.protocol.messages.list_offsets import LIST_OFFSETS
from kafpy.protocol.messages.metadata import METADATA
from kafpy.protocol.messages.produce import PRODUCE
from kafpy.protocol.table import Api

__all__ = [
    "ALL",
    "API_VERSIONS",
    "CREATE_TOPICS",
    "DELETE_TOPICS",
    "FETCH",
    "FIND_COORDINATOR",
    "INIT_PRODUCER_ID",
    "LIST_OFFSETS",
    "METADATA",
    "PRODUCE",
    "Api",
    "by_key",
]

ALL: dict[int, Api] = {api.key: api for api in list(globals().values()) if isinstance(api, Api)}


def by_key(key: int) -> Api:
    """KeyError for an API that kafpy does not speak."""
    return ALL[key]
