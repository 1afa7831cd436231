"""OffsetCommit, versions 2-10: topics by name, by id since 10.

Only offsets of partitions that exist reach the group; the others are refused one by one, and the rest is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.offset_requests import commit_error
from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.ticket import Ticket
from kafpy.handlers.group_requests import ask_group, sending_with
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState
    from kafpy.metadata import Topic

BY_ID_SINCE = 10


@serves(api.OFFSET_COMMIT)
def offset_commit(broker: BrokerState, call: Call) -> Any:
    body, by_id = call.body, call.header.api_version >= BY_ID_SINCE
    known, refused = [], []
    for asked in body.topics:
        topic = broker.image.topic_by_id(asked.topic_id) if by_id else broker.image.topic(asked.name)
        if topic is not None:
            asked.name = topic.name
        refused += _refused(asked, topic, by_id)
        if asked.partitions:
            known.append(asked)
    body.topics = known
    if refused and not known:
        return api.OFFSET_COMMIT.response(topics=refused)
    send = sending_with(call, refused) if refused else call.send

    def refusal(error: ErrorCode) -> Any:
        return commit_error(body, error)

    return ask_group(broker, call, GroupShard.offset_commit, refusal, Ticket(send, refusal))


def _refused(asked: Any, topic: Topic | None, by_id: bool) -> list[Any]:
    """The answer for partitions that do not exist, which are taken out of the request."""
    count = len(topic.partitions) if topic is not None else 0
    missing = [each for each in asked.partitions if not 0 <= each.partition_index < count]
    if not missing:
        return []
    asked.partitions = [each for each in asked.partitions if 0 <= each.partition_index < count]
    unknown_id = by_id and topic is None
    error = ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    response = api.OFFSET_COMMIT.response
    partitions = [response.Partition(partition_index=each.partition_index, error_code=error) for each in missing]
    return [response.Topic(topic_id=asked.topic_id, name=asked.name, partitions=partitions)]
