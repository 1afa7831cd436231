"""`kafpy generate command-reference`: docs/commands.md, from the commands themselves."""

from collections.abc import Iterator

import click

HEAD = """# Commands

Made by `kafpy generate command-reference`. Commands that talk to a cluster find it by, first to last: a flag, the
environment (`KAFPY_BOOTSTRAP_SERVER`), `--command-config`, the profile (`kafpy profile`), `localhost:9092`.
"""


@click.command("command-reference")
def command() -> None:
    """Print docs/commands.md: every command with its options."""
    click.echo(reference(), nl=False)


def reference() -> str:
    from kafpy.cli.main import cli

    context = cli.make_context("kafpy", [], resilient_parsing=True)
    return HEAD + "".join(_sections(cli, context, 2))


def _sections(group: click.Group, context: click.Context, level: int) -> Iterator[str]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        inner = click.Context(found, parent=context, info_name=name, max_content_width=110, terminal_width=110)
        yield f"\n{'#' * level} {inner.command_path}\n\n```\n{found.get_help(inner)}\n```\n"
        if isinstance(found, click.Group):
            yield from _sections(found, inner, level + 1)
