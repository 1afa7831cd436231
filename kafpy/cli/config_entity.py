"""Whose configs: topics, brokers, groups … (resources) and users, clients, ips (quotas), as kafka-configs names them.

Everything here speaks as kafka-configs does: its lines, its words for what is wrong.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafpy.cli.java_text import double_text, map_order
from kafpy.cli.session import Refusal
from kafpy.client import configs, scram_users
from kafpy.client.cluster import Cluster
from kafpy.client.configs import Config, Configs, QuotaEntity
from kafpy.client.groups import Groups
from kafpy.client.security import SCRAM_HASHES

RESOURCES = {
    "topics": (configs.TOPIC, "DYNAMIC_TOPIC_CONFIG"),
    "brokers": (configs.BROKER, "DYNAMIC_BROKER_CONFIG"),
    "broker-loggers": (configs.BROKER_LOGGER, None),
    "client-metrics": (configs.CLIENT_METRICS, "DYNAMIC_CLIENT_METRICS_CONFIG"),
    "groups": (configs.GROUP, "DYNAMIC_GROUP_CONFIG"),
}
"""By type: the resource's number, and the source of what was set for it."""
QUOTAS = {"users": "user", "clients": "client-id", "ips": "ip"}
TYPES = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
DEFAULT = ""
CLIENT_KEYS = {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
IP_KEYS = {"connection_creation_rate"}

EXACT, THE_DEFAULT, ANY = range(3)
_TITLES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


class Entity(NamedTuple):
    """types: one of TYPES, or users with clients. names: as many or fewer; DEFAULT is the default of its type."""

    types: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def has_quotas(self) -> bool:
        return self.types[0] in QUOTAS


def parse_pairs(text: str) -> dict[str, str]:
    """`k1=v1,k2=[v1,v2],k3=`."""
    pairs = [re.split(r"\s*=\s*", pair, maxsplit=1) for pair in re.split(r",(?=[^\]]*(?:\[|$))", text) if pair]
    if not all(len(pair) == 2 for pair in pairs):
        raise Refusal(
            'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val" or '
            ' "key=[val1,val2]" to group values which contain commas.'
        )
    return check_keys({key.strip(): value.replace("[", "").replace("]", "").strip() for key, value in pairs})


def check_keys(pairs: dict[str, str]) -> dict[str, str]:
    for key in pairs:
        if not re.fullmatch(r"[a-zA-Z0-9._-]*", key):
            raise Refusal(f"Invalid character found for config key: {key}")
    return pairs


def alter(cluster: Cluster, entity: Entity, add: Mapping[str, str], delete: Sequence[str]) -> None:
    if entity.has_quotas:
        _alter_quotas(cluster, entity, add, delete)
        return
    kind, _ = RESOURCES[entity.types[0]]
    operations = [(key, configs.SET, value) for key, value in add.items()]
    operations += [(key, configs.DELETE, "") for key in delete]
    Configs(cluster).alter(kind, entity.names[0], operations)


def altered(entity: Entity) -> str:
    """What kafka-configs says when it is done."""
    kind, name = entity.types[0], entity.names[0]
    if name == DEFAULT:
        return f"Completed updating default config for {kind} in the cluster."
    return f"Completed updating config for {kind[:-1]} {name}."


def _alter_quotas(cluster: Cluster, entity: Entity, add: Mapping[str, str], delete: Sequence[str]) -> None:
    if entity.types == ("users",) and SCRAM_HASHES.keys() & {*add, *delete}:
        _alter_credentials(cluster, entity.names[0], add, delete)
        return
    known = IP_KEYS if entity.types[0] == "ips" else CLIENT_KEYS
    _expect_known(entity, [key for key in add if key not in known], "added", "Set({})")
    _expect_known(entity, [key for key in delete if key not in known], "deleted", "ArrayBuffer({})")
    changes: dict[str, float | None] = {}
    for key, value in add.items():
        try:
            changes[key] = float(value)
        except ValueError:
            raise Refusal(f"Cannot parse quota configuration value for {key}: {value}") from None
    if delete:
        found = Configs(cluster).quotas(_components(entity), strict=True)
        there = next(iter(found.values()), {})
        gone = [key for key in delete if key not in there]
        if gone:
            raise Refusal(f"Invalid config(s): {','.join(gone)}")
        changes |= dict.fromkeys(delete)
    named = tuple((QUOTAS[kind], name or None) for kind, name in zip(entity.types, entity.names, strict=True))
    Configs(cluster).alter_quotas(named, changes)


def _alter_credentials(cluster: Cluster, user: str, add: Mapping[str, str], delete: Sequence[str]) -> None:
    unknown = {key: key not in SCRAM_HASHES and key not in CLIENT_KEYS for key in (*add, *delete)}
    if any(unknown.values()):
        names = ", ".join(key for key, is_so in unknown.items() if is_so)
        raise Refusal(
            "Only quota and SCRAM credential configs can be added for 'users' using --bootstrap-server. "
            f"Unexpected config names: Set({names})"
        )
    if user == DEFAULT:
        raise Refusal(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    if CLIENT_KEYS & {*add, *delete}:
        raise Refusal(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )
    try:
        new = {mechanism: scram_users.parse(mechanism, text) for mechanism, text in add.items()}
    except scram_users.CredentialError as error:
        raise Refusal(str(error)) from None
    scram_users.alter(cluster, user, new, delete)


def _expect_known(entity: Entity, unknown: Sequence[str], verb: str, listed: str) -> None:
    if not unknown:
        return
    names = ", ".join(unknown)
    if entity.types[0] == "ips":
        raise Refusal(
            f"Only connection quota configs can be added for 'ips' using --bootstrap-server. "
            f"Unexpected config names: {','.join(unknown)}"
        )
    if entity.types == ("users",):
        kinds, whose = "quota and SCRAM credential", "users"
    else:
        kinds, whose = "quota", "clients"
    raise Refusal(
        f"Only {kinds} configs can be {verb} for '{whose}' using --bootstrap-server. "
        f"Unexpected config names: {listed.format(names)}"
    )


def _components(entity: Entity) -> list[tuple[str, int, str | None]]:
    found: list[tuple[str, int, str | None]] = []
    for at, kind in enumerate(entity.types):
        name = entity.names[at] if at < len(entity.names) else None
        how = ANY if name is None else THE_DEFAULT if name == DEFAULT else EXACT
        found.append((QUOTAS[kind], how, name or None))
    return found


def quotas(cluster: Cluster, entity: Entity) -> dict[QuotaEntity, dict[str, float]]:
    return Configs(cluster).quotas(_components(entity), strict=True)


def resource(cluster: Cluster, kind: str, name: str, *, everything: bool) -> list[Config]:
    """What was set for it; everything: what holds for it."""
    number, source = RESOURCES[kind]
    if kind == "brokers" and name == DEFAULT:
        source = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    found = Configs(cluster).describe(number, [name], synonyms=True)[name]
    kept = [each for each in found if everything or source is None or each.source == source]
    return sorted(kept, key=lambda each: each.name)


def described(cluster: Cluster, entity: Entity, *, everything: bool) -> Iterator[str]:
    """kafka-configs --describe, line by line."""
    if entity.has_quotas:
        for each, values in sorted(quotas(cluster, entity).items(), key=lambda item: _order(item[0])):
            yield f"Quota configs for {_entity_text(each)} are {_values_text(values)}"
        if entity.types == ("users",) and DEFAULT not in entity.names:
            for user, found in scram_users.described(cluster, entity.names).items():
                kept = ", ".join(f"{mechanism}=iterations={iterations}" for mechanism, iterations in found)
                yield f"SCRAM credential configs for user-principal '{user}' are {kept}"
        return
    kind = entity.types[0]
    for name in entity.names or all_names(cluster, kind):
        if entity.names and not _exists(cluster, kind, name):
            yield f"The {kind[:-1]} '{name}' doesn't exist and doesn't have dynamic config."
            continue
        if name == DEFAULT:
            yield f"Default configs for {kind} in the cluster are:"
        else:
            yield f"{'All' if everything else 'Dynamic'} configs for {kind[:-1]} {name} are:"
        for config in resource(cluster, kind, name, everything=everything):
            yield f"  {_config_text(config)}"


def all_names(cluster: Cluster, kind: str) -> list[str]:
    if kind == "topics":
        return sorted(each.name for each in cluster.metadata().topics)
    if kind in ("brokers", "broker-loggers"):
        return [*(str(each.node_id) for each in cluster.metadata([]).brokers), DEFAULT]
    if kind == "groups":
        return sorted({*Configs(cluster).listed(configs.GROUP), *(each.group_id for each in Groups(cluster).list())})
    return Configs(cluster).listed(configs.CLIENT_METRICS)


def _exists(cluster: Cluster, kind: str, name: str) -> bool:
    if kind == "broker-loggers" or name == DEFAULT:
        return True
    return name in all_names(cluster, kind)


def _order(entity: QuotaEntity) -> list[tuple[bool, str]]:
    return [(name is None, name or "") for _, name in entity]


def _entity_text(entity: QuotaEntity) -> str:
    parts = dict(entity)
    words = [
        f"{title} '{parts[kind]}'" if parts[kind] is not None else f"the default {title}"
        for kind, title in _TITLES.items()
        if kind in parts
    ]
    return ", ".join(words)


def _values_text(values: Mapping[str, float]) -> str:
    return ", ".join(f"{key}={double_text(values[key])}" for key in map_order(values))


def _config_text(config: Config) -> str:
    synonyms = ", ".join(f"{one.source}:{one.name}={_null(one.value)}" for one in config.synonyms)
    sensitive = str(config.sensitive).lower()
    return f"{config.name}={_null(config.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _null(value: str | None) -> str:
    return "null" if value is None else value


def unknown_types(types: Iterable[str]) -> list[str]:
    return [each for each in types if each not in TYPES]
