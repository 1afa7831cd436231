"""OffsetCommit, versions 2-10: topics by name, by id since 10.

Only offsets of partitions that exist reach the group; the others are refused one by one, and the rest is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.offset_requests import commit_error
from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.result import Beat, Record, Result
from kafpy.coordinator.ticket import Ticket
from kafpy.handlers.group_requests import ask_group, sending_with
from kafpy.handlers.registry import Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState
    from kafpy.metadata import Topic

BY_ID_SINCE = 10


class KnownCommit(Protocol):
    """Of a member whose commits were taken before, read already: its records, its answer."""

    @property
    def group_id(self) -> str: ...
    @property
    def topics(self) -> list[tuple[str | bytes, int]]: ...
    @property
    def records(self) -> list[tuple[bytes, bytes]]: ...
    @property
    def payload(self) -> bytes: ...
    def take(self) -> bool: ...


@serves(api.OFFSET_COMMIT)
def offset_commit(broker: BrokerState, call: Call) -> Any:
    body, by_id = call.body, call.header.api_version >= BY_ID_SINCE
    known, refused = [], []
    for asked in body.topics:
        topic = broker.image.topic_by_id(asked.topic_id) if by_id else broker.image.topic(asked.name)
        if topic is not None:
            asked.name = topic.name
        refused += _refused(asked, topic, by_id)
        if asked.partitions:
            known.append(asked)
    body.topics = known
    if refused and not known:
        return api.OFFSET_COMMIT.response(topics=refused)
    send = sending_with(call, refused) if refused else call.send

    def refusal(error: ErrorCode) -> Any:
        return commit_error(body, error)

    def operation(shard: GroupShard, ticket: Ticket, body: Any, caller: Caller, now_ms: int) -> Result:
        return shard.offset_commit(ticket, body, caller, now_ms, None if refused else expect)

    def expect(beat: Beat) -> None:
        topics = {each.topic_id if by_id else each.name.encode(): each for each in known}
        called = {key: (each.topic_id if by_id else each.name, each.name.encode()) for key, each in topics.items()}
        beat.expect_commits(call.origin.frame, body.group_id, called)

    return ask_group(broker, call, operation, refusal, Ticket(send, refusal))


def take_known(broker: BrokerState, commit: KnownCommit, ticket: Ticket) -> bool:
    """False: it is to be treated as any other request. The ticket's answer is the commit's payload."""
    for identity, highest in commit.topics:
        topic = broker.image.topic(identity) if isinstance(identity, str) else broker.image.topic_by_id(identity)
        if topic is None or highest >= len(topic.partitions):
            return False
    if not commit.take():
        return False
    records = [Record(key, value) for key, value in commit.records]
    broker.groups.run(commit.group_id, ticket, lambda *_: Result(records, [(ticket, commit.payload)]))
    return True


def _refused(asked: Any, topic: Topic | None, by_id: bool) -> list[Any]:
    """The answer for partitions that do not exist, which are taken out of the request."""
    count = len(topic.partitions) if topic is not None else 0
    missing = [each for each in asked.partitions if not 0 <= each.partition_index < count]
    if not missing:
        return []
    asked.partitions = [each for each in asked.partitions if 0 <= each.partition_index < count]
    unknown_id = by_id and topic is None
    error = ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    response = api.OFFSET_COMMIT.response
    partitions = [response.Partition(partition_index=each.partition_index, error_code=error) for each in missing]
    return [response.Topic(topic_id=asked.topic_id, name=asked.name, partitions=partitions)]
