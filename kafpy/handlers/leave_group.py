"""LeaveGroup, versions 0-5: one member until 2, many since 3, also static ones that an administrator removes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.shard import GroupShard
from kafpy.handlers.group_requests import ask_group
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.LEAVE_GROUP)
def leave_group(broker: BrokerState, call: Call) -> Any:
    return ask_group(broker, call, GroupShard.leave_group, lambda error: api.LEAVE_GROUP.response(error_code=error))
