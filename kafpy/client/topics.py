"""What operators ask of topics, over the wire: describe, create, delete, add partitions, delete records. Blocking."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import Connection, error_name
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

TIMEOUT_MS = 60_000
PARTITIONS_PER_ANSWER = 2000


class Partition(NamedTuple):
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    """Eligible leader replicas (KIP-966); None where the broker does not tell."""
    last_known_elr: tuple[int, ...] | None


class Topic(NamedTuple):
    name: str
    id: bytes
    internal: bool
    partitions: tuple[Partition, ...]


class Outcome(NamedTuple):
    """Of what was asked for one topic; code 0: done."""

    name: str
    code: int
    message: str


class NewTopic(NamedTuple):
    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: tuple[tuple[str, str], ...] = ()
    assignment: tuple[tuple[int, ...], ...] = ()
    """Replicas of each partition; the numbers above are -1 then."""


class Topics:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def all(self) -> list[Topic]:
        return sorted(_known(self._cluster.metadata().topics))

    def by_id(self, topic_id: bytes) -> Topic | None:
        request = api.METADATA.request
        asked = request(topics=[request.Topic(topic_id=topic_id, name=None)], allow_auto_topic_creation=False)
        found = list(_known(self._cluster.first.call(api.METADATA, asked).topics))
        return found[0] if found else None

    def describe(self, names: Sequence[str], limit: int = PARTITIONS_PER_ANSWER) -> list[Topic]:
        """limit: partitions in one answer. Topics that are gone are left out."""
        if not names:
            return []
        if not self._cluster.first.serves(api.DESCRIBE_TOPIC_PARTITIONS):
            return sorted(_known(self._cluster.metadata(names).topics))
        found: dict[str, Topic] = {}
        for each in self._pages(names, limit):
            if each.error_code:
                continue
            before = found[each.name].partitions if each.name in found else ()
            parts = tuple(_full_partition(part) for part in each.partitions)
            found[each.name] = Topic(each.name, each.topic_id, each.is_internal, before + parts)
        return sorted(each._replace(partitions=tuple(sorted(each.partitions))) for each in found.values())

    def _pages(self, names: Sequence[str], limit: int) -> Iterator[Any]:
        request = api.DESCRIBE_TOPIC_PARTITIONS.request
        cursor = None
        while True:
            rest = sorted(name for name in names if cursor is None or name >= cursor.topic_name)
            topics = [request.Topic(name=name) for name in rest]
            asked = request(topics=topics, response_partition_limit=limit, cursor=cursor)
            answer = self._cluster.first.call(api.DESCRIBE_TOPIC_PARTITIONS, asked)
            yield from answer.topics
            if answer.next_cursor is None:
                return
            cursor = request.Cursor(
                topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index
            )

    def create(self, topics: Iterable[NewTopic], *, validate_only: bool = False) -> list[Outcome]:
        request = api.CREATE_TOPICS.request
        wanted = [
            request.Topic(
                name=each.name,
                num_partitions=each.partitions,
                replication_factor=each.replication_factor,
                assignments=[
                    request.Assignment(partition_index=index, broker_ids=list(replicas))
                    for index, replicas in enumerate(each.assignment)
                ],
                configs=[request.Config(name=key, value=value) for key, value in each.configs],
            )
            for each in topics
        ]
        asked = request(topics=wanted, timeout_ms=TIMEOUT_MS, validate_only=validate_only)
        return _outcomes(self._cluster.controller().call(api.CREATE_TOPICS, asked).topics)

    def delete(self, names: Iterable[str]) -> list[Outcome]:
        request = api.DELETE_TOPICS.request
        listed = list(names)
        topics = [request.Topic(name=name) for name in listed]
        asked = request(topics=topics, topic_names=listed, timeout_ms=TIMEOUT_MS)
        return _outcomes(self._cluster.controller().call(api.DELETE_TOPICS, asked).responses)

    def grow(
        self,
        counts: Mapping[str, int],
        assignments: Mapping[str, Sequence[Sequence[int]]],
        *,
        validate_only: bool = False,
    ) -> list[Outcome]:
        """To so many partitions; assignments: replicas of the new ones, where they are given."""
        request = api.CREATE_PARTITIONS.request
        topics = []
        for name, count in counts.items():
            given = assignments.get(name)
            replicas = None if given is None else [request.Assignment(broker_ids=list(each)) for each in given]
            topics.append(request.Topic(name=name, count=count, assignments=replicas))
        asked = request(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=validate_only)
        return _outcomes(self._cluster.controller().call(api.CREATE_PARTITIONS, asked).results)

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, tuple[int, int]]:
        """Those below each offset (-1: the high watermark); low watermark and error code by partition."""
        request = api.DELETE_RECORDS.request
        known = {each.name for each in self.all()}
        leaders = self._cluster.partitions({topic for topic, _ in offsets} & known)
        done = {
            each: (
                -1,
                int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if each not in leaders else ErrorCode.NOT_LEADER_OR_FOLLOWER),
            )
            for each in offsets
            if leaders.get(each) is None
        }
        by_leader: dict[Connection, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for (topic, index), offset in offsets.items():
            leader = leaders.get((topic, index))
            if leader is not None:
                part = request.Partition(partition_index=index, offset=offset)
                by_leader[leader][topic].append(part)
        for leader, parts in by_leader.items():
            topics = [request.Topic(name=name, partitions=each) for name, each in parts.items()]
            for answer in leader.call(api.DELETE_RECORDS, request(topics=topics, timeout_ms=TIMEOUT_MS)).topics:
                for part in answer.partitions:
                    done[answer.name, part.partition_index] = part.low_watermark, part.error_code
        return dict(sorted(done.items()))


def _known(topics: Iterable[Any]) -> Iterator[Topic]:
    for each in topics:
        if not each.error_code:
            parts = tuple(sorted(_plain_partition(part) for part in each.partitions))
            yield Topic(each.name, each.topic_id, each.is_internal, parts)


def _plain_partition(part: Any) -> Partition:
    replicas, isr = tuple(part.replica_nodes), tuple(part.isr_nodes)
    return Partition(part.partition_index, part.leader_id, replicas, isr, None, None)


def _full_partition(part: Any) -> Partition:
    elr, last = tuple(part.eligible_leader_replicas or ()), tuple(part.last_known_elr or ())
    return _plain_partition(part)._replace(elr=elr, last_known_elr=last)


def _outcomes(results: Iterable[Any]) -> list[Outcome]:
    return [
        Outcome(
            each.name, each.error_code, (each.error_message or error_name(each.error_code)) if each.error_code else ""
        )
        for each in results
    ]
