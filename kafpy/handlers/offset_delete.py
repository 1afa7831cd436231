"""OffsetDelete, version 0 (KIP-496): offsets that nobody in the group is subscribed to, of partitions that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.ticket import Ticket
from kafpy.handlers.group_requests import ask_group, sending_with
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.OFFSET_DELETE)
def offset_delete(broker: BrokerState, call: Call) -> Any:
    refused = _take_unknown(broker, call.body)

    add = sending_with(call, refused)

    def send(answer: Any) -> None:
        (call.send if answer.error_code else add)(answer)

    return ask_group(broker, call, GroupShard.offset_delete, _refusal, Ticket(send, _refusal))


def _refusal(error: ErrorCode) -> Any:
    return api.OFFSET_DELETE.response(error_code=error)


def _take_unknown(broker: BrokerState, body: Any) -> list[Any]:
    """The answers for partitions that do not exist, which are taken out of the request."""
    response = api.OFFSET_DELETE.response
    known, refused = [], []
    for asked in body.topics:
        topic = broker.image.topic(asked.name)
        count = 0 if topic is None else len(topic.partitions)
        missing = [each for each in asked.partitions if not 0 <= each.partition_index < count]
        if missing:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            parts = [response.Partition(partition_index=each.partition_index, error_code=error) for each in missing]
            refused.append(response.Topic(name=asked.name, partitions=parts))
            asked.partitions = [each for each in asked.partitions if 0 <= each.partition_index < count]
        if asked.partitions:
            known.append(asked)
    body.topics = known
    return refused
