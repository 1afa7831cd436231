"""Connections to the brokers of one cluster: by id, to partitions' leaders, to groups' coordinators. Blocking."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from kafpy.client.connection import ClientError, Connection, connect, connect_to, error_name
from kafpy.client.settings import ClientSettings
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

TopicPartition = tuple[str, int]

LATEST, EARLIEST = -1, -2
TRY_AGAIN = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
PAUSE_S = 0.1


Marks = Sequence[tuple[int, int]]
"""Offsets that begin batches, each with how many bytes of its log lie before it."""


class ListedOffset(NamedTuple):
    error_code: int
    offset: int
    timestamp: int
    marks: Marks = ()


class Cluster:
    def __init__(self, where: str | ClientSettings, *, timeout_s: float | None = None) -> None:
        self._settings = ClientSettings(where) if isinstance(where, str) else where
        self.timeout_s = self._settings.timeout_s if timeout_s is None else timeout_s
        self.first = connect(self._settings, timeout_s=self.timeout_s)
        self._opened: dict[tuple[str, int], Connection] = {}

    def close(self) -> None:
        for each in (self.first, *self._opened.values()):
            each.close()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def metadata(self, topics: Iterable[str] | None = None, *, create: bool = False) -> Any:
        """Of these topics or of all; with `create`, brokers that make topics by themselves may do so."""
        request = api.METADATA.request
        listed = None if topics is None else [request.Topic(name=name) for name in topics]
        asked = request(topics=listed, allow_auto_topic_creation=create)
        try:
            return self.first.call(api.METADATA, asked)
        except ClientError:
            self.first.close()  # it may be this broker alone that is gone
            self.first = connect(self._settings, timeout_s=self.timeout_s)
            return self.first.call(api.METADATA, asked)

    def brokers(self) -> list[Connection]:
        return [self._to(each.host, each.port) for each in self.metadata([]).brokers]

    def broker(self, node_id: int) -> Connection:
        for each in self.metadata([]).brokers:
            if each.node_id == node_id:
                return self._to(each.host, each.port)
        raise ClientError(f"there is no broker {node_id}")

    def controller(self) -> Connection:
        """Whom changes are asked of: old brokers forward nothing."""
        answer = self.metadata([])
        for each in answer.brokers:
            if each.node_id == answer.controller_id:
                return self._to(each.host, each.port)
        return self.first

    def partitions(self, topics: Iterable[str]) -> dict[TopicPartition, Connection | None]:
        """Of these topics, each with the connection to its leader. ClientError for a topic that is not there."""
        answer = self.metadata(topics)
        brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
        found: dict[TopicPartition, Connection | None] = {}
        for topic in answer.topics:
            if topic.error_code:
                raise ClientError(f"topic {topic.name}: {error_name(topic.error_code)}")
            for each in topic.partitions:
                leader = brokers.get(each.leader_id)
                found[topic.name, each.partition_index] = None if leader is None else self._to(*leader)
        return dict(sorted(found.items()))

    def offsets(self, asked: Mapping[TopicPartition, int], *, isolation: int = 0) -> dict[TopicPartition, int]:
        """ListOffsets: by time, or LATEST and EARLIEST; -1 where no record is that late. Without a leader: left out."""
        listed = self.list_offsets(asked, isolation=isolation)
        return {each: found.offset for each, found in listed.items() if not found.error_code}

    def list_offsets(
        self, asked: Mapping[TopicPartition, int], *, isolation: int = 0, mark_every: int = 0
    ) -> dict[TopicPartition, ListedOffset]:
        """The same with errors; LEADER_NOT_AVAILABLE where there is no leader to ask. With `mark_every` a kafpy broker
        also tells marks that lie about so many bytes apart."""
        leaders = self.partitions({topic for topic, _ in asked})
        by_leader: dict[Connection, list[TopicPartition]] = defaultdict(list)
        found = dict.fromkeys(asked, ListedOffset(ErrorCode.LEADER_NOT_AVAILABLE, -1, -1))
        for each in asked:
            leader = leaders.get(each)
            if leader is not None:
                by_leader[leader].append(each)
        request = api.LIST_OFFSETS.request
        for leader, partitions in by_leader.items():
            topics: dict[str, list[Any]] = defaultdict(list)
            for topic, index in partitions:
                part = request.Partition(partition_index=index, timestamp=asked[topic, index], mark_every=mark_every)
                topics[topic].append(part)
            listed = [request.Topic(name=name, partitions=parts) for name, parts in topics.items()]
            body = request(replica_id=-1, isolation_level=isolation, topics=listed)
            for answer in leader.call(api.LIST_OFFSETS, body).topics:
                for part in answer.partitions:
                    marks = [(mark.offset, mark.position) for mark in part.marks]
                    value = ListedOffset(part.error_code, part.offset, part.timestamp, marks)
                    found[answer.name, part.partition_index] = value
        return found

    def coordinator(self, group_id: str) -> Connection:
        """Waits for one, up to the timeout: a broker makes the groups' topic when it is first asked."""
        deadline = time.monotonic() + self.timeout_s
        request = api.FIND_COORDINATOR.request
        while True:
            body = request(key=group_id, key_type=0, coordinator_keys=[group_id])
            answer = self.first.call(api.FIND_COORDINATOR, body)
            found = answer.coordinators[0] if answer.coordinators else answer
            if not found.error_code:
                coordinator = self._to(found.host, found.port)
                coordinator.node_id = found.node_id
                return coordinator
            if found.error_code not in TRY_AGAIN or time.monotonic() > deadline:
                raise ClientError(f"group {group_id} has no coordinator: {error_name(found.error_code)}")
            time.sleep(PAUSE_S)

    def _to(self, host: str, port: int) -> Connection:
        if (host, port) not in self._opened:
            self._opened[host, port] = self.connect_to(host, port)
        return self._opened[host, port]

    def connect_to(
        self, host: str, port: int, *, timeout_s: float | None = None, client_id: str | None = None
    ) -> Connection:
        """A connection that is the caller's alone, made as the settings say."""
        settings = self._settings if client_id is None else self._settings._replace(client_id=client_id)
        return connect_to(host, port, settings, timeout_s=self.timeout_s if timeout_s is None else timeout_s)
