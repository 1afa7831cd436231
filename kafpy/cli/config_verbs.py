"""`kafpy config get`, `set`, `unset` and `list`.

An entity is a type and a name: `topic orders`, `broker 1`, `user alice client billing`; the name `default` stands for
the default of brokers, users, clients and ips.
"""

from typing import Any

import click

from kafpy.cli import config_entity
from kafpy.cli.config_entity import DEFAULT, Entity
from kafpy.cli.java_text import double_text
from kafpy.cli.main import fail
from kafpy.cli.options import bootstrap_option, format_option
from kafpy.cli.session import Refusal, session
from kafpy.client.cluster import Cluster
from kafpy.client.settings import ClientSettings

PLURALS = {
    "topic": "topics",
    "broker": "brokers",
    "group": "groups",
    "user": "users",
    "client": "clients",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "broker-logger": "broker-loggers",
}
PLURALS |= {plural: plural for plural in PLURALS.values()}
WITH_DEFAULT = {"brokers", "users", "clients", "ips"}

words_argument = click.argument("words", nargs=-1, required=True, metavar="TYPE NAME […]")


@click.command()
@bootstrap_option
@words_argument
def get(bootstrap: ClientSettings, words: tuple[str, ...]) -> None:
    """Print the value that holds for each key: kafpy config get TYPE NAME KEY…

    \b
    kafpy config get topic orders retention.ms
    kafpy config get broker 1 num.io.threads
    """
    entity, keys = _parsed(words)
    if not keys:
        raise click.UsageError("name a key, or use `kafpy config list`")
    with session(bootstrap) as cluster:
        values = {row["key"]: row["value"] for row in _rows(cluster, entity, everything=True)}
    for key in keys:
        if key not in values:
            fail(f"{' '.join(words[:2])} has no {key}; see `kafpy config list {' '.join(words[:2])} --all`")
        click.echo("" if values[key] is None else values[key])


@click.command("set")
@bootstrap_option
@words_argument
def set_(bootstrap: ClientSettings, words: tuple[str, ...]) -> None:
    """Set keys: kafpy config set TYPE NAME KEY=VALUE…

    \b
    kafpy config set topic orders retention.ms=86400000 cleanup.policy=compact,delete
    kafpy config set user default producer_byte_rate=1000000
    """
    entity, rest = _parsed(words)
    pairs = {}
    for text in rest:
        key, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{text}: not KEY=VALUE")
        pairs[key.strip()] = value.strip()
    if not pairs:
        raise click.UsageError("say what to set: KEY=VALUE…")
    _alter(bootstrap, entity, pairs, [])


@click.command()
@bootstrap_option
@words_argument
def unset(bootstrap: ClientSettings, words: tuple[str, ...]) -> None:
    """Take back what was set, so that the default holds again: kafpy config unset TYPE NAME KEY…"""
    entity, keys = _parsed(words)
    if not keys:
        raise click.UsageError("say what to take back: KEY…")
    _alter(bootstrap, entity, {}, keys)


@click.command("list")
@bootstrap_option
@click.option("--all", "everything", is_flag=True, help="What holds, not only what was set.")
@words_argument
@format_option
def list_(bootstrap: ClientSettings, everything: bool, words: tuple[str, ...], format_: str) -> None:
    """List what was set: kafpy config list TYPE [NAME]; without a name, of every entity of that type."""
    entity, rest = _parsed(words)
    if rest:
        raise click.UsageError(f"{rest[0]}: list takes no key; `kafpy config get` does")
    with session(bootstrap) as cluster:
        if format_ == "text":
            for line in config_entity.described(cluster, entity, everything=everything):
                click.echo(line)
            return
        found = _rows(cluster, entity, everything=everything)
    from kafpy.cli.output import emit

    emit(found, format_)


def _alter(bootstrap: ClientSettings, entity: Entity, add: dict[str, str], delete: list[str]) -> None:
    if len(entity.names) != len(entity.types):
        raise click.UsageError(f"name the {entity.types[-1].removesuffix('s')}")
    try:
        with session(bootstrap) as cluster:
            config_entity.alter(cluster, entity, config_entity.check_keys(add), delete)
    except Refusal as refusal:
        fail(refusal.message)
    click.echo(config_entity.altered(entity))


def _parsed(words: tuple[str, ...]) -> tuple[Entity, list[str]]:
    """The entity that the words begin with, and what comes after."""
    types: list[str] = []
    names: list[str] = []
    rest = list(words)
    while rest and rest[0] in PLURALS and (not types or (types == ["users"] and PLURALS[rest[0]] == "clients")):
        types.append(PLURALS[rest.pop(0)])
        if rest:
            name = rest.pop(0)
            names.append(DEFAULT if name == "default" and types[-1] in WITH_DEFAULT else name)
    if not types:
        raise click.UsageError(f"{words[0]}: say whose: topic, broker, group, user, client or ip, and its name")
    return Entity(tuple(types), tuple(names)), rest


def _rows(cluster: Cluster, entity: Entity, *, everything: bool) -> list[dict[str, Any]]:
    if entity.has_quotas:
        return [
            {**dict(whose), "key": key, "value": double_text(value)}
            for whose, values in config_entity.quotas(cluster, entity).items()
            for key, value in values.items()
        ]
    kind = entity.types[0]
    return [
        {"type": kind, "name": name, "key": each.name, "value": each.value, "source": each.source}
        for name in entity.names or config_entity.all_names(cluster, kind)
        for each in config_entity.resource(cluster, kind, name, everything=everything)
    ]
