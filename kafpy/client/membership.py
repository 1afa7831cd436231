"""A member of a consumer group by the classic protocol: join, sync, heartbeat, commit, leave. Blocking, no thread.

The leader assigns by range, as Java's consumer does by default, so that members of both kinds share a group. Revocation
is eager: who joins again has given up everything before.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafpy.client.cluster import TRY_AGAIN, Cluster, TopicPartition
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.coordinator.group import consumer_protocol
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

PROTOCOL = "range"
JOIN_AGAIN = {
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
}
PAUSE_S = 0.1


class Membership:
    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topics: Callable[[], Iterable[str]],
        *,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 300_000,
        heartbeat_s: float = 3.0,
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._topics = topics
        self._session_timeout_ms = session_timeout_ms
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._heartbeat_s = heartbeat_s
        self._coordinator: Connection | None = None
        self.member_id = ""
        self._generation = -1
        self._next_beat = 0.0

    def join(self) -> tuple[TopicPartition, ...]:
        """Blocks until the group has agreed; what is ours from now on."""
        while True:
            answer = self._call(api.JOIN_GROUP, self._join_request())
            code = answer.error_code
            if code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
            elif code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            elif code in JOIN_AGAIN:
                time.sleep(PAUSE_S)
            elif code:
                raise ClientError(f"cannot join group {self._group_id}: {error_name(code)}")
            else:
                self.member_id, self._generation = answer.member_id, answer.generation_id
                assigned = self._sync(answer)
                if assigned is not None:
                    self._next_beat = time.monotonic() + self._heartbeat_s
                    return assigned

    def _join_request(self) -> Any:
        request = api.JOIN_GROUP.request
        metadata = write_subscription(sorted(self._topics()))
        return request(
            group_id=self._group_id,
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            member_id=self.member_id,
            protocol_type=consumer_protocol.PROTOCOL_TYPE,
            protocols=[request.Protocol(name=PROTOCOL, metadata=metadata)],
        )

    def _sync(self, joined: Any) -> tuple[TopicPartition, ...] | None:
        """None: the group moved on meanwhile."""
        request = api.SYNC_GROUP.request
        assignments = []
        if joined.leader == self.member_id:
            wanted = {
                each.member_id: consumer_protocol.read_subscription(each.metadata).topics for each in joined.members
            }
            for member_id, partitions in self._assigned(wanted).items():
                data = consumer_protocol.write_assignment(1, partitions)
                assignments.append(request.Assignment(member_id=member_id, assignment=data))
        body = request(
            group_id=self._group_id,
            generation_id=self._generation,
            member_id=self.member_id,
            protocol_type=consumer_protocol.PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=assignments,
        )
        answer = self._call(api.SYNC_GROUP, body)
        if answer.error_code in JOIN_AGAIN:
            return None
        if answer.error_code:
            raise ClientError(f"cannot join group {self._group_id}: {error_name(answer.error_code)}")
        found = consumer_protocol.read_assignment(answer.assignment).partitions
        return tuple(sorted((topic, index) for topic, indexes in found.items() for index in indexes))

    def _assigned(self, wanted: Mapping[str, Iterable[str]]) -> dict[str, dict[str, list[int]]]:
        topics = {topic for each in wanted.values() for topic in each}
        answer = self._cluster.metadata(topics) if topics else None
        counts = {each.name: len(each.partitions) for each in answer.topics} if answer else {}
        return assign_by_range(wanted, counts)

    def beat(self) -> bool:
        """A heartbeat where one is due; False: the group has to be joined again."""
        if time.monotonic() < self._next_beat:
            return True
        self._next_beat = time.monotonic() + self._heartbeat_s
        request = api.HEARTBEAT.request
        body = request(group_id=self._group_id, generation_id=self._generation, member_id=self.member_id)
        return self._still_in(self._call(api.HEARTBEAT, body).error_code)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """False: not done, the group has to be joined again."""
        if not offsets:
            return True
        request = api.OFFSET_COMMIT.request
        topics: dict[str, list[Any]] = defaultdict(list)
        for (topic, index), offset in offsets.items():
            part = request.Partition(partition_index=index, committed_offset=offset, committed_metadata="")
            topics[topic].append(part)
        body = request(
            group_id=self._group_id,
            generation_id_or_member_epoch=self._generation,
            member_id=self.member_id,
            topics=[request.Topic(name=name, partitions=parts) for name, parts in topics.items()],
        )
        answer = self._call(api.OFFSET_COMMIT, body, most=9)  # 10 names topics by id
        return self._still_in(
            next((part.error_code for topic in answer.topics for part in topic.partitions if part.error_code), 0)
        )

    def _still_in(self, code: int) -> bool:
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        if code and code not in JOIN_AGAIN:
            raise ClientError(f"group {self._group_id}: {error_name(code)}")
        return not code

    def leave(self) -> None:
        """Where that is still possible."""
        if self._coordinator is None:
            return
        if self.member_id:
            request = api.LEAVE_GROUP.request
            member = request.Member(member_id=self.member_id)
            try:
                body = request(group_id=self._group_id, member_id=self.member_id, members=[member])
                self._coordinator.call(api.LEAVE_GROUP, body)
            except ClientError:
                pass
        self._coordinator.close()
        self._coordinator = None

    def _call(self, asked: api.Api, body: Any, *, most: int = 1 << 15) -> Any:
        """The coordinator's answer, whoever that is by now."""
        deadline = time.monotonic() + self._cluster.timeout_s
        while True:
            try:
                if self._coordinator is None:
                    found = self._cluster.coordinator(self._group_id)
                    host, _, port = found.address.rpartition(":")
                    patience = self._cluster.timeout_s + self._rebalance_timeout_ms / 1000
                    self._coordinator = self._cluster.connect_to(host, int(port), timeout_s=patience)
                version = min(most, self._coordinator.version(asked))
                answer = self._coordinator.call(asked, body, version=version)
            except ClientError:
                self._lose()
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_S)
                continue
            code = _code_of(answer)
            if code not in TRY_AGAIN or time.monotonic() > deadline:
                return answer
            if code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                self._lose()
            time.sleep(PAUSE_S)

    def _lose(self) -> None:
        if self._coordinator is not None:
            self._coordinator.close()
        self._coordinator = None


def _code_of(answer: Any) -> int:
    if hasattr(answer, "error_code"):
        return int(answer.error_code)
    return next((part.error_code for topic in answer.topics for part in topic.partitions), 0)


def write_subscription(topics: Iterable[str]) -> bytes:
    names = [each.encode() for each in topics]
    pieces = [len(each).to_bytes(2, "big") + each for each in names]
    return b"\0\0" + len(names).to_bytes(4, "big") + b"".join(pieces) + b"\xff\xff\xff\xff"


def assign_by_range(wanted: Mapping[str, Iterable[str]], counts: Mapping[str, int]) -> dict[str, dict[str, list[int]]]:
    """Kafka's RangeAssignor without racks: of each topic, an equal run of partitions to each of its members by id."""
    assigned: dict[str, dict[str, list[int]]] = {member: {} for member in wanted}
    for topic in sorted({topic for each in wanted.values() for topic in each}):
        members = sorted(member for member, topics in wanted.items() if topic in topics)
        share, more = divmod(counts.get(topic, 0), len(members))
        first = 0
        for place, member in enumerate(members):
            size = share + (place < more)
            if size:
                assigned[member][topic] = list(range(first, first + size))
            first += size
    return assigned
