"""OffsetForLeaderEpoch, versions 2-4: where the records of an epoch end (KIP-101, KIP-320).

As in Kafka (LeaderEpochFileCache): an epoch before the first one ends where the log starts, one that the log has not
reached has no end (-1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafpy.handlers.leader_epochs import check_epoch
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy._core.log import Log
    from kafpy.broker.state import BrokerState

NO_EPOCH = -1


class EpochEnd(NamedTuple):
    leader_epoch: int = -1
    end_offset: int = -1


@serves(api.OFFSET_FOR_LEADER_EPOCH)
def offset_for_leader_epoch(broker: BrokerState, call: Call) -> Any:
    response = api.OFFSET_FOR_LEADER_EPOCH.response
    topics = []
    for topic in call.body.topics:
        answers = []
        for part in topic.partitions:
            answer = response.Partition(partition=part.partition)
            found = _look_up(broker, topic.topic, part)
            if isinstance(found, ErrorCode):
                answer.error_code = found
            else:
                answer.leader_epoch, answer.end_offset = found
            answers.append(answer)
        topics.append(response.Topic(topic=topic.topic, partitions=answers))
    return response(topics=topics)


def _look_up(broker: BrokerState, name: str, part: Any) -> EpochEnd | ErrorCode:
    topic = broker.image.topic(name)
    if topic is None or not 0 <= part.partition < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = topic.partitions[part.partition]
    if partition.leader != broker.node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    refused = check_epoch(part.current_leader_epoch, partition)
    if refused:
        return refused
    log = broker.partitions.log(name, part.partition)
    return ErrorCode.KAFKA_STORAGE_ERROR if log is None else end_of_epoch(log, part.leader_epoch)


def end_of_epoch(log: Log, epoch: int) -> EpochEnd:
    """The largest epoch up to `epoch` that the log has, and its end. The log knows of its current epoch only."""
    if epoch == log.leader_epoch:
        return EpochEnd(epoch, log.log_end_offset)
    if epoch == NO_EPOCH or epoch > log.leader_epoch or log.leader_epoch > 0:
        return EpochEnd()
    return EpochEnd(epoch, log.log_start_offset)
