"""Which partitions a query reads, and from where to where: what its options say, asked of the brokers."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kafpy.client import settings
from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import ClientError, error_name
from kafpy.client.groups import Groups
from kafpy.client.local_log import LocalLog, local_logs
from kafpy.client.nodes import log_dirs_of
from kafpy.client.range_reader import Range
from kafpy.protocol import api
from spark_source.options import refuse
from spark_source.ruler import Ruler
from spark_source.source_options import EARLIEST, LATEST, Offsets, SourceOptions, Where

T = TypeVar("T")
At = dict[TopicPartition, int]

LOGS_S = 60.0
FEW_RECORDS = 64
"""Not worth asking how large they are: at a megabyte each they are one task."""


class Places:
    """Questions to one cluster, over connections that are made when they are needed. What fails in passing is asked
    again: as often as fetchOffset.numRetries says, and for as long as a request may take."""

    def __init__(self, options: SourceOptions) -> None:
        self._where = settings.from_properties(options.properties)
        self._connected: Cluster | None = None
        self._options = options
        self._isolation = int(options.read_committed)
        self._known: tuple[float, dict[str, bytes], list[TopicPartition]] | None = None
        self._logs: tuple[float, list[TopicPartition], Mapping[TopicPartition, LocalLog]] | None = None

    def close(self) -> None:
        if self._connected is not None:
            self._connected.close()
            self._connected = None

    def __enter__(self) -> "Places":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def partitions(self) -> list[TopicPartition]:
        return self._look()[1]

    def topic_ids(self) -> dict[str, bytes]:
        """Of the topics that are read; none from a broker that has no ids."""
        return self._look()[0]

    def _look(self) -> tuple[dict[str, bytes], list[TopicPartition]]:
        if self._known is None:
            self._known = time.monotonic(), *self._patiently(self._asked)
        return self._known[1], self._known[2]

    def refresh(self) -> None:
        """Topics and partitions are looked up again, unless partition.metadata.cache.ttl.ms says it is too soon."""
        ttl_s = self._options.metadata_ttl_ms / 1000
        if self._known is not None and time.monotonic() - self._known[0] > ttl_s:
            self._known = None

    def _asked(self, cluster: Cluster) -> tuple[dict[str, bytes], list[TopicPartition]]:
        options = self._options
        wanted = None if options.pattern is not None else [*options.subscribe, *options.assign]
        answer = cluster.metadata(wanted)
        if options.pattern is not None:
            matches = _pattern(options.pattern)
            topics = [each for each in answer.topics if matches(each.name) and not each.is_internal]
        else:
            topics = list(answer.topics)
        found: list[TopicPartition] = []
        for topic in topics:
            if topic.error_code:
                refuse(f"topic {topic.name}: {error_name(topic.error_code)}; is its name right?")
            indexes = {each.partition_index for each in topic.partitions}
            chosen = options.assign.get(topic.name, indexes)
            missing = set(chosen) - indexes
            if missing:
                refuse(f"topic {topic.name} has no partition {', '.join(map(str, sorted(missing)))}")
            found += [(topic.name, index) for index in chosen]
        ids = {topic.name: bytes(topic.topic_id) for topic in topics if any(topic.topic_id or b"")}
        return ids, sorted(found)

    def ends(self, partitions: Iterable[TopicPartition], which: int) -> At:
        """LATEST (with read_committed the last stable offset) or EARLIEST of each."""
        return self._offsets(dict.fromkeys(partitions, which))

    def resolve(self, where: Where, partitions: list[TopicPartition], *, ending: bool) -> At:
        """An offset for each partition. Names of partitions must be those that are read, as in Spark's connector."""
        if where.everywhere is not None:
            return self.ends(partitions, where.everywhere)
        if where.time is not None:
            return self._at_times(dict.fromkeys(partitions, where.time), ending=ending)
        if where.times is not None:
            return self._at_times(_flat(where.times, partitions, "times"), ending=ending)
        named = _flat(where.offsets or {}, partitions, "offsets")
        found = self._offsets({each: offset for each, offset in named.items() if offset < 0})
        return {**named, **found}

    def _at_times(self, times: At, *, ending: bool) -> At:
        """The first record at or after each time; the end where none is that late and the start may be there."""
        found = self._offsets(times)
        late = [each for each, offset in found.items() if offset < 0]
        if late and not ending and not self._options.unmatched_starts_latest:
            named = ", ".join(f"{topic} [{index}]" for topic, index in late)
            raise ClientError(
                f"{named}: no record is at or after the starting time; startingOffsetsByTimestampStrategy=latest"
                " would begin at the end there"
            )
        return {**found, **self.ends(late, LATEST)} if late else found

    def _offsets(self, asked: Mapping[TopicPartition, int]) -> At:
        if not asked:
            return {}

        def ask(cluster: Cluster) -> At:
            found = cluster.offsets(asked, isolation=self._isolation)
            for topic, index in asked:
                if (topic, index) not in found:
                    raise ClientError(f"{topic} [{index}] has no leader now")
            return found

        return self._patiently(ask)

    def _patiently(self, ask: Callable[[Cluster], T]) -> T:
        give_up = time.monotonic() + self._where.timeout_s
        tries = 0
        while True:
            try:
                if self._connected is None:
                    self._connected = Cluster(self._where)
                return ask(self._connected)
            except ClientError:
                self.close()
                tries += 1
                if tries > self._options.retries and time.monotonic() > give_up:
                    raise
                time.sleep(self._options.retry_ms / 1000)

    def commit(self, group: str, offsets: At) -> None:
        """A group with members of its own refuses: whoever reads in it commits for it."""

        def ask(cluster: Cluster) -> None:
            codes = Groups(cluster).commit(group, offsets)
            failed = {each: code for each, code in codes.items() if code}
            for (topic, index), code in failed.items():
                raise ClientError(f"group {group} did not take the offset of {topic} [{index}]: {error_name(code)}")

        self._patiently(ask)

    def rulers(self, ranges: Iterable[Range], every: int) -> dict[TopicPartition, Ruler]:
        """By what the leaders tell: a kafpy broker where batches begin, others how large the logs are, or nothing."""
        wanted = list(ranges)
        if sum(each.end - each.start for each in wanted) <= FEW_RECORDS:
            return {}
        partitions = [(each.topic, each.partition) for each in wanted]
        try:
            return self._patiently(lambda cluster: self._rulers(cluster, partitions, every))
        except ClientError:
            return {}

    def _rulers(self, cluster: Cluster, partitions: list[TopicPartition], every: int) -> dict[TopicPartition, Ruler]:
        firsts = cluster.list_offsets(dict.fromkeys(partitions, EARLIEST), mark_every=every)
        marked = {each: [(found.offset, 0), *found.marks] for each, found in firsts.items() if found.marks}
        rest = [each for each in partitions if each not in marked]
        sizes = _sizes(cluster, {topic for topic, _ in rest}) if rest else {}
        lasts = cluster.offsets({each: LATEST for each in rest if each in sizes})
        sized = {each: [(firsts[each].offset, 0), (last, sizes[each])] for each, last in lasts.items()}
        return {
            **{each: Ruler(marks, exact=True) for each, marks in marked.items()},
            **{each: Ruler(marks) for each, marks in sized.items()},
        }

    def local_logs(self) -> Mapping[TopicPartition, LocalLog]:
        """Where leaders keep what is read. Replicas may move, but not with every micro-batch."""
        partitions = self.partitions()
        if self._logs is None or time.monotonic() - self._logs[0] > LOGS_S or partitions != self._logs[1]:
            topics = {topic for topic, _ in partitions}
            found = self._patiently(lambda cluster: local_logs(cluster, topics)) if topics else {}
            self._logs = time.monotonic(), partitions, found
        return self._logs[2]


