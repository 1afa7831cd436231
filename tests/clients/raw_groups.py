"""Group requests as a test words them, in any version."""

from collections.abc import Mapping
from typing import Any

from kafpy.protocol import api
from kafpy.protocol.codec import Struct
from tests.clients.raw import RawClient

MEMBER_ID_REQUIRED = 79
PROTOCOLS = {"range": b"\0\0"}


def find_coordinator(client: RawClient, group: str) -> Any:
    """Asked first: it makes `__consumer_offsets`. Answers when the group's partition is led and loaded."""
    while True:
        body = api.FIND_COORDINATOR.request(key_type=0, coordinator_keys=[group])
        found = client.call(api.FIND_COORDINATOR, 6, body).coordinators[0]
        if found.error_code == 0 and describe(client, group, version=5).error_code == 0:
            return found
        assert found.error_code in (0, 15), found


def join(
    client: RawClient,
    group: str,
    *,
    version: int = 9,
    member_id: str = "",
    session_ms: int = 30_000,
    protocols: Mapping[str, bytes] = PROTOCOLS,
    **more: Any,
) -> Any:
    """Comes again with the id that it is given."""
    request = api.JOIN_GROUP.request
    while True:
        body = request(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=session_ms,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[request.Protocol(name=name, metadata=data) for name, data in protocols.items()],
            **more,
        )
        answer = client.call(api.JOIN_GROUP, version, body)
        if answer.error_code != MEMBER_ID_REQUIRED:
            return answer
        member_id = answer.member_id


def sync(
    client: RawClient,
    group: str,
    generation: int,
    member_id: str,
    assignments: Mapping[str, bytes] | None = None,
    *,
    version: int = 5,
    protocol_type: str | None = "consumer",
    protocol_name: str | None = "range",
) -> Any:
    request = api.SYNC_GROUP.request
    listed = [request.Assignment(member_id=name, assignment=data) for name, data in (assignments or {}).items()]
    body = request(
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        assignments=listed,
    )
    return client.call(api.SYNC_GROUP, version, body)


def enter(client: RawClient, group: str, assignment: bytes = b"mine", **more: Any) -> tuple[int, str]:
    """The only member of a Stable group: its generation and id."""
    joined = join(client, group, **more)
    assert joined.error_code == 0, joined
    synced = sync(client, group, joined.generation_id, joined.member_id, {joined.member_id: assignment})
    assert (synced.error_code, synced.assignment) == (0, assignment), synced
    return joined.generation_id, joined.member_id


def heartbeat(client: RawClient, group: str, generation: int, member_id: str, *, version: int = 4) -> int:
    body = api.HEARTBEAT.request(group_id=group, generation_id=generation, member_id=member_id)
    return int(client.call(api.HEARTBEAT, version, body).error_code)


def leave(client: RawClient, group: str, member_id: str, *, version: int = 5) -> Any:
    request = api.LEAVE_GROUP.request
    if version < 3:
        return client.call(api.LEAVE_GROUP, version, request(group_id=group, member_id=member_id))
    member = request.Member(member_id=member_id)
    return client.call(api.LEAVE_GROUP, version, request(group_id=group, members=[member]))


def commit(
    client: RawClient,
    group: str,
    topic: str | bytes,
    offsets: Mapping[int, int],
    *,
    version: int | None = None,
    generation: int = -1,
    member_id: str = "",
    metadata: str | None = "",
    leader_epoch: int = -1,
    **more: Any,
) -> dict[int, int]:
    """Error codes by partition. A topic given by its id takes version 10."""
    version = version or (10 if isinstance(topic, bytes) else 9)
    request = api.OFFSET_COMMIT.request
    partitions = [
        request.Partition(
            partition_index=index,
            committed_offset=offset,
            committed_leader_epoch=leader_epoch,
            committed_metadata=metadata,
        )
        for index, offset in offsets.items()
    ]
    body = request(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=[request.Topic(**_named(topic), partitions=partitions)],
        **more,
    )
    (found,) = client.call(api.OFFSET_COMMIT, version, body).topics
    assert (found.topic_id if isinstance(topic, bytes) else found.name) == topic
    return {each.partition_index: each.error_code for each in found.partitions}


def fetch(client: RawClient, group: str, topics: Mapping[str | bytes, list[int]] | None, *, version: int = 9) -> Any:
    """The group's part of the answer; topics None: all."""
    request = api.OFFSET_FETCH.request
    listed: list[Struct] | None = None
    if topics is not None:
        listed = [request.Topic(**_named(name), partition_indexes=indexes) for name, indexes in topics.items()]
    group_body = request.Group(group_id=group, topics=listed)
    body = request(group_id=group, topics=listed) if version < 8 else request(groups=[group_body])
    answer = client.call(api.OFFSET_FETCH, version, body)
    return answer if version < 8 else answer.groups[0]


def committed(
    client: RawClient, group: str, topics: Mapping[str | bytes, list[int]] | None, *, version: int = 9
) -> dict[tuple[str | bytes, int], tuple[int, int]]:
    """Offset and error code, by topic and partition."""
    answer = fetch(client, group, topics, version=version)
    return {
        (topic.topic_id if version >= 10 else topic.name, each.partition_index): (
            each.committed_offset,
            each.error_code,
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def listed(client: RawClient, *, version: int = 5, **filters: list[str]) -> dict[str, Any]:
    answer = client.call(api.LIST_GROUPS, version, api.LIST_GROUPS.request(**filters))
    assert answer.error_code == 0
    return {each.group_id: each for each in answer.groups}


def describe(client: RawClient, group: str, *, version: int = 6, operations: bool = False) -> Any:
    body = api.DESCRIBE_GROUPS.request(groups=[group], include_authorized_operations=operations)
    return client.call(api.DESCRIBE_GROUPS, version, body).groups[0]


def delete(client: RawClient, *groups: str, version: int = 2) -> dict[str, int]:
    answer = client.call(api.DELETE_GROUPS, version, api.DELETE_GROUPS.request(groups_names=list(groups)))
    return {each.group_id: each.error_code for each in answer.results}


def delete_offsets(client: RawClient, group: str, topic: str, *partitions: int) -> Any:
    request = api.OFFSET_DELETE.request
    listed = [request.Partition(partition_index=index) for index in partitions]
    topics = [request.Topic(name=topic, partitions=listed)]
    return client.call(api.OFFSET_DELETE, 0, request(group_id=group, topics=topics))


def _named(topic: str | bytes) -> dict[str, Any]:
    return {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
