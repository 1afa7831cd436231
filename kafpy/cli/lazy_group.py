"""Groups whose commands' modules are imported only when they are asked for."""

from collections.abc import Mapping
from importlib import import_module

import click

Table = Mapping[str, tuple[str, str]]
"""By name: the module (its `command`) or module:attribute, and one line of help."""


def lazy_group(table: Table) -> type[click.Group]:
    class LazyGroup(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(table)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in table:
                return None
            module, _, attribute = table[cmd_name][0].partition(":")
            command = getattr(import_module(module), attribute or "command")
            assert isinstance(command, click.Command)
            return command

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            """With the nearest name, where there is none of this name."""
            if args and args[0] not in table and not args[0].startswith("-") and not ctx.resilient_parsing:
                from difflib import get_close_matches

                nearest = get_close_matches(args[0], table, n=1)
                hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
                ctx.fail(f"No such command {args[0]!r}.{hint}")
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            """From the table: help imports no command."""
            with formatter.section("Commands"):
                formatter.write_dl([(name, help_text) for name, (_, help_text) in table.items()])

    return LazyGroup
