"""What operators ask of consumer groups, over the wire: list, describe, read and change offsets, delete. Blocking."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple

from kafpy._core import batch
from kafpy.client.cluster import TRY_AGAIN, Cluster, TopicPartition
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

RETRY_S = 30.0
PAUSE_S = 0.1

_COUNT, _LENGTH = Struct(">i"), Struct(">h")


class Listed(NamedTuple):
    group_id: str
    type: str
    state: str


class Member(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: tuple[TopicPartition, ...]
    epoch: int | None = None
    target: tuple[TopicPartition, ...] | None = None
    target_epoch: int | None = None


class Description(NamedTuple):
    group_id: str
    type: str
    state: str
    assignor: str
    coordinator: str
    members: tuple[Member, ...]
    notes: str
    """What the broker has to say about it, such as who left and why."""

    @property
    def exists(self) -> bool:
        return self.state != "Dead"


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str


class GroupError(ClientError):
    def __init__(self, code: int, what: str) -> None:
        super().__init__(f"{what}: {error_name(code)}")
        self.code = code


class Groups:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def list(self, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[Listed]:
        request = api.LIST_GROUPS.request(states_filter=list(states), types_filter=list(types))
        found = []
        for broker in self._cluster.brokers():
            answer = _until_ready(partial(broker.call, api.LIST_GROUPS, request), lambda answer: answer.error_code)
            if answer.error_code:
                raise GroupError(answer.error_code, "cannot list groups")
            found += [Listed(each.group_id, each.group_type, each.group_state) for each in answer.groups]
        return sorted(found)

    def describe(self, group_id: str) -> Description:
        """A group that is not there is Dead."""
        coordinator = self._cluster.coordinator(group_id)
        place = f"{coordinator.address}  ({coordinator.node_id})"
        if coordinator.serves(api.CONSUMER_GROUP_DESCRIBE):
            request = api.CONSUMER_GROUP_DESCRIBE.request(group_ids=[group_id])
            answer = self._ask(group_id, api.CONSUMER_GROUP_DESCRIBE, request, lambda body: body.groups[0].error_code)
            modern = answer.groups[0]
            if not modern.error_code:
                members = tuple(_modern_member(each, modern.assignment_epoch) for each in modern.members)
                state, notes = modern.group_state, modern.error_message or ""
                return Description(group_id, "consumer", state, modern.assignor_name, place, members, notes)
        body = api.DESCRIBE_GROUPS.request(groups=[group_id])
        classic = self._ask(group_id, api.DESCRIBE_GROUPS, body, lambda body: body.groups[0].error_code).groups[0]
        if classic.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            raise GroupError(classic.error_code, f"cannot describe group {group_id}")
        members = tuple(_classic_member(each, classic.protocol_type) for each in classic.members)
        notes = "" if classic.error_code else classic.error_message or ""
        state, assignor = classic.group_state, classic.protocol_data
        return Description(group_id, "classic", state, assignor, place, members, notes)

    def committed(self, group_id: str) -> dict[TopicPartition, Committed]:
        request = api.OFFSET_FETCH.request
        version = min(9, self._cluster.coordinator(group_id).version(api.OFFSET_FETCH))  # 10 names topics by id
        asked = request(group_id=group_id, topics=None, groups=[request.Group(group_id=group_id, topics=None)])
        answer = self._ask(group_id, api.OFFSET_FETCH, asked, lambda body: _fetched(body, version).error_code, version)
        group = _fetched(answer, version)
        if group.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            raise GroupError(group.error_code, f"cannot read the offsets of group {group_id}")
        return {
            (topic.name, each.partition_index): Committed(
                each.committed_offset, each.committed_leader_epoch, each.metadata or ""
            )
            for topic in group.topics
            for each in topic.partitions
            if each.committed_offset >= 0 and not each.error_code
        }

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """As nobody's member; error codes by partition, 0 where it is done."""
        request = api.OFFSET_COMMIT.request
        topics: dict[str, list[Any]] = defaultdict(list)
        for (topic, index), offset in offsets.items():
            part = request.Partition(partition_index=index, committed_offset=offset, committed_metadata="")
            topics[topic].append(part)
        listed = [request.Topic(name=name, partitions=parts) for name, parts in topics.items()]
        version = min(9, self._cluster.coordinator(group_id).version(api.OFFSET_COMMIT))
        answer = self._ask(group_id, api.OFFSET_COMMIT, request(group_id=group_id, topics=listed), _first_code, version)
        return _codes(answer)

    def delete(self, group_id: str) -> int:
        """The error code."""
        request = api.DELETE_GROUPS.request(groups_names=[group_id])
        answer = self._ask(group_id, api.DELETE_GROUPS, request, lambda body: body.results[0].error_code)
        return int(answer.results[0].error_code)

    def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        request = api.OFFSET_DELETE.request
        topics: dict[str, list[Any]] = defaultdict(list)
        for topic, index in partitions:
            topics[topic].append(request.Partition(partition_index=index))
        listed = [request.Topic(name=name, partitions=parts) for name, parts in topics.items()]
        body = request(group_id=group_id, topics=listed)
        answer = self._ask(group_id, api.OFFSET_DELETE, body, lambda body: body.error_code)
        if answer.error_code:
            raise GroupError(answer.error_code, f"cannot delete offsets of group {group_id}")
        return _codes(answer)

    def timestamp_at(self, leader: Connection, partition: TopicPartition, offset: int) -> int | None:
        """Of the record at an offset, or of its batch where that begins before it; None: there is none."""
        request = api.FETCH.request
        part = request.Partition(partition=partition[1], fetch_offset=offset, partition_max_bytes=1)
        topics = [request.Topic(topic=partition[0], partitions=[part])]
        version = min(12, leader.version(api.FETCH))  # 13 names topics by id
        answer = leader.call(api.FETCH, request(replica_id=-1, topics=topics, max_bytes=1), version=version)
        found = [part for topic in answer.responses for part in topic.partitions if not part.error_code]
        if not found or not found[0].records:
            return None
        header = batch.header(found[0].records)
        return header.base_timestamp if header.base_offset == offset else header.max_timestamp

    def _ask(
        self, group_id: str, asked: api.Api, body: Any, code: Callable[[Any], int], version: int | None = None
    ) -> Any:
        return _until_ready(lambda: self._cluster.coordinator(group_id).call(asked, body, version=version), code)


