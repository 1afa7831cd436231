"""CreateTopics, versions 2-7. Checks and words of refusals as in Kafka (ControllerApis, ReplicationControlManager).

-1 partitions or replicas stand for the broker's defaults (KIP-464). An assignment may only name this broker's id.
timeout_ms has no effect: the reply says what has happened, and nothing is done after it. Since version 5 the reply
lists all configs of the topic, defaults too (KIP-525). Since version 6 a client above its controller_mutation_rate is
refused with 89; before, it is only held back (KIP-599).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kafpy.handlers.assignments import fault_of
from kafpy.handlers.registry import Call, serves
from kafpy.metadata import MetadataError
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

STRICT_SINCE = 6
PROHIBITED = "__cluster_metadata"


@serves(api.CREATE_TOPICS)
async def create_topics(broker: BrokerState, call: Call) -> Any:
    response = api.CREATE_TOPICS.response
    times = Counter(topic.name for topic in call.body.topics)
    wanted = {topic.name: topic for topic in call.body.topics}
    results = []
    for name, topic in wanted.items():
        try:
            if times[name] > 1:
                raise MetadataError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            partitions, factor = _check(broker, topic)
            if not call.body.validate_only:
                strict = call.header.api_version >= STRICT_SINCE
                broker.charge_mutation(call.header.client_id, partitions, strict)
            results.append(await _create(broker, topic, partitions, factor, call.body.validate_only))
        except MetadataError as error:
            results.append(response.Topic(name=name, error_code=error.code, error_message=error.message))
    throttle_ms = broker.charge_mutation(call.header.client_id, 0, strict=False)
    return response(topics=results, throttle_time_ms=throttle_ms)


def _check(broker: BrokerState, topic: Any) -> tuple[int, int]:
    """Partitions and replication factor. MetadataError tells what is wrong."""
    if topic.name == PROHIBITED:
        raise MetadataError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {PROHIBITED} is prohibited.")
    configs = {config.name: config.value for config in topic.configs}
    partitions, factor = topic.num_partitions, topic.replication_factor
    if topic.assignments:
        partitions, factor = _assigned(topic, broker.node_id)
    broker.check_topic(topic.name, partitions, factor, configs)
    settings = broker.settings
    return (
        settings.num_partitions if partitions == -1 else partitions,
        settings.default_replication_factor if factor == -1 else factor,
    )


async def _create(broker: BrokerState, topic: Any, partitions: int, factor: int, validate_only: bool) -> Any:
    configs = {config.name: config.value for config in topic.configs}
    topic_id = bytes(16)
    if not validate_only:
        topic_id = (await broker.create_topic(topic.name, partitions, factor, configs)).topic_id
    response = api.CREATE_TOPICS.response
    return response.Topic(
        name=topic.name,
        topic_id=topic_id,
        error_message=None,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            response.Config(name=entry.name, value=entry.value, config_source=entry.source)
            for entry in broker.topic_config_entries(configs)
        ],
    )


def _assigned(topic: Any, node_id: int) -> tuple[int, int]:
    """How many partitions and replicas a manual assignment means."""
    for field, value in (("replication factor", topic.replication_factor), ("numPartitions", topic.num_partitions)):
        if value != -1:
            message = f"A manual partition assignment was specified, but {field} was not set to -1."
            raise MetadataError(ErrorCode.INVALID_REQUEST, message)
    indexes = set()
    for assignment in topic.assignments:
        fault = fault_of(assignment.broker_ids, node_id)
        if assignment.partition_index in indexes:
            fault = f"Found multiple manual partition assignments for partition {assignment.partition_index}"
        if fault:
            raise MetadataError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, fault)
        indexes.add(assignment.partition_index)
    if indexes != set(range(len(indexes))):
        message = "partitions should be a consecutive 0-based integer sequence"
        raise MetadataError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return len(indexes), 1
