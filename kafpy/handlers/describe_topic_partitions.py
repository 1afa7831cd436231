"""DescribeTopicPartitions, version 0: topics in the order of their names, at most PARTITION_LIMIT partitions a reply.

Where a reply is cut, its cursor names the partition that the next request should go on with. As in Kafka
(DescribeTopicPartitionsRequestHandler) a cursor's topic must be among the topics that are named, and where all are
asked for, it may have been deleted meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.metadata_fragments import NO_LEADER, TOPIC_OPERATIONS
from kafpy.handlers.registry import Call, serves
from kafpy.metadata import Partition, Topic, topic_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

PARTITION_LIMIT = 2000


@serves(api.DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions(broker: BrokerState, call: Call) -> Any:
    response = api.DESCRIBE_TOPIC_PARTITIONS.response
    named, cursor = {topic.name for topic in call.body.topics}, call.body.cursor
    first = "" if cursor is None else cursor.topic_name
    if cursor is not None and (cursor.partition_index < 0 or (named and first not in named)):
        code = ErrorCode.INVALID_REQUEST
        return response(topics=[response.Topic(error_code=code, name=topic.name) for topic in call.body.topics])
    room = max(1, min(call.body.response_partition_limit, PARTITION_LIMIT))
    answer = response()
    answer.topics = topics = []
    for name in sorted(name for name in named or broker.image.topics if name >= first):
        if room <= 0:
            answer.next_cursor = response.Cursor(topic_name=name)
            break
        topic = broker.image.topic(name)
        if topic is None:
            topics.append(_absent(name))
            continue
        start = cursor.partition_index if cursor is not None and name == first else 0
        chosen = topic.partitions[start : start + room]
        topics.append(_described(topic, chosen))
        room -= len(chosen)
        if start + len(chosen) < len(topic.partitions):
            answer.next_cursor = response.Cursor(topic_name=name, partition_index=start + len(chosen))
            break
    return answer


def _absent(name: str) -> Any:
    invalid = topic_name.fault(name) is not None
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if invalid else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    entry = api.DESCRIBE_TOPIC_PARTITIONS.response.Topic
    return entry(error_code=code, name=name, topic_authorized_operations=TOPIC_OPERATIONS)


def _described(topic: Topic, partitions: tuple[Partition, ...]) -> Any:
    response = api.DESCRIBE_TOPIC_PARTITIONS.response
    return response.Topic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in topic_name.INTERNAL,
        topic_authorized_operations=TOPIC_OPERATIONS,
        partitions=[
            response.Partition(
                error_code=NO_LEADER if partition.leader < 0 else 0,
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=partition.replicas,
                isr_nodes=partition.isr,
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for partition in partitions
        ],
    )
