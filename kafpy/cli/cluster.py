"""`kafpy cluster`: what a cluster is, whether it is well, where its data lies, what its brokers speak."""

import sys
from typing import Any

import click

from kafpy.cli import cluster_text
from kafpy.cli.group_tables import table
from kafpy.cli.options import bootstrap_option, format_option
from kafpy.cli.session import session
from kafpy.client import nodes
from kafpy.client.connection import error_name
from kafpy.client.settings import ClientSettings
from kafpy.client.topics import Topics


@click.group("cluster")
def command() -> None:
    """What a cluster is, whether it is well, where its data lies, what its brokers speak."""


@command.command()
@bootstrap_option
@format_option
def info(bootstrap: ClientSettings, format_: str) -> None:
    """The cluster's id, its brokers and how much there is in it."""
    with session(bootstrap) as cluster:
        found = nodes.cluster_info(cluster)
        topics = Topics(cluster).all()
    partitions = [part for topic in topics for part in topic.partitions]
    if format_ != "text":
        _emit(
            {
                "cluster_id": found.cluster_id,
                "controller_id": found.controller_id,
                "brokers": [_broker(each) for each in found.nodes],
                "topics": len(topics),
                "partitions": len(partitions),
            },
            format_,
        )
        return
    click.echo(f"Cluster ID:  {found.cluster_id}")
    click.echo(f"Controller:  {found.controller_id}")
    click.echo(f"Topics:      {len(topics)} with {len(partitions)} partitions\n")
    rows = [
        [each.node_id, f"{each.host}:{each.port}", each.rack, sum(part.leader == each.node_id for part in partitions)]
        for each in found.nodes
    ]
    click.echo(table(["BROKER", "ADDRESS", "RACK", "LEADS"], [8, 20, 10, 0], rows))


def _broker(node: nodes.Node) -> dict[str, Any]:
    return {"id": node.node_id, "host": node.host, "port": node.port, "rack": node.rack}


@command.command()
@bootstrap_option
@format_option
def health(bootstrap: ClientSettings, format_: str) -> None:
    """Whether every partition has a leader and all its replicas; exit status 1 when not."""
    with session(bootstrap) as cluster:
        found = nodes.cluster_info(cluster)
        topics = Topics(cluster).all()
        failed = [
            f"{each.node_id}:{directory.path}"
            for each in found.nodes
            for directory in nodes.log_dirs(cluster, each.node_id)
            if directory.error_code
        ]
    parts = [(f"{topic.name}-{part.partition}", part) for topic in topics for part in topic.partitions]
    alive = {each.node_id for each in found.nodes}
    troubles = {
        "Nodes down": sorted({str(node) for _, part in parts for node in part.replicas if node not in alive}),
        "Leaderless partitions": [name for name, part in parts if part.leader not in alive],
        "Under-replicated partitions": [name for name, part in parts if len(part.isr) < len(part.replicas)],
        "Failed log directories": failed,
    }
    healthy = not any(troubles.values())
    if format_ != "text":
        told = {name.lower().replace(" ", "_").replace("-", "_"): names for name, names in troubles.items()}
        _emit({"healthy": healthy, "controller_id": found.controller_id, "nodes": sorted(alive), **told}, format_)
    else:
        lines = {"Healthy": str(healthy).lower(), "Controller ID": found.controller_id, "All nodes": sorted(alive)}
        lines |= {f"{name} ({len(names)})": f"[{', '.join(names)}]" for name, names in troubles.items()}
        for title, text in lines.items():
            click.echo(f"{title + ':':<33} {text}")
    if not healthy:
        sys.exit(1)


@command.command("log-dirs")
@bootstrap_option
@click.option("--broker", "brokers", multiple=True, type=int, metavar="ID", help="Only this one. Repeatable.")
@click.option("--topic", "-t", "topics", multiple=True, help="Only this one. Repeatable.")
@format_option
def log_dirs(bootstrap: ClientSettings, brokers: tuple[int, ...], topics: tuple[str, ...], format_: str) -> None:
    """Brokers' directories, their room and the size of each replica in them."""
    with session(bootstrap) as cluster:
        chosen = brokers or tuple(each.node_id for each in nodes.cluster_info(cluster).nodes)
        found = {node_id: nodes.log_dirs(cluster, node_id) for node_id in chosen}
    if format_ != "text":
        _emit(cluster_text.log_dirs_data(found, set(topics)), format_)
        return
    rows = []
    for node_id, directories in found.items():
        for each in directories:
            state = error_name(each.error_code) if each.error_code else "ok"
            kept = [replica for replica in each.replicas if not topics or replica.topic in topics]
            size = sum(replica.size for replica in kept)
            room = None if each.usable_bytes < 0 else each.usable_bytes
            rows.append([node_id, each.path, state, len(kept), size, room])
    click.echo(table(["BROKER", "DIRECTORY", "STATE", "REPLICAS", "BYTES", "USABLE-BYTES"], [8, 20, 6, 8, 15, 0], rows))


@command.command("api-versions")
@bootstrap_option
@format_option
def api_versions(bootstrap: ClientSettings, format_: str) -> None:
    """Which APIs each broker serves, and in which versions; as kafka-broker-api-versions."""
    with session(bootstrap) as cluster:
        found = {node: cluster.broker(node.node_id).api_versions for node in nodes.cluster_info(cluster).nodes}
    if format_ != "text":
        _emit([cluster_text.api_data(node, spoken) for node, spoken in found.items()], format_)
        return
    for node, spoken in found.items():
        click.echo(cluster_text.api_versions(node, spoken))


def _emit(data: Any, format_: str) -> None:
    from kafpy.cli.output import emit

    emit(data, format_)
