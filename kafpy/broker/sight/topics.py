"""Topics and partitions: what they hold and what flows through them.

The names are those of Kafka's JMX exporter and of kafka_exporter, so that dashboards made for them fill in.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafpy._core.log import Log
from kafpy.broker.partitions import Partitions
from kafpy.broker.settings import Settings
from kafpy.broker.sight.exposition import Page, escaped
from kafpy.broker.topic_config import Effective
from kafpy.metadata import Image, Partition, Topic

FLOWS = ("totalproducerequests", "messagesin", "bytesin", "totalfetchrequests", "bytesout")
_HELP = {
    "totalproducerequests": "Batches that producers sent to partitions.",
    "messagesin": "Records appended.",
    "bytesin": "Bytes appended.",
    "totalfetchrequests": "Reads of partitions by clients.",
    "bytesout": "Bytes of records given to clients.",
}
Flow = tuple[int, int, int, int, int]
NOTHING: Flow = (0, 0, 0, 0, 0)


class Seen(NamedTuple):
    """A partition as a scrape finds it; `labels` for its samples. Without a log: offline."""

    labels: str
    partition: Partition
    log: Log | None
    start: int
    end: int
    size: int
    segments: int
    under_min: int
    """In-sync replicas above min.insync.replicas; below 0: too few."""


class Flows:
    """Totals that do not go back when a topic is deleted."""

    def __init__(self) -> None:
        self._gone = NOTHING
        self._last: dict[str, Flow] = {}

    def look(self, topics: Mapping[str, Flow]) -> Flow:
        for name, before in self._last.items():
            now = topics.get(name)
            if now is None or now[1] < before[1] or now[3] < before[3]:
                self._gone = _sum(self._gone, before)
        self._last = dict(topics)
        total = self._gone
        for each in topics.values():
            total = _sum(total, each)
        return total


def _sum(one: Flow, other: Flow) -> Flow:
    return (
        one[0] + other[0],
        one[1] + other[1],
        one[2] + other[2],
        one[3] + other[3],
        one[4] + other[4],
    )


def look(image: Image, partitions: Partitions, settings: Settings) -> dict[str, tuple[Topic, list[Seen], Flow]]:
    found = {}
    for name, topic in sorted(image.topics.items()):
        least = Effective(settings, topic.configs).whole("min.insync.replicas")
        seen, flow = [], NOTHING
        for each in topic.partitions:
            log = partitions.log(name, each.index)
            text = f'topic="{escaped(name)}",partition="{each.index}"'
            under_min = len(each.isr) - least
            if log is None:
                seen.append(Seen(text, each, None, 0, 0, 0, 0, under_min))
                continue
            flow = _sum(flow, log.counters())
            start, end, size, segments = log.log_start_offset, log.high_watermark, log.size, log.segment_count
            seen.append(Seen(text, each, log, start, end, size, segments, under_min))
        found[name] = topic, seen, flow
    return found


def write(page: Page, looked: Mapping[str, tuple[Topic, list[Seen], Flow]], total: Flow) -> None:
    for index, name in enumerate(FLOWS):
        samples = [(f'topic="{escaped(topic)}"', flow[index]) for topic, (_, _, flow) in looked.items()]
        family = f"kafka_server_brokertopicmetrics_{name}_total"
        page.many(family, "counter", _HELP[name], [("", total[index]), *samples])
    counts = [(f'topic="{escaped(name)}"', len(seen)) for name, (_, seen, _) in looked.items()]
    page.many("kafka_topic_partitions", "gauge", "Partitions of a topic.", counts)
    every = [each for _, seen, _ in looked.values() for each in seen]
    _write_partitions(page, every)
    _write_manager(page, looked, every)


def _write_partitions(page: Page, every: list[Seen]) -> None:
    there = [each for each in every if each.log is not None]
    for name, help_text, samples in (
        ("kafka_log_log_size", "Bytes of a partition's segments.", [(each.labels, each.size) for each in there]),
        ("kafka_log_log_numlogsegments", "Segments.", [(each.labels, each.segments) for each in there]),
        ("kafka_log_log_logstartoffset", "First offset.", [(each.labels, each.start) for each in there]),
        ("kafka_log_log_logendoffset", "Offset after the last record.", _ends(there)),
        ("kafka_topic_partition_oldest_offset", "First offset.", [(each.labels, each.start) for each in there]),
        ("kafka_topic_partition_current_offset", "The high watermark.", [(each.labels, each.end) for each in there]),
        ("kafka_topic_partition_leader", "Its leader's id; -1: none.", _of(every, lambda each: each.leader)),
        ("kafka_topic_partition_replicas", "Replicas.", _of(every, lambda each: len(each.replicas))),
        ("kafka_topic_partition_in_sync_replica", "Replicas in sync.", _of(every, lambda each: len(each.isr))),
        (
            "kafka_topic_partition_leader_is_preferred",
            "1 where the first replica leads.",
            _of(every, lambda each: int(each.leader == each.replicas[0])),
        ),
        (
            "kafka_topic_partition_under_replicated_partition",
            "1 where a replica is not in sync.",
            _of(every, lambda each: int(len(each.isr) < len(each.replicas))),
        ),
        ("kafka_cluster_partition_underminisr", "Below min.insync.replicas.", _under(every, lambda n: n < 0)),
        ("kafka_cluster_partition_atminisr", "Just at min.insync.replicas.", _under(every, lambda n: n == 0)),
    ):
        page.many(name, "gauge", help_text, samples)


def _ends(there: list[Seen]) -> list[tuple[str, float]]:
    return [(each.labels, each.log.log_end_offset) for each in there if each.log is not None]


def _of(every: list[Seen], value: Callable[[Partition], float]) -> list[tuple[str, float]]:
    return [(each.labels, value(each.partition)) for each in every]


def _under(every: list[Seen], test: Callable[[int], bool]) -> list[tuple[str, float]]:
    return [(each.labels, int(test(each.under_min))) for each in every]


def _write_manager(page: Page, looked: Mapping[str, object], every: list[Seen]) -> None:
    leaderless = sum(each.partition.leader < 0 for each in every)
    behind = sum(len(each.partition.isr) < len(each.partition.replicas) for each in every)
    for name, help_text, value in (
        ("kafka_server_replicamanager_partitioncount", "Partitions on this broker.", len(every)),
        ("kafka_server_replicamanager_leadercount", "Partitions that this broker leads.", len(every) - leaderless),
        ("kafka_server_replicamanager_underreplicatedpartitions", "With replicas out of sync.", behind),
        ("kafka_server_replicamanager_offlinereplicacount", "In failed directories.", leaderless),
        ("kafka_controller_kafkacontroller_globaltopiccount", "Topics of the cluster.", len(looked)),
        ("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions of the cluster.", len(every)),
        ("kafka_controller_kafkacontroller_offlinepartitionscount", "Partitions without a leader.", leaderless),
    ):
        page.one(name, "gauge", help_text, value)
