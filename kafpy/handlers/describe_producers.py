"""DescribeProducers, version 0: the idempotent producers that a partition's log knows; none is in a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import Call, serves
from kafpy.metadata import topic_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy._core.log import Log
    from kafpy.broker.state import BrokerState

NO_COORDINATOR = -1


@serves(api.DESCRIBE_PRODUCERS)
def describe_producers(broker: BrokerState, call: Call) -> Any:
    response = api.DESCRIBE_PRODUCERS.response
    return response(
        topics=[
            response.Topic(
                name=topic.name,
                partitions=[_partition(broker, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in call.body.topics
        ]
    )


def _partition(broker: BrokerState, name: str, index: int) -> Any:
    answer = api.DESCRIBE_PRODUCERS.response.Partition(partition_index=index)
    fault, topic = topic_name.fault(name), broker.image.topic(name)
    log = broker.partitions.log(name, index)
    if fault is not None:
        answer.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
        answer.error_message = f"Topic name is invalid: {fault}"
    elif topic is None:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        answer.error_message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message
    elif not 0 <= index < len(topic.partitions):
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif log is None:
        answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    else:
        answer.active_producers = _producers(log)
    return answer


def _producers(log: Log) -> list[Any]:
    entry = api.DESCRIBE_PRODUCERS.response.Producer
    return [
        entry(
            producer_id=producer_id,
            producer_epoch=epoch,
            last_sequence=(first_sequence + delta) & 0x7FFFFFFF,
            last_timestamp=timestamp,
            coordinator_epoch=NO_COORDINATOR,
        )
        for producer_id, epoch, first_sequence, delta, _, timestamp in sorted(log.producers())
    ]
