"""The brokers of a cluster, their directories and what they speak, over the wire. Blocking."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.protocol import api

BROKERS, CONTROLLERS = 1, 2
"""Kinds of endpoints."""


class Node(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None
    fenced: bool


class ClusterInfo(NamedTuple):
    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]


class Replica(NamedTuple):
    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


class LogDir(NamedTuple):
    path: str
    error_code: int
    total_bytes: int
    usable_bytes: int
    replicas: tuple[Replica, ...]


def cluster_info(cluster: Cluster, *, kind: int = BROKERS, fenced: bool = False) -> ClusterInfo:
    """fenced: with the brokers that are not let in (KIP-1073)."""
    request = api.DESCRIBE_CLUSTER.request
    if not cluster.first.serves(api.DESCRIBE_CLUSTER):
        found = cluster.metadata([])
        return ClusterInfo(found.cluster_id or "", found.controller_id, tuple(_node(each) for each in found.brokers))
    version = cluster.first.version(api.DESCRIBE_CLUSTER)
    if fenced and version < 2:
        raise ClientError(f"{cluster.first.address} does not tell which brokers are fenced (DescribeCluster 2)")
    answer = cluster.first.call(api.DESCRIBE_CLUSTER, request(endpoint_type=kind, include_fenced_brokers=fenced))
    if answer.error_code:
        raise ClientError(answer.error_message or error_name(answer.error_code))
    nodes = tuple(sorted(_node(each) for each in answer.brokers))
    return ClusterInfo(answer.cluster_id, answer.controller_id, nodes)


def _node(each: Any) -> Node:
    node_id = each.broker_id if hasattr(each, "broker_id") else each.node_id
    return Node(node_id, each.host, each.port, each.rack, getattr(each, "is_fenced", False))


def log_dirs(cluster: Cluster, node_id: int) -> list[LogDir]:
    return log_dirs_of(cluster.broker(node_id))


def log_dirs_of(broker: Connection) -> list[LogDir]:
    answer = broker.call(api.DESCRIBE_LOG_DIRS, api.DESCRIBE_LOG_DIRS.request(topics=None))
    if answer.error_code:
        raise ClientError(f"{broker.address} does not tell its directories: {error_name(answer.error_code)}")
    return sorted(
        LogDir(
            each.log_dir, each.error_code, each.total_bytes, each.usable_bytes, tuple(sorted(_replicas(each.topics)))
        )
        for each in answer.results
    )


def _replicas(topics: Iterable[Any]) -> Iterable[Replica]:
    for topic in topics:
        for part in topic.partitions:
            yield Replica(topic.name, part.partition_index, part.partition_size, part.offset_lag, part.is_future_key)
