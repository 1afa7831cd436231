"""SyncGroup, versions 0-5: answered when the leader's assignment is committed (kafpy/coordinator/group/sync.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group import replies
from kafpy.coordinator.group.shard import GroupShard
from kafpy.handlers.group_requests import ask_group
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


PROTOCOL_SINCE = 5


@serves(api.SYNC_GROUP)
def sync_group(broker: BrokerState, call: Call) -> Any:
    """Who speaks a version with protocol type and name has to name them (SyncGroupRequest, KIP-559)."""
    if call.header.api_version >= PROTOCOL_SINCE and None in (call.body.protocol_type, call.body.protocol_name):
        return replies.sync_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return ask_group(broker, call, GroupShard.sync_group, replies.sync_error)
