"""OffsetFetch, versions 1-10: one group until 7, many since 8 (KIP-709), topics by id since 10; null topics: all.

An offset that was never committed, of a group nobody has heard of included, is -1 without an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafpy.coordinator.group.offset_requests import fetched
from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.result import Result
from kafpy.handlers.group_requests import ask_groups, caller_of
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

MANY_SINCE, BY_ID_SINCE = 8, 10


@serves(api.OFFSET_FETCH)
def offset_fetch(broker: BrokerState, call: Call) -> Any:
    body, version = call.body, call.header.api_version
    groups = body.groups
    if version < MANY_SINCE:
        groups = [api.OFFSET_FETCH.request.Group(group_id=body.group_id, topics=body.topics)]
    unknown = [_take_unknown(broker, group) if version >= BY_ID_SINCE else [] for group in groups]
    caller = caller_of(call)

    def fetch(shard: GroupShard, at: int, _: int) -> tuple[Any, Result]:
        answer = shard.offset_fetch_group(groups[at], caller, body.require_stable)
        if version >= BY_ID_SINCE and not answer.error_code:
            answer.topics = _with_ids(broker, answer.topics) + unknown[at]
        return answer, Result()

    def refused(at: int, error: ErrorCode) -> Any:
        return api.OFFSET_FETCH.response.Group(group_id=groups[at].group_id, error_code=error)

    def compose(answers: list[Any]) -> Any:
        if version >= MANY_SINCE:
            return api.OFFSET_FETCH.response(groups=answers)
        return _one_group(answers[0], groups[0])

    return ask_groups(broker, call, [group.group_id for group in groups], fetch, refused, compose)


def _take_unknown(broker: BrokerState, group: Any) -> list[Any]:
    """Names for the ids that are known; the answers for the others, which are taken out of the request."""
    if group.topics is None:
        return []
    response = api.OFFSET_FETCH.response
    known, unknown = [], []
    for asked in group.topics:
        topic = broker.image.topic_by_id(asked.topic_id)
        if topic is not None:
            asked.name = topic.name
            known.append(asked)
            continue
        partitions = [_failed(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in asked.partition_indexes]
        unknown.append(response.Topic(topic_id=asked.topic_id, partitions=partitions))
    group.topics = known
    return unknown


def _with_ids(broker: BrokerState, topics: list[Any]) -> list[Any]:
    """Topics that are gone have no id to be named by."""
    found = []
    for each in topics:
        topic = broker.image.topic(each.name)
        if topic is not None:
            each.topic_id = topic.topic_id
            found.append(each)
    return found


def _one_group(answer: Any, asked: Any) -> Any:
    """The group's error stands beside each partition too: until version 1 there is no other place, and aiokafka, which
    speaks version 3, looks nowhere else. It would take the silence of a group that loads for "nothing committed".
    """
    response, topics = api.OFFSET_FETCH.response, answer.topics
    if answer.error_code:
        topics = [
            response.Topic(
                name=topic.name, partitions=[_failed(index, answer.error_code) for index in topic.partition_indexes]
            )
            for topic in asked.topics or []
        ]
    return response(topics=topics, error_code=answer.error_code)


def _failed(partition: int, error: int) -> Any:
    answer = fetched(partition, None)
    answer.error_code = error
    return answer
