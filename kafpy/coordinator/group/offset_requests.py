"""OffsetCommit, OffsetFetch and OffsetDelete (Kafka's OffsetMetadataManager).

Who may commit is the group's to say: a member of its generation, or anybody while it has no members (generation -1).
Handlers have put topic names and ids side by side; an offset that was committed with an id is not given to whoever
asks with another id under the same name.
"""

from collections.abc import Callable
from typing import Any, Protocol

from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.offset_record import NO_TOPIC_ID, CommittedOffset, offset_record, offset_tombstone
from kafpy.coordinator.group.offsets import Offsets
from kafpy.coordinator.result import Record
from kafpy.protocol.api import OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH
from kafpy.protocol.errors import ErrorCode

NO_RETENTION_TIME = -1


class OffsetOwner(Protocol):
    """What both kinds of groups say of offsets."""

    def check_offset_commit(
        self, member_id: str, instance_id: str | None, generation: int, api_version: int
    ) -> ErrorCode: ...
    def partition_check(self, member_id: str, generation: int) -> Callable[[bytes, int], ErrorCode] | None:
        """What is to be asked of every partition, by topic id, when the member as such may commit; None: nothing."""

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode: ...
    def check_offset_delete(self) -> ErrorCode: ...
    def is_subscribed_to(self, topic: str) -> bool: ...
    def retained_from(self, commit_timestamp: int) -> int | None: ...


class OffsetRequests:
    def __init__(self, config: GroupConfig, offsets: Offsets) -> None:
        self._config = config
        self._offsets = offsets

    def commit(
        self, group: OffsetOwner | None, body: Any, api_version: int, now_ms: int
    ) -> tuple[ErrorCode, Any, list[Record]]:
        """The error that holds for all partitions, the answer, and the records."""
        error = self._check_commit(group, body, api_version)
        if error is ErrorCode.NONE and group is not None:
            error = self._check_partitions(group, body)
        if error is not ErrorCode.NONE:
            return error, commit_error(body, error), []
        response = OFFSET_COMMIT.response
        records: list[Record] = []
        group_id, longest = body.group_id, self._config.offset_metadata_max_bytes
        expire = -1 if body.retention_time_ms == NO_RETENTION_TIME else now_ms + body.retention_time_ms
        topics = []
        for topic in body.topics:
            name, topic_id, partitions = topic.name, topic.topic_id, []
            for each in topic.partitions:
                index, metadata, code = each.partition_index, each.committed_metadata or "", ErrorCode.NONE
                if metadata and utf16_length(metadata) > longest:
                    code = ErrorCode.OFFSET_METADATA_TOO_LARGE
                else:
                    committed = CommittedOffset(
                        each.committed_offset, each.committed_leader_epoch, metadata, now_ms, expire, topic_id
                    )
                    records.append(offset_record(group_id, name, index, committed))
                partitions.append(response.Partition(partition_index=index, error_code=code))
            topics.append(response.Topic(topic_id=topic.topic_id, name=topic.name, partitions=partitions))
        return ErrorCode.NONE, response(topics=topics), records

    @staticmethod
    def _check_commit(group: OffsetOwner | None, body: Any, api_version: int) -> ErrorCode:
        generation = body.generation_id_or_member_epoch
        if group is not None:
            return group.check_offset_commit(body.member_id, body.group_instance_id, generation, api_version)
        if generation < 0:
            return ErrorCode.NONE
        return ErrorCode.GROUP_ID_NOT_FOUND if api_version >= 9 else ErrorCode.ILLEGAL_GENERATION

    @staticmethod
    def _check_partitions(group: OffsetOwner, body: Any) -> ErrorCode:
        check = group.partition_check(body.member_id, body.generation_id_or_member_epoch)
        if check is None:
            return ErrorCode.NONE
        for topic in body.topics:
            for each in topic.partitions:
                error = check(topic.topic_id, each.partition_index)
                if error is not ErrorCode.NONE:
                    return error
        return ErrorCode.NONE

    def fetch(self, group: OffsetOwner | None, asked: Any) -> Any:
        """Of OffsetFetch's Group structs, the one of the answer; offset -1 where nothing is committed."""
        response = OFFSET_FETCH.response
        error = ErrorCode.NONE if group is None else group.check_offset_fetch(asked.member_id, asked.member_epoch)
        if error is not ErrorCode.NONE:
            return response.Group(group_id=asked.group_id, error_code=error)
        if asked.topics is None:
            topics = [
                response.Topic(
                    name=topic,
                    partitions=[
                        fetched(partition, committed)
                        for partition, committed in sorted(self._offsets.partitions(asked.group_id, topic))
                    ],
                )
                for topic in self._offsets.topics(asked.group_id)
            ]
        else:
            topics = [
                response.Topic(
                    topic_id=topic.topic_id,
                    name=topic.name,
                    partitions=[self._fetched(asked.group_id, topic, each) for each in topic.partition_indexes],
                )
                for topic in asked.topics
            ]
        return response.Group(group_id=asked.group_id, topics=topics)

    def _fetched(self, group_id: str, topic: Any, partition: int) -> Any:
        committed = self._offsets.get(group_id, topic.name, partition)
        if (
            committed is not None
            and NO_TOPIC_ID not in (committed.topic_id, topic.topic_id)
            and committed.topic_id != topic.topic_id
        ):
            committed = None  # it was committed for a topic of this name that is gone
        return fetched(partition, committed)

    def delete(self, group: OffsetOwner | None, body: Any) -> tuple[Any, list[Record]]:
        """Answer and tombstones (KIP-496)."""
        response = OFFSET_DELETE.response
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.check_offset_delete()
        if group is None or error is not ErrorCode.NONE:
            return response(error_code=error), []
        records, topics = [], []
        for topic in body.topics:
            subscribed = group.is_subscribed_to(topic.name)
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
            partitions = [each.partition_index for each in topic.partitions]
            answers = [response.Partition(partition_index=each, error_code=code) for each in partitions]
            topics.append(response.Topic(name=topic.name, partitions=answers))
            if not subscribed:
                records += [
                    offset_tombstone(body.group_id, topic.name, each)
                    for each in dict.fromkeys(partitions)
                    if self._offsets.has(body.group_id, topic.name, each)
                ]
        return response(topics=topics), records


def commit_error(body: Any, error: ErrorCode) -> Any:
    response = OFFSET_COMMIT.response
    topics = [
        response.Topic(
            topic_id=topic.topic_id,
            name=topic.name,
            partitions=[
                response.Partition(partition_index=each.partition_index, error_code=error) for each in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    return response(topics=topics)


def fetched(partition: int, committed: CommittedOffset | None) -> Any:
    cls = OFFSET_FETCH.response.Partition
    if committed is None:
        return cls(partition_index=partition, committed_offset=-1, committed_leader_epoch=-1, metadata="")
    return cls(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def utf16_length(text: str) -> int:
    """As Java counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
