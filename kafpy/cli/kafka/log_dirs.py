"""kafka-log-dirs."""

import json

import click

from kafpy.cli import cluster_text
from kafpy.cli.options import bootstrap_option
from kafpy.cli.session import Refusal, session
from kafpy.client import nodes
from kafpy.client.settings import ClientSettings


@click.command("kafka-log-dirs")
@bootstrap_option
@click.option("--describe", is_flag=True, required=True)
@click.option("--topic-list", default="", metavar="topic1,topic2")
@click.option("--broker-list", default="", metavar="0,1,2")
def command(bootstrap: ClientSettings, describe: bool, topic_list: str, broker_list: str) -> None:
    """The size of every replica in every directory, as JSON."""
    words = [word for word in broker_list.split(",") if word]
    if not all(word.isdecimal() for word in words):
        raise click.UsageError(f"--broker-list {broker_list}: numbers with commas between them")
    asked = sorted(set(map(int, words)))
    with session(bootstrap) as cluster:
        there = [each.node_id for each in nodes.cluster_info(cluster).nodes]
        missing = [each for each in asked if each not in there]
        if missing:
            raise Refusal(
                f"ERROR: The given brokers do not exist from --broker-list: {_joined(missing)}. "
                f"Current existent brokers: {_joined(there)}"
            )
        click.echo("Querying brokers for log directories information")
        found = {node_id: nodes.log_dirs(cluster, node_id) for node_id in asked or there}
    click.echo(f"Received log directory information from brokers {_joined(list(found))}")
    topics = {word for word in topic_list.split(",") if word}
    click.echo(json.dumps(cluster_text.log_dirs_data(found, topics), separators=(",", ":"), ensure_ascii=False))


def _joined(ids: list[int]) -> str:
    return ",".join(map(str, ids))
