"""`kafpy`: the group of commands. Each command's module is imported only when it is asked for."""

import sys
from importlib import import_module
from typing import NoReturn

import click

COMMANDS = {
    "serve": ("kafpy.cli.serve", "Run a broker."),
    "produce": ("kafpy.cli.produce", "Send lines to a topic."),
    "consume": ("kafpy.cli.consume", "Print messages."),
    "cat": ("kafpy.cli.cat", "Consume, produce, list and query with kcat's letters."),
    "offsets": ("kafpy.cli.offsets", "Print the offsets of partitions."),
    "perf": ("kafpy.cli.perf", "Measure a broker as Kafka's performance tools do."),
    "group": ("kafpy.cli.group", "List and describe consumer groups, and change their offsets."),
    "topic": ("kafpy.cli.topic", "Create, list, describe and delete topics."),
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table: `kafpy --help` imports no command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from kafpy import __version__

        click.echo(f"kafpy {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
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
    cli(prog_name="kafpy")


def fail(message: str) -> NoReturn:
    """One line on stderr, exit status 1."""
    click.echo(f"kafpy: {message}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
