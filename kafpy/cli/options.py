"""Options that many commands share: where the cluster is and how to talk to it; how long to wait; how to print.

What counts, first to last: a flag, --command-property, the environment, --command-config, the profile, localhost:9092.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from kafpy.client.settings import DEFAULT_BOOTSTRAP, ClientSettings

F = TypeVar("F", bound=Callable[..., Any])


def bootstrap_option(function: F) -> F:
    """--bootstrap-server, --command-config and --profile; the command gets `bootstrap`, all of them together."""

    @wraps(function)
    def told(bootstrap: str | None, command_config: Path | None, profile: str | None, **others: Any) -> Any:
        return function(bootstrap=connection_settings(bootstrap, command_config, profile), **others)

    return _connection(told, "--command-config")  # type: ignore[return-value]


def client_option(older_config: str, older_property: str) -> Callable[[F], F]:
    """The same for producers and consumers: --command-property besides, and the older names of Kafka's tools."""

    def decorated(function: F) -> F:
        @wraps(function)
        def told(
            bootstrap: str | None,
            command_config: Path | None,
            command_property: tuple[str, ...],
            profile: str | None,
            **others: Any,
        ) -> Any:
            settings = connection_settings(bootstrap, command_config, profile)
            return function(bootstrap=with_pairs(settings, command_property, "--command-property"), **others)

        with_properties = click.option(
            "--command-property",
            older_property,
            "command_property",
            multiple=True,
            metavar="KEY=VALUE",
            help="One such property, over the file. Repeatable.",
        )(told)
        return _connection(with_properties, "--command-config", older_config)  # type: ignore[return-value]

    return decorated


def _connection(function: Callable[..., Any], *config_names: str) -> Callable[..., Any]:
    for option in (
        click.option(
            "--profile", envvar="KAFPY_PROFILE", show_envvar=True, metavar="NAME", help="See `kafpy profile`."
        ),
        click.option(
            *config_names,
            "command_config",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Properties of a Kafka client: bootstrap.servers, security.protocol, ssl.*, sasl.* …",
        ),
        click.option(
            "--bootstrap-server",
            "-b",
            "bootstrap",
            envvar="KAFPY_BOOTSTRAP_SERVER",
            show_envvar=True,
            metavar="HOST:PORT,…",
            help=f"Brokers to ask first.  [default: {DEFAULT_BOOTSTRAP}]",
        ),
    ):
        function = option(function)
    return function


def timeout_option(function: F) -> F:
    return click.option(
        "--timeout", "timeout_ms", type=click.IntRange(1), default=30_000, show_default=True, help="In milliseconds."
    )(function)


format_option = click.option(
    "--format", "format_", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True
)


def connection_settings(bootstrap: str | None, command_config: Path | None, profile: str | None) -> ClientSettings:
    """Of these and the profile; ends the command where they cannot be."""
    from kafpy.cli import profiles
    from kafpy.cli.main import fail
    from kafpy.client import settings
    from kafpy.client.security import SettingsError

    try:
        properties = profiles.chosen(profile)
        if command_config is not None:
            properties |= read_properties(command_config)
        told = settings.from_properties(properties)
    except SettingsError as error:
        fail(str(error))
    return told if bootstrap is None else told._replace(bootstrap=bootstrap)


def with_pairs(settings: ClientSettings, given: Iterable[str], option: str) -> ClientSettings:
    """With KEY=VALUE words over them; a --bootstrap-server on the command line still comes first."""
    from kafpy.cli.main import fail
    from kafpy.client.security import SettingsError

    pairs = read_pairs(given, option)
    context = click.get_current_context()
    if context.get_parameter_source("bootstrap") is ParameterSource.COMMANDLINE:
        pairs.pop("bootstrap.servers", None)
    try:
        return settings.with_properties(pairs)
    except SettingsError as error:
        fail(str(error))


def with_file(settings: ClientSettings, path: Path) -> ClientSettings:
    """With the properties of a file over them."""
    from kafpy.cli.main import fail
    from kafpy.client.security import SettingsError

    try:
        return settings.with_properties(read_properties(path))._replace(bootstrap=settings.bootstrap)
    except SettingsError as error:
        fail(str(error))


def read_properties(path: Path) -> dict[str, str]:
    from kafpy.broker import properties
    from kafpy.client.security import SettingsError

    try:
        return {each.key: each.value for each in properties.parse(path.read_text("utf-8"))}
    except properties.PropertiesError as error:
        raise SettingsError(f"{path}: line {error.line}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}") from None


def read_pairs(given: Iterable[str], option: str) -> dict[str, str]:
    found = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{option} {word}: not KEY=VALUE")
        found[key] = value
    return found
