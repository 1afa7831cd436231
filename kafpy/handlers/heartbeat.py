"""Heartbeat, versions 0-4. A coordinator that is still loading does not frighten members: they are told nothing.

Only the first of a Stable classic group's member comes here: the next ones are answered while the inbox is drained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group import replies
from kafpy.handlers.group_requests import ask_group
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.HEARTBEAT)
def heartbeat(broker: BrokerState, call: Call) -> Any:
    return ask_group(
        broker,
        call,
        lambda shard, ticket, body, caller, now_ms: shard.heartbeat(ticket, body, caller, now_ms, call.remember),
        _refusal,
    )


def _refusal(error: ErrorCode) -> Any:
    """While loading, NONE: the member's session begins anew with the load (GroupCoordinatorService.heartbeat)."""
    return replies.heartbeat(ErrorCode.NONE if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else error)
