"""JoinGroup, versions 0-9: answered when the group's next generation begins (kafpy/coordinator/group/join.py)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group import replies
from kafpy.coordinator.ticket import Ticket
from kafpy.handlers.group_requests import ask_group
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

NULL_PROTOCOL_SINCE = 7


@serves(api.JOIN_GROUP)
def join_group(broker: BrokerState, call: Call) -> Any:
    fresh_id, member_id = str(uuid.uuid4()), call.body.member_id

    def send(answer: Any) -> None:
        if answer.error_code and call.header.api_version >= NULL_PROTOCOL_SINCE:
            answer.protocol_name = None
        call.send(answer)

    def refusal(error: ErrorCode) -> Any:
        return replies.join_error(error, member_id)

    return ask_group(
        broker,
        call,
        lambda shard, ticket, body, caller, now_ms: shard.join_group(ticket, body, caller, now_ms, fresh_id),
        refusal,
        Ticket(send, refusal),
    )
