"""kcat -L and -Q: what there is, and offsets by time."""

import json
from typing import Any

import click

from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError, error_name
from kafpy.client.settings import ClientSettings
from kafpy.protocol.errors import ErrorCode

TEXTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "Broker: Unknown topic or partition",
    ErrorCode.LEADER_NOT_AVAILABLE: "Broker: Leader not available",
}
"""librdkafka's words for what is seen most."""


def text_of(code: int) -> str:
    return next((text for known, text in TEXTS.items() if known == code), f"Broker: {error_name(code)}")


def list_metadata(settings: ClientSettings, given: dict[str, Any]) -> None:
    topics = given["topics"]
    with Cluster(settings, timeout_s=given["timeout_s"]) as cluster:
        answer = cluster.metadata(topics or None)
        address = cluster.first.address
    answer.topics.sort(key=lambda each: str(each.name))
    if given["json_output"]:
        click.echo(json.dumps(_as_json(answer, address, topics), separators=(",", ":")))
    else:
        click.echo("\n".join(_as_text(answer, address, topics)))


def _as_text(answer: Any, address: str, topics: tuple[str, ...]) -> list[str]:
    asked = topics[0] if len(topics) == 1 else "all topics"
    lines = [f"Metadata for {asked} (from broker -1: {address}/bootstrap):", f" {len(answer.brokers)} brokers:"]
    for broker in answer.brokers:
        controller = " (controller)" if broker.node_id == answer.controller_id else ""
        lines.append(f"  broker {broker.node_id} at {broker.host}:{broker.port}{controller}")
    lines.append(f" {len(answer.topics)} topics:")
    for topic in answer.topics:
        failed = f" {text_of(topic.error_code)}" if topic.error_code else ""
        lines.append(f'  topic "{topic.name}" with {len(topic.partitions)} partitions:{failed}')
        for each in sorted(topic.partitions, key=lambda part: int(part.partition_index)):
            failed = f", {text_of(each.error_code)}" if each.error_code else ""
            replicas, isrs = (",".join(map(str, ids)) for ids in (each.replica_nodes, each.isr_nodes))
            place = f"    partition {each.partition_index}, leader {each.leader_id}"
            lines.append(f"{place}, replicas: {replicas}, isrs: {isrs}{failed}")
    return lines


def _as_json(answer: Any, address: str, topics: tuple[str, ...]) -> dict[str, Any]:
    return {
        "originating_broker": {"id": -1, "name": f"{address}/bootstrap"},
        "query": {"topic": topics[0] if len(topics) == 1 else "*"},
        "controllerid": answer.controller_id,
        "brokers": [{"id": each.node_id, "name": f"{each.host}:{each.port}"} for each in answer.brokers],
        "topics": [
            {
                "topic": topic.name,
                **({"error": text_of(topic.error_code)} if topic.error_code else {}),
                "partitions": [
                    {
                        "partition": each.partition_index,
                        **({"error": text_of(each.error_code)} if each.error_code else {}),
                        "leader": each.leader_id,
                        "replicas": [{"id": node} for node in each.replica_nodes],
                        "isrs": [{"id": node} for node in each.isr_nodes],
                    }
                    for each in sorted(topic.partitions, key=lambda part: int(part.partition_index))
                ],
            }
            for topic in answer.topics
        ],
    }


def query(settings: ClientSettings, given: dict[str, Any]) -> None:
    asked = {}
    for word in given["topics"]:
        name, index, when = [*word.rsplit(":", 2), "", ""][:3]
        if not index.isdecimal() or not when.lstrip("-").isdecimal():
            raise click.UsageError(f"-t {word}: -Q takes TOPIC:PARTITION:MILLISECONDS")
        asked[name, int(index)] = int(when)
    with Cluster(settings, timeout_s=given["timeout_s"]) as cluster:
        for (name, index), found in cluster.list_offsets(asked).items():
            if found.error_code:
                raise ClientError(f"{name} [{index}]: {text_of(found.error_code)}")
            click.echo(f"{name} [{index}] offset {found.offset}")
