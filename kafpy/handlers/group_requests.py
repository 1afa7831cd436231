"""How handlers reach groups: one group's shard, or several groups with one answer made of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.result import Result
from kafpy.coordinator.ticket import Gathering, Ticket
from kafpy.handlers.registry import LATER, Call
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

GROUP_OPERATIONS = 0x0D48
"""What anyone may do without an authorizer, as a bit field of AclOperation (AclEntry.supportedOperations)."""

Operation = Callable[[GroupShard, Ticket, Any, Caller, int], Result]


def caller_of(call: Call) -> Caller:
    return Caller(call.header.client_id or "", "/" + call.origin.peer_host, call.header.api_version)


def ask_group(
    broker: BrokerState,
    call: Call,
    operation: Operation,
    refusal: Callable[[ErrorCode], Any],
    ticket: Ticket | None = None,
) -> Any:
    """The group that the request's group_id names."""
    body, caller = call.body, caller_of(call)
    asked = ticket or Ticket(call.send, refusal)
    broker.groups.run(body.group_id, asked, lambda shard, now_ms: operation(shard, asked, body, caller, now_ms))
    return LATER


def ask_groups(
    broker: BrokerState,
    call: Call,
    group_ids: Sequence[str],
    operation: Callable[[GroupShard, int, int], tuple[Any, Result]],
    refusal: Callable[[int, ErrorCode], Any],
    compose: Callable[[list[Any]], Any],
) -> Any:
    """Each on its own shard; `operation` gets the group's place in the list, and gives its part of the answer."""
    gathering = Gathering(len(group_ids), lambda parts: call.send(compose(parts)))
    for at, group_id in enumerate(group_ids):
        broker.groups.run(group_id, *_part(gathering, at, operation, refusal))
    return LATER


def sending_with(call: Call, refused: list[Any]) -> Callable[[Any], None]:
    """Sends a group's answer with the topics of it that were refused before the group was asked."""

    def send(answer: Any) -> None:
        by_name = {topic.name: topic for topic in answer.topics}
        for topic in refused:
            if topic.name in by_name:
                by_name[topic.name].partitions += topic.partitions
            else:
                answer.topics.append(topic)
        call.send(answer)

    return send


def _part(
    gathering: Gathering,
    at: int,
    operation: Callable[[GroupShard, int, int], tuple[Any, Result]],
    refusal: Callable[[int, ErrorCode], Any],
) -> tuple[Ticket, Callable[[GroupShard, int], Result]]:
    ticket = gathering.ticket(at, lambda error: refusal(at, error))

    def run(shard: GroupShard, now_ms: int) -> Result:
        answer, result = operation(shard, at, now_ms)
        result.replies.append((ticket, answer))
        return result

    return ticket, run
