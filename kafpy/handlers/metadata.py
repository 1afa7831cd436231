"""Metadata, versions 0-13: by name, by topic id since 12, or all topics (an empty list in version 0, null since 1).

An unknown name is created when the request and auto.create.topics.enable allow it, and is there in the same reply;
beyond AUTO_CREATE_BATCH in one request the rest is answered with LEADER_NOT_AVAILABLE, and clients ask again. A client
above its controller_mutation_rate creates nothing: THROTTLING_QUOTA_EXCEEDED.
Every client is told the address under which it reaches this broker.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafpy.handlers.metadata_fragments import Fragments, fragments_of
from kafpy.handlers.registry import Call, serves
from kafpy.metadata import MetadataError, topic_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

AUTO_CREATE_BATCH = 100
NO_ID = bytes(16)
CLUSTER_OPERATIONS = 0x1FA0
"""What anyone may do without an authorizer, as a bit field of AclOperation (AclEntry.supportedOperations)."""


@serves(api.METADATA)
def metadata(broker: BrokerState, call: Call) -> Any:
    body, version = call.body, call.header.api_version
    if body.topics is None or (version == 0 and not body.topics):
        fragments = _fragments(broker, call)
        return _response(broker, call, [fragments.of(topic) for topic in broker.image.topics.values()])
    refused = _refused(body.topics, version)
    if refused:
        return _response(broker, call, refused)
    missing = [name for name in _names(body.topics) if broker.image.topic(name) is None]
    if missing and body.allow_auto_topic_creation and broker.settings.auto_create_topics_enable:
        return _create_then_answer(broker, call, missing)
    return _answer(broker, call, {})


async def _create_then_answer(broker: BrokerState, call: Call, missing: list[str]) -> Any:
    errors = {}
    for position, name in enumerate(missing):
        if position >= AUTO_CREATE_BATCH:
            errors[name] = int(ErrorCode.LEADER_NOT_AVAILABLE)
            continue
        try:
            broker.charge_mutation(call.header.client_id, broker.settings.num_partitions, strict=True)
            await broker.create_topic(name, -1, -1, {})
        except MetadataError as error:
            errors[name] = error.code
    return _answer(broker, call, errors)


def _answer(broker: BrokerState, call: Call, errors: dict[str, int]) -> Any:
    """`errors`: why topics could not be created; someone else may have created them since."""
    fragments = _fragments(broker, call)
    image, response = broker.image, api.METADATA.response
    topics: list[Any] = []
    for name in _names(call.body.topics):
        topic = image.topic(name)
        if topic is not None:
            topics.append(fragments.of(topic))
        else:
            topics.append(response.Topic(error_code=errors.get(name) or _absence(name), name=name))
    for topic_id in dict.fromkeys(topic.topic_id for topic in call.body.topics if topic.topic_id != NO_ID):
        topic = image.topic_by_id(topic_id)
        if topic is not None:
            topics.append(fragments.of(topic))
        else:
            topics.append(response.Topic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id))
    return _response(broker, call, topics)


def _names(topics: Iterable[Any]) -> dict[str, None]:
    """Each once, in order; where an id is given, it counts and the name does not."""
    return {topic.name: None for topic in topics if topic.name is not None and topic.topic_id == NO_ID}


def _absence(name: str) -> ErrorCode:
    return ErrorCode.INVALID_TOPIC_EXCEPTION if topic_name.fault(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refused(topics: list[Any], version: int) -> list[Any]:
    """Versions 10 and 11 have topic ids, but take none in requests: then every topic is refused, as in Kafka."""
    bad = version < 12 and any(topic.name is None or topic.topic_id != NO_ID for topic in topics)
    bad = bad or any(topic.name is None and topic.topic_id == NO_ID for topic in topics)
    if not bad:
        return []
    result = api.METADATA.response.Topic
    code = ErrorCode.INVALID_REQUEST
    return [result(error_code=code, name=topic.name or "", topic_id=topic.topic_id) for topic in topics]


def _fragments(broker: BrokerState, call: Call) -> Fragments:
    return fragments_of(broker, call.header.api_version, call.body.include_topic_authorized_operations)


def _response(broker: BrokerState, call: Call, topics: list[Any]) -> Any:
    host, port = broker.advertised(call.origin)
    response = api.METADATA.response(
        brokers=[
            api.METADATA.response.Broker(node_id=broker.node_id, host=host, port=port, rack=broker.settings.broker_rack)
        ],
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        topics=topics,
    )
    if call.body.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
