"""DescribeGroups, versions 0-6: classic groups; a group that is not there is Dead, and an error since 6 (KIP-1043).

Since version 6 a group without an error may have a message too: who left it lately, and why. Clients read the message
only beside an error; `kafpy group describe` shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.result import Result
from kafpy.handlers.departures import departures_text
from kafpy.handlers.group_requests import GROUP_OPERATIONS, ask_groups
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

MESSAGE_SINCE = 6


@serves(api.DESCRIBE_GROUPS)
def describe_groups(broker: BrokerState, call: Call) -> Any:
    response, group_ids = api.DESCRIBE_GROUPS.response, call.body.groups

    def describe(shard: GroupShard, at: int, _: int) -> tuple[Any, Result]:
        group = shard.describe_group(group_ids[at], call.header.api_version)
        if call.header.api_version >= MESSAGE_SINCE and not group.error_code:
            group.error_message = departures_text(shard.departures(group_ids[at]))
        if call.body.include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        return group, Result()

    def refused(at: int, error: ErrorCode) -> Any:
        return response.Group(group_id=group_ids[at], error_code=error)

    return ask_groups(broker, call, group_ids, describe, refused, lambda groups: response(groups=groups))
