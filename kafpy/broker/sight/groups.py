"""Consumer groups: members, committed offsets and lag, under the names of kafka_exporter."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from kafpy.broker.sight.exposition import Page, escaped
from kafpy.coordinator.group.offset_record import MalformedRecord, read_value
from kafpy.coordinator.group.shard import Overview
from kafpy.storage.checkpoints import TopicPartition


class Line(NamedTuple):
    labels: str
    offset: int
    lag: int


def write(page: Page, groups: Iterable[Overview], ends: Mapping[TopicPartition, int]) -> None:
    """`ends`: high watermarks; what a group committed of a topic that is gone is left out."""
    members: list[tuple[str, float]] = []
    states: list[tuple[str, float]] = []
    lines: list[Line] = []
    sums: list[Line] = []
    for group in groups:
        of_group = f'consumergroup="{escaped(group.group_id)}"'
        members.append((of_group, group.members))
        states.append((f'{of_group},state="{group.state}"', 1))
        for topic, values in sorted(group.offsets.items()):
            of_topic = f'{of_group},topic="{escaped(topic)}"'
            found = list(_lines(of_topic, topic, values, ends))
            lines += found
            if found:
                sums.append(Line(of_topic, sum(each.offset for each in found), sum(each.lag for each in found)))
    for name, help_text, samples in (
        ("members", "Members.", members),
        ("state", "1 for the state that it is in.", states),
        ("current_offset", "Committed.", [(each.labels, each.offset) for each in lines]),
        ("lag", "Records between what is committed and the high watermark.", [(e.labels, e.lag) for e in lines]),
        ("current_offset_sum", "Committed, over a topic.", [(each.labels, each.offset) for each in sums]),
        ("lag_sum", "Lag, over a topic.", [(each.labels, each.lag) for each in sums]),
    ):
        page.many(f"kafka_consumergroup_{name}", "gauge", help_text, samples)


def _lines(labels: str, topic: str, values: Mapping[int, bytes], ends: Mapping[TopicPartition, int]) -> Iterable[Line]:
    for partition, value in sorted(values.items()):
        end = ends.get((topic, partition))
        if end is not None:
            with suppress(MalformedRecord):
                offset = read_value(value).offset
                yield Line(f'{labels},partition="{partition}"', offset, max(end - offset, 0))
