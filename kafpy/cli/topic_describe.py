"""`kafpy topic list` and `kafpy topic describe`."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any

import click

from kafpy.cli.options import bootstrap_option, format_option
from kafpy.cli.session import session
from kafpy.cli.topic_names import (
    exclude_internal_option,
    expected,
    if_exists_option,
    matching,
    named,
    refuse,
    topic_options,
)
from kafpy.client.cluster import Cluster
from kafpy.client.configs import TOPIC, Config, Configs
from kafpy.client.settings import ClientSettings
from kafpy.client.topics import PARTITIONS_PER_ANSWER, Partition, Topic, Topics
from kafpy.storage.partition_folder import format_id

MIN_ISR = "min.insync.replicas"
NO_ID = bytes(16)


@click.command("list")
@bootstrap_option
@topic_options
@exclude_internal_option
@format_option
def list_topics(
    bootstrap: ClientSettings, names: tuple[str, ...], flags: tuple[str, ...], exclude_internal: bool, format_: str
) -> None:
    """List topics; with names, those that they match as regular expressions."""
    with session(bootstrap) as cluster:
        topics = matching(Topics(cluster).all(), named(names, flags), exclude_internal=exclude_internal)
    if format_ == "text":
        click.echo("\n".join(each.name for each in topics))
        return
    from kafpy.cli.output import emit

    emit([_summary(each) for each in topics], format_)


@click.command()
@bootstrap_option
@topic_options
@click.option("--topic-id", metavar="ID", help="The topic with this id, instead of by name.")
@if_exists_option
@exclude_internal_option
@click.option("--under-replicated-partitions", is_flag=True, help="Only partitions with replicas out of sync.")
@click.option("--unavailable-partitions", is_flag=True, help="Only partitions without a living leader.")
@click.option("--under-min-isr-partitions", is_flag=True, help="Only partitions below min.insync.replicas.")
@click.option("--at-min-isr-partitions", is_flag=True, help="Only partitions that are just at min.insync.replicas.")
@click.option("--topics-with-overrides", is_flag=True, help="Only topics with configs of their own, no partitions.")
@click.option(
    "--partition-size-limit-per-response",
    "limit",
    type=click.IntRange(1),
    default=PARTITIONS_PER_ANSWER,
    help="Partitions to ask for at once.",
)
@format_option
def describe(
    bootstrap: ClientSettings,
    names: tuple[str, ...],
    flags: tuple[str, ...],
    topic_id: str | None,
    if_exists: bool,
    exclude_internal: bool,
    topics_with_overrides: bool,
    limit: int,
    format_: str,
    **filters: bool,
) -> None:
    """Describe topics; with names, those that they match as regular expressions."""
    patterns = named(names, flags)
    only = {name for name, wanted in filters.items() if wanted}
    if only and topics_with_overrides:
        raise click.UsageError("--topics-with-overrides does not go with --…-partitions")
    with session(bootstrap) as cluster:
        if topic_id is not None and (wanted_id := _uuid(topic_id)) != NO_ID:
            topics = _with_id(cluster, wanted_id, topic_id, if_exists)
        else:
            listed = matching(Topics(cluster).all(), patterns, exclude_internal=exclude_internal)
            expected(listed, patterns, if_exists)
            topics = Topics(cluster).describe([each.name for each in listed], limit)
        configs = Configs(cluster).describe(TOPIC, [each.name for each in topics]) if topics else {}
        alive = {each.node_id for each in cluster.metadata([]).brokers} if only else set()
    shown = [_filtered(each, configs[each.name], only, alive) for each in topics]
    if topics_with_overrides:
        shown = [each for each in shown if any(not config.is_default for config in configs[each.name])]
    if format_ != "text":
        from kafpy.cli.output import emit

        emit([_data(each, configs[each.name]) for each in shown if each.partitions or not only], format_)
        return
    for each in shown:
        if not only:
            click.echo(_headline(each, configs[each.name]))
        if not topics_with_overrides and each.partitions:
            click.echo("\n".join(_line(each.name, part) for part in each.partitions))


def _with_id(cluster: Cluster, topic_id: bytes, text: str, if_exists: bool) -> list[Topic]:
    found = Topics(cluster).by_id(topic_id)
    if found is None and not if_exists:
        refuse(f"TopicId '{text}' does not exist as expected")
    return [] if found is None else [found]


def _uuid(text: str) -> bytes:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        refuse(f"Input string `{text}` is not base64 of a UUID")
    if len(data) != 16:
        refuse(
            f"Input string `{text}` decoded as {len(data)} bytes, which is not equal to the expected 16 bytes of a "
            "base64-encoded UUID"
        )
    return data


def _filtered(topic: Topic, configs: Iterable[Config], only: set[str], alive: set[int]) -> Topic:
    if not only:
        return topic
    least = int(next((each.value for each in configs if each.name == MIN_ISR and each.value), "1"))
    kept = tuple(part for part in topic.partitions if only & _troubles(part, least, alive))
    return topic._replace(partitions=kept)


def _troubles(part: Partition, least: int, alive: set[int]) -> set[str]:
    """The flags that show it."""
    found = {
        "under_replicated_partitions": len(part.isr) < len(part.replicas),
        "unavailable_partitions": part.leader not in alive,
        "under_min_isr_partitions": part.leader < 0 or len(part.isr) < least,
        "at_min_isr_partitions": len(part.isr) == least,
    }
    return {name for name, is_so in found.items() if is_so}


def _headline(topic: Topic, configs: Iterable[Config]) -> str:
    factor = len(topic.partitions[0].replicas) if topic.partitions else 0
    changed = ",".join(f"{each.name}={each.value}" for each in configs if not each.is_default)
    id_ = f"\tTopicId: {format_id(topic.id)}" if topic.id != NO_ID else ""
    counts = f"\tPartitionCount: {len(topic.partitions)}\tReplicationFactor: {factor}"
    return f"Topic: {topic.name}{id_}{counts}\tConfigs: {changed}"


def _line(name: str, part: Partition) -> str:
    leader = "none" if part.leader < 0 else part.leader
    return (
        f"\tTopic: {name}\tPartition: {part.partition}\tLeader: {leader}\tReplicas: {_nodes(part.replicas)}"
        f"\tIsr: {_nodes(part.isr)}\tElr: {_nodes(part.elr)}\tLastKnownElr: {_nodes(part.last_known_elr)}"
    )


def _nodes(nodes: Sequence[int] | None) -> str:
    return "N/A" if nodes is None else ",".join(map(str, nodes))


def _summary(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": format_id(topic.id),
        "internal": topic.internal,
        "partitions": len(topic.partitions),
        "replicas": len(topic.partitions[0].replicas) if topic.partitions else 0,
    }


def _data(topic: Topic, configs: Iterable[Config]) -> dict[str, Any]:
    parts = [
        {
            "partition": part.partition,
            "leader": None if part.leader < 0 else part.leader,
            "replicas": list(part.replicas),
            "isr": list(part.isr),
            "elr": None if part.elr is None else list(part.elr),
            "last_known_elr": None if part.last_known_elr is None else list(part.last_known_elr),
        }
        for part in topic.partitions
    ]
    changed = {each.name: each.value for each in configs if not each.is_default}
    return _summary(topic) | {"configs": changed, "partitions": parts}
