"""ConsumerGroupDescribe, versions 0-1 (KIP-848): groups whose assignment the broker makes."""

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


@serves(api.CONSUMER_GROUP_DESCRIBE)
def consumer_group_describe(broker: BrokerState, call: Call) -> Any:
    response, group_ids = api.CONSUMER_GROUP_DESCRIBE.response, call.body.group_ids

    def describe(shard: GroupShard, at: int, _: int) -> tuple[Any, Result]:
        group = shard.consumer_group_describe(group_ids[at])
        if not group.error_code:
            group.error_message = departures_text(shard.departures(group_ids[at]))
        if call.body.include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        return group, Result()

    def refused(at: int, error: ErrorCode) -> Any:
        return response.DescribedGroup(group_id=group_ids[at], error_code=error, error_message=error.message)

    return ask_groups(broker, call, group_ids, describe, refused, lambda groups: response(groups=groups))
