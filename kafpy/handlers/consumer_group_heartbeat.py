"""ConsumerGroupHeartbeat, versions 0-1 (KIP-848): join, go on and leave a group whose assignment the broker makes."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from kafpy.handlers.group_requests import ask_group
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.CONSUMER_GROUP_HEARTBEAT)
def consumer_group_heartbeat(broker: BrokerState, call: Call) -> Any:
    fresh_id = str(uuid.uuid4())
    return ask_group(
        broker,
        call,
        lambda shard, ticket, body, caller, now_ms: shard.consumer_group_heartbeat(
            ticket, body, caller, now_ms, fresh_id
        ),
        _refusal,
    )


def _refusal(error: ErrorCode) -> Any:
    return api.CONSUMER_GROUP_HEARTBEAT.response(error_code=error, error_message=error.message)
