"""DeleteTopics, versions 1-6: by name, and by name or id since 6. Words of refusals as in Kafka (ControllerApis).

timeout_ms has no effect: a topic is gone for clients when the reply says so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from kafpy.handlers.registry import Call, serves
from kafpy.metadata import Image, MetadataError
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

NO_ID = bytes(16)
STRICT_SINCE = 5
"""From this version on a client above its controller_mutation_rate is refused with 89 (KIP-599)."""


Refusal = tuple[ErrorCode, str]


class Asked(NamedTuple):
    name: str | None
    topic_id: bytes = NO_ID


@serves(api.DELETE_TOPICS)
async def delete_topics(broker: BrokerState, call: Call) -> Any:
    body, version = call.body, call.header.api_version
    if version >= 6:
        entries = [Asked(topic.name, topic.topic_id) for topic in body.topics]
    else:
        entries = [Asked(name) for name in body.topic_names]
    times = Counter(entries)
    image = broker.image
    named = [image.topic(asked.name) for asked in times if asked.name is not None]
    doubled = {topic_id for _, topic_id in times} & {topic.topic_id for topic in named if topic is not None}
    refusals = {
        asked: _refusal(broker, version, asked, count, doubled)
        for asked, count in times.items()
        if asked.name is not None or asked.topic_id not in doubled
    }
    results = [await _answer(broker, image, asked, refusal, call) for asked, refusal in refusals.items()]
    throttle_ms = broker.charge_mutation(call.header.client_id, 0, strict=False)
    return api.DELETE_TOPICS.response(responses=results, throttle_time_ms=throttle_ms)


async def _answer(broker: BrokerState, image: Image, asked: Asked, refusal: Refusal | None, call: Call) -> Any:
    topic = image.topic_by_id(asked.topic_id) if asked.name is None else image.topic(asked.name)
    name = asked.name if asked.name is not None else topic.name if topic else None
    code, message = refusal or (ErrorCode.NONE, None)
    if refusal is None and name is not None:
        try:
            partitions = len(topic.partitions) if topic else 0
            broker.charge_mutation(call.header.client_id, partitions, call.header.api_version >= STRICT_SINCE)
            await broker.delete_topic(name)
        except MetadataError as error:
            code, message = ErrorCode(error.code), error.message
    return api.DELETE_TOPICS.response.Topic(
        name=name,
        topic_id=topic.topic_id if topic else asked.topic_id,
        error_code=code,
        error_message=message,
    )


def _refusal(broker: BrokerState, version: int, asked: Asked, times: int, doubled: set[bytes]) -> Refusal | None:
    """`doubled`: topics asked for both by name and by id; they are refused once, under their name."""
    by_name, by_id = asked.name is not None, asked.topic_id != NO_ID
    topic = broker.image.topic(asked.name) if asked.name is not None else broker.image.topic_by_id(asked.topic_id)
    if not broker.settings.delete_topic_enable:
        code = ErrorCode.TOPIC_DELETION_DISABLED
        return (ErrorCode.INVALID_REQUEST if version < 3 else code), code.message
    if by_name and by_id:
        return ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."
    if not by_name and not by_id:
        return ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified."
    if times > 1:
        return ErrorCode.INVALID_REQUEST, f"Duplicate topic {'name' if by_name else 'id'}."
    if topic is None:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if by_name else ErrorCode.UNKNOWN_TOPIC_ID
        return code, code.message
    if topic.topic_id in doubled:
        return ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied."
    return None