def _until_ready(ask: Callable[[], Any], code: Callable[[Any], int]) -> Any:
    """A coordinator that is still loading is asked again for a while."""
    deadline = time.monotonic() + RETRY_S
    while True:
        answer = ask()
        if code(answer) not in TRY_AGAIN or time.monotonic() > deadline:
            return answer
        time.sleep(PAUSE_S)


def _fetched(answer: Any, version: int) -> Any:
    return answer.groups[0] if version >= 8 else answer


def _first_code(answer: Any) -> int:
    return next((each.error_code for topic in answer.topics for each in topic.partitions), 0)


def _codes(answer: Any) -> dict[TopicPartition, int]:
    return {(topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions}


def _modern_member(member: Any, target_epoch: int) -> Member:
    assigned, target = _named(member.assignment), _named(member.target_assignment)
    place = member.client_id, member.client_host
    return Member(member.member_id, member.instance_id, *place, assigned, member.member_epoch, target, target_epoch)


def _named(assignment: Any) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted((topic.topic_name, index) for topic in assignment.topic_partitions for index in topic.partitions)
    )


def _classic_member(member: Any, protocol_type: str) -> Member:
    assigned = assigned_partitions(member.member_assignment) if protocol_type == "consumer" else ()
    return Member(member.member_id, member.group_instance_id, member.client_id, member.client_host, assigned)


def assigned_partitions(data: bytes) -> tuple[TopicPartition, ...]:
    """ConsumerProtocol: an int16 version, then topics with their partitions. Bytes that are none: nothing."""
    found = []
    try:
        (topics,) = _COUNT.unpack_from(data, 2)
        at = 6
        for _ in range(topics):
            (length,) = _LENGTH.unpack_from(data, at)
            name = data[at + 2 : at + 2 + length].decode()
            (count,) = _COUNT.unpack_from(data, at + 2 + length)
            at += 6 + length
            if count < 0 or len(data) - at < 4 * count:
                return ()
            found += [(name, _COUNT.unpack_from(data, at + 4 * i)[0]) for i in range(count)]
            at += 4 * count
    except (StructError, UnicodeDecodeError):
        return ()
    return tuple(sorted(found))
