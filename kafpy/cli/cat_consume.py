"""kcat -C and -G: messages as they come, with news of the partitions' ends on stderr."""

import re
import sys
import time
from typing import Any

import click

from kafpy._core.templates import Op, Template
from kafpy.cli import client_properties, offset_spec, output_format
from kafpy.cli.cat_properties import Properties
from kafpy.cli.cat_query import text_of
from kafpy.cli.offset_spec import Place, Spec
from kafpy.cli.output_format import unescaped
from kafpy.cli.printing import Limits, Printed, print_all
from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import ClientError
from kafpy.client.consumer import Consumer
from kafpy.client.groups import Groups
from kafpy.client.subscription import NO_COMMITS, Subscription


def run(properties: Properties, given: dict[str, Any]) -> None:
    template = Template(_parts(given))
    spec = _spec(given["offsets"])
    with Cluster(properties.settings, timeout_s=given["timeout_s"]) as cluster:
        if given["group"]:
            done = _as_member(cluster, properties, template, spec, given)
        else:
            done = _alone(cluster, properties, template, spec, given)
    if done.interrupted:
        sys.exit(130)


def _parts(given: dict[str, Any]) -> list[Op]:
    null = b"NULL" if given["nulls"] else b""
    if given["form"] is not None:
        return output_format.kcat(given["form"], null=null)
    if given["json_output"]:
        return output_format.kcat_json()
    end = output_format.literal(unescaped(given["delimiter"]))
    separator = unescaped(given["key_delimiter"] or "")
    parts: list[Op] = []
    if given["print_offset"]:
        parts += [Op("offset"), output_format.literal(separator)]
    if given["key_delimiter"]:
        parts += [Op("key", text=null), output_format.literal(separator)]
    return [*parts, Op("value", text=null), end]


def _spec(words: tuple[str, ...]) -> Spec:
    start, stop = None, None
    for word in words:
        found = offset_spec.parse(word, time.time_ns() // 1_000_000)
        start, stop = found.start or start, found.stop or stop
    return Spec(start, stop)


class News:
    """Tells once of each partition that has been read to where it ended."""

    def __init__(
        self, read: dict[TopicPartition, int], ends: dict[TopicPartition, int], *, quiet: bool, exiting: bool
    ) -> None:
        self._read = read
        self._left = {} if quiet else dict(ends)
        self._exiting = exiting

    def tell(self) -> None:
        for each, end in sorted(self._left.items()):
            if self._read.get(each, -1) >= end:
                del self._left[each]
                last = ": exiting" if self._exiting and not self._left else ""
                click.echo(f"% Reached end of topic {each[0]} [{each[1]}] at offset {end}{last}", err=True)


def _alone(cluster: Cluster, properties: Properties, template: Template, spec: Spec, given: dict[str, Any]) -> Printed:
    terms = client_properties.terms(properties.client)
    topic, partition = given["topics"][0], given["partition"]
    described = cluster.metadata([topic]).topics[0]
    if described.error_code:
        raise ClientError(f"Topic {topic} error: {text_of(described.error_code)}")
    indexes = sorted(each.partition_index for each in described.partitions)
    if partition >= 0 and partition not in indexes:
        there = f"(with partitions 0..{len(indexes) - 1})"
        raise ClientError(f"Topic {topic} {there}: partition {partition} does not exist")
    partitions = [(topic, each) for each in indexes if partition < 0 or each == partition]
    stored: dict[TopicPartition, int] = {}
    if spec.start == Place("stored"):
        if "group.id" not in properties.client:
            raise click.UsageError("-o stored needs -X group.id=GROUP")
        committed = Groups(cluster).committed(properties.client["group.id"])
        stored = {each: found.offset for each, found in committed.items()}
    wanted = Spec(spec.start or Place("start"), spec.stop)
    isolation, at_end = terms.isolation, given["exit_at_end"]
    positions, ends = offset_spec.resolve(
        cluster, partitions, wanted, isolation=isolation, exit_at_end=at_end, stored=stored
    )
    _, now = offset_spec.resolve(cluster, partitions, Spec(None, Place("end")), isolation=isolation)
    with Consumer(cluster, terms) as consumer:
        consumer.assign(positions, ends)
        read = dict(positions)
        news = News(read, ends if at_end else now, quiet=bool(given["quiet"]), exiting=at_end)
        news.tell()
        finished = (lambda: consumer.finished) if ends else (lambda: False)
        return print_all(
            consumer, template, Limits(given["most"]), finished=finished, ends=ends, read=read, each_turn=news.tell
        )


def _as_member(
    cluster: Cluster, properties: Properties, template: Template, spec: Spec, given: dict[str, Any]
) -> Printed:
    client = dict(properties.client)
    if spec.stop or (spec.start and spec.start.kind not in ("start", "end", "stored")):
        raise click.UsageError("a group has its own offsets: -o with -G can be beginning, end or stored")
    if given["exit_at_end"]:
        raise click.UsageError("-e does not go with -G: partitions come and go; use -c, or -C -e")
    if spec.start and spec.start.kind != "stored":
        client["auto.offset.reset"] = "earliest" if spec.start.kind == "start" else "latest"
    terms = client_properties.terms(client)
    every_s = client_properties.number(client, "auto.commit.interval.ms", 5000) / 1000
    if not client_properties.flag(client, "enable.auto.commit", default=True):
        every_s = NO_COMMITS
    session_ms = client_properties.number(client, "session.timeout.ms", 45_000)
    names = given["names"]
    patterns = [re.compile(each) for each in names if each.startswith("^")]
    fixed = [each for each in names if not each.startswith("^")]

    def topics() -> list[str]:
        if not patterns:
            return fixed
        there = [each.name for each in cluster.metadata().topics if not each.is_internal]
        return sorted({*fixed, *(name for name in there if any(pattern.search(name) for pattern in patterns))})

    if not given["quiet"]:
        click.echo("% Waiting for group rebalance", err=True)
    with Subscription(
        cluster, given["group"], topics, terms, commit_every_s=every_s, session_timeout_ms=session_ms
    ) as subscription:
        subscription.told = None if given["quiet"] else _assigned(given["group"])
        return print_all(
            subscription, template, Limits(given["most"]), finished=lambda: False, ends={}, read=subscription.read
        )


def _assigned(group: str) -> Any:
    def told(member_id: str, partitions: tuple[TopicPartition, ...]) -> None:
        listed = ", ".join(f"{topic} [{index}]" for topic, index in partitions)
        click.echo(f"% Group {group} rebalanced (memberid {member_id}): assigned: {listed}", err=True)

    return told
