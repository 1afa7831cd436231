"""`kafpy topic create`."""

import click

from kafpy.cli.options import bootstrap_option
from kafpy.cli.session import session
from kafpy.cli.topic_names import dry_run_option, refuse, replica_assignment, required, topic_options
from kafpy.client.settings import ClientSettings
from kafpy.client.topics import NewTopic, Topics
from kafpy.metadata.topic_name import has_collision_characters
from kafpy.protocol.errors import ErrorCode

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)


@click.command()
@bootstrap_option
@topic_options
@click.option("--partitions", "-p", type=int, help="How many; the broker's num.partitions if not given.")
@click.option("--replication-factor", "-r", type=int, help="The broker's default if not given.")
@click.option("--replica-assignment", "assignment", metavar="1:2,2:3", help="Brokers of each partition's replicas.")
@click.option("--config", "-c", "configs", multiple=True, metavar="KEY=VALUE", help="A topic config. Repeatable.")
@click.option("--if-not-exists", is_flag=True, help="No error when the topic is there already.")
@dry_run_option
def create(
    bootstrap: ClientSettings,
    names: tuple[str, ...],
    flags: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    assignment: str | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    dry_run: bool,
) -> None:
    """Create topics."""
    given = tuple(dict(map(_config, configs)).items())
    wanted = required(names, flags)
    if assignment is not None and (partitions is not None or replication_factor is not None):
        raise click.UsageError("--replica-assignment excludes --partitions and --replication-factor")
    for name in wanted:
        if has_collision_characters(name):
            click.echo(COLLISION_WARNING)
    replicas = () if assignment is None else replica_assignment(assignment)
    if replication_factor is not None and not 1 <= replication_factor <= 32767:
        refuse("The replication factor must be between 1 and 32767 inclusive")
    if partitions is not None and partitions < 1:
        refuse("The partitions must be greater than 0")
    topics = [NewTopic(name, partitions or -1, replication_factor or -1, given, replicas) for name in wanted]
    with session(bootstrap) as cluster:
        outcomes = Topics(cluster).create(topics, validate_only=dry_run)
    failed = []
    for each in sorted(outcomes, key=lambda outcome: wanted.index(outcome.name)):
        if not each.code:
            click.echo(f"Created topic {each.name}." if not dry_run else f"Topic {each.name} could be created.")
        elif not (each.code == ErrorCode.TOPIC_ALREADY_EXISTS and if_not_exists):
            failed.append(each.message)
    if failed:
        refuse("; ".join(failed))


def _config(text: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        refuse('requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".')
    return key, value
