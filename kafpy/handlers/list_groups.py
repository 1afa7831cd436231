"""ListGroups, versions 0-5: of every partition that is led here, by state since 4 (KIP-518) and by type since 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.result import Result
from kafpy.coordinator.ticket import Gathering, Ticket
from kafpy.handlers.registry import LATER, Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.LIST_GROUPS)
def list_groups(broker: BrokerState, call: Call) -> Any:
    states, types = set(call.body.states_filter), set(call.body.types_filter)
    gathering = Gathering(len(broker.groups.led), lambda parts: call.send(_response(parts)))
    for at, index in enumerate(broker.groups.led):
        ticket = gathering.ticket(at, lambda error: error)
        broker.groups.run_in(index, ticket, _listing(ticket, states, types))
    return LATER


def _listing(ticket: Ticket, states: set[str], types: set[str]) -> Any:
    def listing(shard: GroupShard, _: int) -> Result:
        return Result(replies=[(ticket, shard.list_groups(states, types))])

    return listing


def _response(parts: list[list[Any] | ErrorCode]) -> Any:
    """A partition that is on its way elsewhere is that broker's to list; one that loads makes the list incomplete."""
    response = api.LIST_GROUPS.response()
    for part in parts:
        if isinstance(part, list):
            response.groups += part
        elif part is not ErrorCode.NOT_COORDINATOR:
            return api.LIST_GROUPS.response(error_code=part)
    return response
