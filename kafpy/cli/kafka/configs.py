"""kafka-configs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kafpy.cli import config_entity
from kafpy.cli.config_entity import DEFAULT, TYPES, Entity
from kafpy.cli.options import bootstrap_option, read_properties
from kafpy.cli.session import Refusal, session
from kafpy.client.settings import ClientSettings

NAMED = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker_logger": "broker-loggers",
    "ip": "ips",
    "client_metrics": "client-metrics",
    "group": "groups",
}
DEFAULTS = {
    "client_defaults": "clients",
    "user_defaults": "users",
    "broker_defaults": "brokers",
    "ip_defaults": "ips",
}
WITH_DEFAULT = {"users", "clients", "brokers", "ips"}


class InOrder(click.Command):
    """--entity-name and --entity-default belong to the --entity-type of the same place."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, ["--entity-name=" if each == "--entity-default" else each for each in args])


@click.command("kafka-configs", cls=InOrder)
@bootstrap_option
@click.option("--alter", is_flag=True)
@click.option("--describe", is_flag=True)
@click.option("--all", "everything", is_flag=True, help="What holds, not only what was set.")
@click.option("--entity-type", "types", multiple=True, metavar="|".join(TYPES))
@click.option("--entity-name", "names", multiple=True)
@click.option("--entity-default", is_flag=True, expose_value=False)
@click.option("--add-config", metavar="k1=v1,k2=[v1,v2]")
@click.option("--add-config-file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--delete-config", "delete", multiple=True, metavar="k1,k2")
@click.option("--force", is_flag=True, help="Without effect: nothing is asked.")
@click.option("--topic")
@click.option("--client")
@click.option("--client-defaults", is_flag=True)
@click.option("--user")
@click.option("--user-defaults", is_flag=True)
@click.option("--broker")
@click.option("--broker-defaults", is_flag=True)
@click.option("--broker-logger")
@click.option("--ip")
@click.option("--ip-defaults", is_flag=True)
@click.option("--group")
@click.option("--client-metrics")
def command(
    bootstrap: ClientSettings,
    alter: bool,
    describe: bool,
    everything: bool,
    types: tuple[str, ...],
    names: tuple[str, ...],
    add_config: str | None,
    add_config_file: Path | None,
    delete: tuple[str, ...],
    force: bool,
    **flags: Any,
) -> None:
    """Describe and alter configs of topics, brokers, groups, users, clients and ips."""
    if alter + describe != 1:
        raise click.UsageError("Command must include exactly one action: --describe, --alter")
    short = any(flags.values())
    if short and (names or types):
        _both(types, flags)
    entity = _short(flags) if short else Entity(tuple(types), tuple(names))
    _check(entity, alter)
    if describe:
        if add_config or delete:
            raise click.UsageError('Option "[describe]" can\'t be used with --add-config and --delete-config')
        with session(bootstrap) as cluster:
            for line in config_entity.described(cluster, entity, everything=everything):
                click.echo(line)
        return
    if add_config and add_config_file:
        raise Refusal("Only one of --add-config or --add-config-file must be specified")
    if not (add_config or add_config_file or delete):
        raise Refusal(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    added = _added(add_config, add_config_file)
    doomed = [key.strip() for text in delete for key in text.split(",")]
    with session(bootstrap) as cluster:
        config_entity.alter(cluster, entity, added, doomed)
    click.echo(config_entity.altered(entity))


def _added(text: str | None, file: Path | None) -> dict[str, str]:
    if file is not None:
        return config_entity.check_keys(read_properties(file))
    return config_entity.parse_pairs(text) if text else {}


def _short(flags: Mapping[str, Any]) -> Entity:
    found = [(kind, str(flags[flag])) for flag, kind in NAMED.items() if flags[flag]]
    found += [(kind, DEFAULT) for flag, kind in DEFAULTS.items() if flags[flag]]
    return Entity(tuple(kind for kind, _ in found), tuple(name for _, name in found))


def _both(types: Sequence[str], flags: Mapping[str, Any]) -> None:
    twice = [each for each in types if each in _short(flags).types]
    if twice:
        raise Refusal(f"Duplicate entity type(s) specified: {','.join(twice)}")
    raise Refusal("--entity-{type,name,default} should not be used in conjunction with specific entity flags")


def _check(entity: Entity, alter: bool) -> None:
    types, verb = entity.types, "alter" if alter else "describe"
    if not types:
        raise Refusal("At least one entity type must be specified")
    twice = sorted({each for each in types if types.count(each) > 1})
    if twice:
        raise Refusal(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for each in config_entity.unknown_types(types):
        raise Refusal(
            f"Invalid entity type {each}, the entity type must be one of {', '.join(TYPES)} with a --bootstrap-server "
            "or --bootstrap-controller argument"
        )
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise Refusal("Only 'users' and 'clients' entity types may be specified together")
    named = [name for name in entity.names if name != DEFAULT]
    if types[0] in ("brokers", "broker-loggers"):
        for name in named:
            if not name.lstrip("-").isdecimal():
                raise Refusal(f"The entity name for {types[0]} must be a valid integer broker id, but it is: {name}")
    has_default = len(named) < len(entity.names)
    if has_default and types[0] not in WITH_DEFAULT:
        raise Refusal(f"--entity-default must not be specified with --{verb} of {','.join(types)}")
    if types[0] == "broker-loggers" and not named:
        raise Refusal(f"An entity name must be specified with --{verb} of {','.join(types)}")
    if alter:
        _check_names(entity)


def _check_names(entity: Entity) -> None:
    if not entity.names:
        if entity.types[0] in WITH_DEFAULT:
            raise Refusal(
                "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
        raise Refusal(f"An entity name must be specified with --alter of {','.join(entity.types)}")
    if len(entity.names) != len(entity.types):
        raise Refusal("An entity name must be specified for every entity type")
