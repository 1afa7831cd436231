"""ListOffsets, versions 1-11: the first, the last, the newest and the offset at a time.

Consumers (replica id -1) see up to the high watermark, or up to the last stable offset when they read committed data
only; everyone else sees the log's end. An offset found by time beyond that is "none" (-1), not an error. No log has
a remote tier: its earliest local offset is the earliest, and nothing is tiered (KIP-405) or waits for it (KIP-1023).
Our own tagged field `mark_every` is answered with marks, MOST_MARKS at most in a reply.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from kafpy.handlers.leader_epochs import check_epoch
from kafpy.handlers.registry import Call, serves
from kafpy.metadata import Partition
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode
from kafpy.storage.timestamps import offset_for_time

if TYPE_CHECKING:
    from kafpy._core.log import Log
    from kafpy.broker.state import BrokerState

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
CONSUMER = -1
READ_COMMITTED = 1
MOST_MARKS = 1 << 16
LEAST_BETWEEN_MARKS = 1 << 16


class Found(NamedTuple):
    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1


@serves(api.LIST_OFFSETS)
def list_offsets(broker: BrokerState, call: Call) -> Any:
    response = api.LIST_OFFSETS.response
    asked = Counter((topic.name, part.partition_index) for topic in call.body.topics for part in topic.partitions)
    topics = []
    marks_left = MOST_MARKS
    for topic in call.body.topics:
        answers = []
        for part in {part.partition_index: part for part in topic.partitions}.values():
            twice = asked[topic.name, part.partition_index] > 1
            result = ErrorCode.INVALID_REQUEST if twice else _look_up(broker, call, topic.name, part)
            if isinstance(result, ErrorCode):
                answer = response.Partition(partition_index=part.partition_index, error_code=result)
            else:
                answer = response.Partition(partition_index=part.partition_index, **result._asdict())
                answer.marks = _marks(broker, topic.name, part, marks_left)
                marks_left -= len(answer.marks)
            answers.append(answer)
        topics.append(response.Topic(name=topic.name, partitions=answers))
    return response(topics=topics)


def _look_up(broker: BrokerState, call: Call, name: str, part: Any) -> Found | ErrorCode:
    topic = broker.image.topic(name)
    if topic is None or not 0 <= part.partition_index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    partition = topic.partitions[part.partition_index]
    log = broker.partitions.log(name, part.partition_index)
    if log is None:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if partition.leader != broker.node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    refused = check_epoch(part.current_leader_epoch, partition)
    if refused:
        return refused
    if part.timestamp < EARLIEST_PENDING_UPLOAD or call.header.api_version < SINCE.get(part.timestamp, 0):
        return ErrorCode.UNSUPPORTED_VERSION
    try:
        return _find(log, partition, part.timestamp, _limit(call.body, log))
    except OSError:
        return ErrorCode.KAFKA_STORAGE_ERROR


def _marks(broker: BrokerState, name: str, part: Any, most: int) -> list[Any]:
    """None where they cannot be told: they are a help, not what was asked for."""
    log = broker.partitions.log(name, part.partition_index)
    if part.mark_every <= 0 or most == 0 or log is None:
        return []
    try:
        found = log.marks(max(part.mark_every, LEAST_BETWEEN_MARKS), most)
    except OSError:
        return []
    mark = api.LIST_OFFSETS.response.Mark
    return [mark(offset=offset, position=position) for offset, position in found]


def _limit(body: Any, log: Log) -> int:
    if body.replica_id != CONSUMER:
        return log.log_end_offset
    return log.last_stable_offset if body.isolation_level == READ_COMMITTED else log.high_watermark


def _find(log: Log, partition: Partition, timestamp: int, limit: int) -> Found:
    # The epoch of an older offset is known only where there was never more than one.
    epoch = 0 if partition.leader_epoch == 0 else -1
    if timestamp == LATEST:
        return Found(limit, -1, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return Found(log.log_start_offset, -1, epoch)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return Found()
    if timestamp == MAX_TIMESTAMP:
        timestamp = log.max_timestamp()
    found = None if timestamp < 0 else offset_for_time(log, timestamp)
    if found is None or found.offset >= limit:
        return Found()
    return Found(found.offset, found.timestamp, epoch)
