"""kafka-cluster."""

import click

from kafpy.cli import cluster_text
from kafpy.cli.options import bootstrap_option
from kafpy.cli.session import Refusal, session
from kafpy.client import nodes
from kafpy.client.connection import error_name
from kafpy.client.settings import ClientSettings
from kafpy.protocol import api


@click.group("kafka-cluster")
def command() -> None:
    """The Kafka cluster tool."""


@command.command("cluster-id")
@bootstrap_option
def cluster_id(bootstrap: ClientSettings) -> None:
    """Get information about the ID of a cluster."""
    with session(bootstrap) as cluster:
        found = nodes.cluster_info(cluster).cluster_id
    said = f"Cluster ID: {found}" if found else "No cluster ID found. The Kafka version is probably too old."
    click.echo(said)


@command.command("list-endpoints")
@bootstrap_option
@click.option("--bootstrap-controller", metavar="HOST:PORT", help="Ask a controller for controllers.")
@click.option("--include-fenced-brokers", is_flag=True)
def list_endpoints(bootstrap: ClientSettings, bootstrap_controller: str | None, include_fenced_brokers: bool) -> None:
    """List endpoints."""
    controllers = bootstrap_controller is not None
    if controllers and include_fenced_brokers:
        raise Refusal("The option --include-fenced-brokers is only supported with --bootstrap-server option")
    where = bootstrap if bootstrap_controller is None else bootstrap._replace(bootstrap=bootstrap_controller)
    with session(where) as cluster:
        kind = nodes.CONTROLLERS if controllers else nodes.BROKERS
        found = nodes.cluster_info(cluster, kind=kind, fenced=include_fenced_brokers)
    click.echo(cluster_text.endpoints(found.nodes, controllers=controllers))


@command.command()
@bootstrap_option
@click.option("--id", "broker_id", type=int, required=True)
def unregister(bootstrap: ClientSettings, broker_id: int) -> None:
    """Unregister a broker."""
    with session(bootstrap) as cluster:
        if not cluster.first.serves(api.UNREGISTER_BROKER):
            click.echo("The target cluster does not support the broker unregistration API.")
            return
        answer = cluster.controller().call(api.UNREGISTER_BROKER, api.UNREGISTER_BROKER.request(broker_id=broker_id))
    if answer.error_code:
        raise Refusal(answer.error_message or error_name(answer.error_code))
    click.echo(f"Broker {broker_id} is no longer registered.")