def _sizes(cluster: Cluster, topics: set[str]) -> dict[TopicPartition, int]:
    """Empty where a broker does not tell."""
    found: dict[TopicPartition, int] = {}
    for broker in cluster.brokers():
        if not broker.serves(api.DESCRIBE_LOG_DIRS):
            return {}
        for directory in log_dirs_of(broker):
            for replica in directory.replicas:
                if replica.topic in topics and not replica.is_future:
                    each = replica.topic, replica.partition
                    found[each] = max(found.get(each, 0), replica.size)
    return found


def _pattern(text: str) -> Callable[[str], bool]:
    try:
        compiled = re.compile(text)
    except re.error as error:
        refuse(f"subscribePattern={text}: {error}")
    return lambda name: compiled.fullmatch(name) is not None


def _flat(named: Offsets, partitions: list[TopicPartition], what: str) -> At:
    flat = {(topic, index): value for topic, parts in named.items() for index, value in parts.items()}
    missing, more = set(partitions) - flat.keys(), flat.keys() - set(partitions)
    if missing or more:
        said = [f"lack {_listed(missing)}"] if missing else []
        said += [f"name {_listed(more)}, which is not read"] if more else []
        refuse(f"{what} by partition name exactly the partitions that are read; these {' and '.join(said)}")
    return flat


def _listed(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(f"{topic} [{index}]" for topic, index in sorted(partitions))
