"""Runs a tool of Kafka's by its name: `python -m kafpy.cli.kafka.run kafka-topics --list`.

A tool is a command that has Kafka's flags already, or one whose verbs are flags (`--create`) and run as
kafpy's. Wrong usage ends with status 1, as Kafka's tools end.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

import click

from kafpy.cli.main import cli, fail
from kafpy.cli.session import Refusal

Path = tuple[str, ...]
"""Words after `kafpy`."""


class Tool(NamedTuple):
    path: Path = ()
    module: str = ""
    """Of a command of its own, where there is no path."""
    verbs: Mapping[str, Path] = {}
    """By flag, below the path; what stands after the verb's name is added to what was given."""
    errors_on_stdout: bool = False


TOOLS = {
    "kafka-topics": Tool(
        ("topic",),
        verbs={
            "--list": ("list",),
            "--describe": ("describe",),
            "--create": ("create",),
            "--alter": ("alter",),
            "--delete": ("delete",),
        },
        errors_on_stdout=True,
    ),
    "kafka-configs": Tool(module="kafpy.cli.kafka.configs"),
    "kafka-consumer-groups": Tool(
        ("group",),
        verbs={
            "--list": ("list",),
            "--describe": ("describe", "--no-lag-time"),
            "--delete": ("delete",),
            "--reset-offsets": ("reset",),
            "--delete-offsets": ("offsets", "--delete", "--execute"),
        },
    ),
    "kafka-console-producer": Tool(("produce",)),
    "kafka-console-consumer": Tool(("consume",)),
    "kafka-get-offsets": Tool(("offsets",)),
    "kafka-delete-records": Tool(("topic", "trim")),
    "kafka-log-dirs": Tool(module="kafpy.cli.kafka.log_dirs"),
    "kafka-dump-log": Tool(("dump",)),
    "kafka-producer-perf-test": Tool(("perf", "produce")),
    "kafka-consumer-perf-test": Tool(("perf", "consume")),
    "kafka-e2e-latency": Tool(("perf", "e2e")),
    "kafka-cluster": Tool(module="kafpy.cli.kafka.cluster"),
    "kafka-broker-api-versions": Tool(("cluster", "api-versions")),
    "kafka-server-start": Tool(("serve",)),
    "kafka-storage": Tool(module="kafpy.cli.kafka.storage"),
}


def run(name: str, given: list[str]) -> int:
    """The exit status."""
    tool = TOOLS[name]
    if given == ["--version"]:
        given, tool = [], Tool(("version",))
    try:
        command, arguments = _chosen(name, tool, given)
        status = command.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.UsageError as error:
        click.echo(f"{error.format_message()}\nSee {name} --help", err=True)
        return 1
    except Refusal as refusal:
        click.echo(refusal.message, err=not tool.errors_on_stdout)
        return refusal.exit_code
    except click.ClickException as error:
        error.show()
        return 1
    except (click.Abort, KeyboardInterrupt):
        return 130
    return status if isinstance(status, int) else 0


def _chosen(name: str, tool: Tool, given: list[str]) -> tuple[click.Command, list[str]]:
    if tool.module:
        command: click.Command = import_module(tool.module).command
        return command, given
    if not tool.verbs:
        return _command(name, tool.path), given
    actions = [word for word in given if word in tool.verbs]
    if "--help" in given and not actions:
        return _command(name, tool.path), ["--help"]
    if len(actions) != 1:
        *most, last = tool.verbs
        raise click.UsageError(f"Command must include exactly one action: {', '.join(most)} or {last}")
    verb, *more = tool.verbs[actions[0]]
    rest = [word for word in given if word not in tool.verbs]
    return _command(name, (*tool.path, verb)), [*more, *rest]


def _command(name: str, path: Path) -> click.Command:
    found: click.Command | None = cli
    for word in path:
        found = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
        if found is None:
            fail(f"there is no `kafpy {' '.join(path)}`, which {name} needs")
    assert found is not None
    return found


def main() -> None:
    name = sys.argv[1].removesuffix(".sh") if len(sys.argv) > 1 else ""
    if name not in TOOLS:
        fail(f"name one of Kafka's tools: {', '.join(TOOLS)}")
    sys.exit(run(name, sys.argv[2:]))


if __name__ == "__main__":
    main()
