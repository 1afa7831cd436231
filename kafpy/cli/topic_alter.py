"""`kafpy topic alter`, `add-partitions` and `delete`."""

import click

from kafpy.cli.options import bootstrap_option
from kafpy.cli.session import session
from kafpy.cli.topic_names import (
    dry_run_option,
    exclude_internal_option,
    expected,
    if_exists_option,
    matching,
    replica_assignment,
    required,
    settle,
    topic_options,
)
from kafpy.client.settings import ClientSettings
from kafpy.client.topics import Topics


@click.command()
@bootstrap_option
@topic_options
@click.option("--partitions", "-p", type=int, required=True, help="How many there are to be.")
@click.option("--replica-assignment", "assignment", metavar="1:2,2:3", help="Brokers of all partitions' replicas.")
@if_exists_option
@exclude_internal_option
@dry_run_option
def alter(
    bootstrap: ClientSettings,
    names: tuple[str, ...],
    flags: tuple[str, ...],
    partitions: int,
    assignment: str | None,
    if_exists: bool,
    exclude_internal: bool,
    dry_run: bool,
) -> None:
    """Give topics more partitions. Records with keys may go to other partitions than before.

    Configs are changed with `kafpy config set topic NAME KEY=VALUE`.
    """
    patterns = required(names, flags)
    replicas = None if assignment is None else replica_assignment(assignment)
    with session(bootstrap) as cluster:
        topics = matching(Topics(cluster).all(), patterns, exclude_internal=exclude_internal)
        expected(topics, patterns, if_exists)
        counts = {each.name: partitions for each in topics}
        new = {each.name: replicas[len(each.partitions) :] for each in topics} if replicas is not None else {}
        settle(Topics(cluster).grow(counts, new, validate_only=dry_run) if counts else [])
    if dry_run:
        _say_counts(counts)


@click.command("add-partitions")
@bootstrap_option
@topic_options
@click.option("--num", "-n", "more", type=click.IntRange(1), required=True, help="How many to add.")
@dry_run_option
def add_partitions(
    bootstrap: ClientSettings, names: tuple[str, ...], flags: tuple[str, ...], more: int, dry_run: bool
) -> None:
    """Add so many partitions to each topic. Records with keys may go to other partitions than before."""
    patterns = required(names, flags)
    with session(bootstrap) as cluster:
        topics = matching(Topics(cluster).all(), patterns)
        expected(topics, patterns, if_exists=False)
        counts = {each.name: len(each.partitions) + more for each in topics}
        settle(Topics(cluster).grow(counts, {}, validate_only=dry_run))
    _say_counts(counts, "has" if not dry_run else "would have")


def _say_counts(counts: dict[str, int], verb: str = "would have") -> None:
    for name, count in counts.items():
        click.echo(f"Topic {name} {verb} {count} partitions.")


@click.command()
@bootstrap_option
@topic_options
@if_exists_option
@dry_run_option
def delete(
    bootstrap: ClientSettings, names: tuple[str, ...], flags: tuple[str, ...], if_exists: bool, dry_run: bool
) -> None:
    """Delete topics: those that the names match as regular expressions."""
    patterns = required(names, flags)
    with session(bootstrap) as cluster:
        topics = matching(Topics(cluster).all(), patterns)
        expected(topics, patterns, if_exists)
        doomed = [each.name for each in topics]
        if dry_run:
            for name in doomed:
                click.echo(f"Topic {name} would be deleted.")
        elif doomed:
            settle(Topics(cluster).delete(doomed))
