"""`kafpy profile`: clusters by name, and which one commands talk to when they are not told."""

from pathlib import Path

import click

from kafpy.cli import profiles
from kafpy.cli.main import fail
from kafpy.cli.options import read_properties
from kafpy.cli.profiles import Profiles, Properties
from kafpy.client import settings
from kafpy.client.security import SettingsError

SECRET = ("password", "jaas.config", "keystore.key")
HIDDEN = "(hidden; --secrets shows it)"


@click.group("profile")
def command() -> None:
    """Name clusters, with their security and defaults, and choose the one that other commands talk to.

    \b
    kafpy profile create test -b broker1:9092,broker2:9092 --set client.id=me
    kafpy profile use test
    kafpy topic list --profile test              for one command; or KAFPY_PROFILE=test

    A profile holds properties of Kafka's clients. They count less than a flag, KAFPY_BOOTSTRAP_SERVER and
    --command-config.
    """


@command.command()
@click.argument("name")
@click.option("--bootstrap-server", "-b", "bootstrap", metavar="HOST:PORT,…", help="Its brokers.")
@click.option("--from-file", type=click.Path(exists=True, dir_okay=False), help="A Kafka client's properties file.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A client's property. Repeatable.")
@click.option("--force", is_flag=True, help="In place of the one of that name.")
@click.option("--no-use", is_flag=True, help="Do not make it the current one.")
def create(
    name: str, bootstrap: str | None, from_file: str | None, pairs: tuple[str, ...], force: bool, no_use: bool
) -> None:
    """Make a profile, and use it from now on."""
    found = _read()
    if name in found.named and not force:
        fail(f"there is a profile {name!r} already; --force puts this one in its place")
    try:
        properties = _given(bootstrap, from_file, pairs)
        settings.from_properties(properties)
    except SettingsError as error:
        fail(str(error))
    named = {**found.named, name: properties}
    _write(Profiles(found.current if no_use else name, named))
    click.echo(f"Created profile {name}.")


def _given(bootstrap: str | None, from_file: str | None, pairs: tuple[str, ...]) -> Properties:
    properties = {} if from_file is None else read_properties(Path(from_file))
    for text in pairs:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"--set {text}: not KEY=VALUE")
        properties[key.strip()] = value.strip()
    if bootstrap is not None:
        properties["bootstrap.servers"] = bootstrap
    return properties


@command.command()
@click.argument("name")
def use(name: str) -> None:
    """Make a profile the current one."""
    found = _expected(name)
    _write(found._replace(current=name))
    click.echo(f"Using profile {name}.")


@command.command("list")
def list_profiles() -> None:
    """List profiles; the current one has a star."""
    found = _read()
    for name, properties in found.named.items():
        star = "*" if name == found.current else " "
        click.echo(f"{star} {name}\t{properties.get('bootstrap.servers', settings.DEFAULT_BOOTSTRAP)}")


@command.command()
@click.argument("name", required=False)
@click.option("--secrets", is_flag=True, help="Passwords too.")
def show(name: str | None, secrets: bool) -> None:
    """Show a profile, or the current one."""
    wanted = name or _read().current
    if wanted is None:
        fail("no profile is in use; make one with `kafpy profile create NAME -b HOST:PORT`")
    for key, value in _expected(wanted).named[wanted].items():
        hidden = not secrets and key.endswith(SECRET)
        click.echo(f"{key}={HIDDEN if hidden else value}")


@command.command()
def edit() -> None:
    """Open the file of profiles in $EDITOR; what it cannot be is not kept."""
    path = profiles.path()
    before = path.read_text("utf-8") if path.exists() else '[profiles.dev]\n"bootstrap.servers" = "localhost:9092"\n'
    after = click.edit(before, extension=".toml")
    if after is None or after == before:
        click.echo("Nothing was changed.")
        return
    try:
        for properties in profiles.parse(after).named.values():
            settings.from_properties(properties)
    except SettingsError as error:
        fail(f"not kept: {error}")
    profiles.replace(after)
    click.echo(f"Saved {path}.")


@command.command()
@click.argument("name")
def delete(name: str) -> None:
    """Forget a profile."""
    found = _expected(name)
    rest = {other: properties for other, properties in found.named.items() if other != name}
    _write(Profiles(None if found.current == name else found.current, rest))
    click.echo(f"Deleted profile {name}.")


def _expected(name: str) -> Profiles:
    found = _read()
    if name not in found.named:
        fail(profiles.unknown(name, found))
    return found


def _read() -> Profiles:
    try:
        return profiles.read()
    except SettingsError as error:
        fail(str(error))


def _write(found: Profiles) -> None:
    try:
        profiles.write(found)
    except OSError as error:
        fail(f"cannot write {profiles.path()}: {error.strerror}")
