"""DeleteRecords, versions 0-2: the start of a log moves up to an offset, -1 for the high watermark.

As in Kafka (ReplicaManager): only where cleanup.policy has `delete`, and never in an internal topic. The new start is
on the disk before the reply, so it has no use for timeout_ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.metadata import topic_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState


@serves(api.DELETE_RECORDS)
async def delete_records(broker: BrokerState, call: Call) -> Any:
    response = api.DELETE_RECORDS.response
    asked = {(topic.name, part.partition_index): part.offset for topic in call.body.topics for part in topic.partitions}
    refused = {key: code for key in asked if (code := _refusal(broker, *key))}
    done = await broker.delete_records({key: offset for key, offset in asked.items() if key not in refused})
    topics: dict[str, list[Any]] = {}
    for name, index in asked:
        answer = response.Partition(partition_index=index)
        result = done.get((name, index))
        if isinstance(result, int):
            answer.low_watermark = result
        else:
            answer.error_code = refused.get((name, index)) or _code(result)
        topics.setdefault(name, []).append(answer)
    return response(topics=[response.Topic(name=name, partitions=answers) for name, answers in topics.items()])


def _refusal(broker: BrokerState, name: str, index: int) -> ErrorCode | None:
    topic = broker.image.topic(name)
    if name in topic_name.INTERNAL:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic.partitions[index].leader != broker.node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if "delete" not in broker.topic_cleanup_policy(topic):
        return ErrorCode.POLICY_VIOLATION
    return None


def _code(error: Exception | None) -> ErrorCode:
    """None: the topic was deleted meanwhile."""
    if isinstance(error, IndexError):
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if error is None else ErrorCode.KAFKA_STORAGE_ERROR
