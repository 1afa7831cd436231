"""kafka-storage. A broker of kafpy makes its directories ready when it starts: there is nothing to format."""

import secrets

import click

from kafpy.storage.partition_folder import format_id


@click.group("kafka-storage")
def command() -> None:
    """The Kafka storage tool."""


@command.command("random-uuid")
def random_uuid() -> None:
    """Print a random UUID."""
    while (text := format_id(secrets.token_bytes(16))).startswith("-"):  # it would look like a flag
        pass
    click.echo(text)


@command.command("format", context_settings={"ignore_unknown_options": True})
@click.option("--cluster-id", "-t", help="Without effect: a broker makes its own when it first starts.")
@click.option("--config", "-c", type=click.Path(exists=True, dir_okay=False), required=True, help="Only looked for.")
@click.argument("others", nargs=-1)
def format_(cluster_id: str | None, config: str, others: tuple[str, ...]) -> None:
    """Without effect, and silent: scripts that format first go on."""
