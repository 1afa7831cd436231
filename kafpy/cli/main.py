"""`kafpy`: the group of commands. Each command's module is imported only when it is asked for."""

import errno
import sys
from typing import NoReturn

import click

from kafpy.cli.lazy_group import lazy_group

COMMANDS = {
    "serve": ("kafpy.cli.serve", "Run a broker."),
    "produce": ("kafpy.cli.produce", "Send lines to a topic."),
    "consume": ("kafpy.cli.consume", "Print messages."),
    "cat": ("kafpy.cli.cat", "Consume, produce, list and query with kcat's letters."),
    "sql": ("kafpy.cli.sql", "Query topics with SQL."),
    "offsets": ("kafpy.cli.offsets", "Print the offsets of partitions."),
    "perf": ("kafpy.cli.perf", "Measure a broker as Kafka's performance tools do."),
    "group": ("kafpy.cli.group", "List and describe consumer groups, and change their offsets."),
    "topic": ("kafpy.cli.topic", "Create, list, describe, alter, delete, trim and analyze topics."),
    "config": ("kafpy.cli.config", "Get, set and list configs and quotas; explain settings."),
    "profile": ("kafpy.cli.profile", "Name clusters, and choose one for the other commands."),
    "bench": ("kafpy.cli.bench", "Measure brokers, and compare them."),
    "cluster": ("kafpy.cli.cluster", "What a cluster is, whether it is well, where its data lies."),
    "dump": ("kafpy.cli.dump", "Print what is in a broker's files: segments, indexes, snapshots, checkpoints."),
    "doctor": ("kafpy.cli.doctor", "Tell why a client cannot connect."),
    "generate": ("kafpy.cli.generate", "Scripts with Kafka's names, references and a dashboard."),
    "completion": ("kafpy.cli.completion", "Print what makes a shell complete kafpy's commands."),
    "version": ("kafpy.cli.version", "Print the version."),
}

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from kafpy import __version__

        click.echo(f"kafpy {__version__}")
        ctx.exit()


@click.group(cls=lazy_group(COMMANDS), context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli() -> None:
    """A Kafka broker in Python with a compiled core, and its tools.

    \b
    kafpy serve                                  a broker on localhost:9092
    kafpy topic create orders --partitions 3     a topic on it
    """


def main() -> None:
    try:
        cli(prog_name="kafpy")
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        fail(f"cannot write the output: {error.strerror}")


def fail(message: str) -> NoReturn:
    """One line on stderr, exit status 1."""
    click.echo(f"kafpy: {message}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
