"""CreatePartitions, versions 0-3. Checks and words of refusals as in Kafka (ReplicationControlManager).

An assignment may only name this broker's id. timeout_ms has no effect: the partitions are there when the reply says so.
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


STRICT_SINCE = 3
"""From this version on a client above its controller_mutation_rate is refused with 89 (KIP-599)."""


@serves(api.CREATE_PARTITIONS)
async def create_partitions(broker: BrokerState, call: Call) -> Any:
    result = api.CREATE_PARTITIONS.response.Result
    times = Counter(topic.name for topic in call.body.topics)
    results = []
    for topic in {topic.name: topic for topic in call.body.topics}.values():
        try:
            if times[topic.name] > 1:
                raise MetadataError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            broker.check_partitions(topic.name, topic.count)
            if topic.assignments is not None:
                _check_assignments(broker, topic)
            if not call.body.validate_only:
                added = topic.count - len(broker.image.topics[topic.name].partitions)
                strict = call.header.api_version >= STRICT_SINCE
                broker.charge_mutation(call.header.client_id, added, strict)
                await broker.add_partitions(topic.name, topic.count)
            results.append(result(name=topic.name))
        except MetadataError as error:
            results.append(result(name=topic.name, error_code=error.code, error_message=error.message))
    throttle_ms = broker.charge_mutation(call.header.client_id, 0, strict=False)
    return api.CREATE_PARTITIONS.response(results=results, throttle_time_ms=throttle_ms)


def _check_assignments(broker: BrokerState, topic: Any) -> None:
    added = topic.count - len(broker.image.topics[topic.name].partitions)
    given = len(topic.assignments)
    faults = [fault_of(assignment.broker_ids, broker.node_id) for assignment in topic.assignments]
    fault = next(filter(None, faults), None)
    if given != added:
        few = "only " if given < added else ""
        fault = f"Attempted to add {added} additional partition(s), but {few}{given} assignment(s) were specified."
    if fault:
        raise MetadataError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, fault)
