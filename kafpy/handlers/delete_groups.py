"""DeleteGroups, versions 0-2: groups without members, with all their offsets.

The empty id too: nobody joins such a group, but offsets are committed to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.result import Result
from kafpy.handlers.group_requests import ask_groups
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.DELETE_GROUPS)
def delete_groups(broker: BrokerState, call: Call) -> Any:
    response = api.DELETE_GROUPS.response
    group_ids = list(dict.fromkeys(call.body.groups_names))

    def outcome(at: int, error: ErrorCode) -> Any:
        return response.DeletedGroup(group_id=group_ids[at], error_code=error)

    def delete(shard: GroupShard, at: int, now_ms: int) -> tuple[Any, Result]:
        error, result = shard.delete_group(group_ids[at], now_ms)
        return outcome(at, error), result

    return ask_groups(broker, call, group_ids, delete, outcome, lambda results: response(results=results))
