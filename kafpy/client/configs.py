"""Configs of topics, brokers and groups, and clients' quotas, over the wire. Blocking."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.protocol import api

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""Types of resources (ConfigResource.Type)."""
SOURCES = {
    0: "UNKNOWN",
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
SET, DELETE, APPEND, SUBTRACT = range(4)

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Entity types (user, client-id, ip) with names; None: the default of that type."""


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: str


class Config(NamedTuple):
    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool
    synonyms: tuple[Synonym, ...]

    @property
    def is_default(self) -> bool:
        return self.source == "DEFAULT_CONFIG"


class ConfigsError(ClientError):
    """In the broker's words."""

    def __init__(self, code: int, message: str | None) -> None:
        super().__init__(message or error_name(code))
        self.code = code


class Configs:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def describe(self, kind: int, names: Iterable[str], *, synonyms: bool = False) -> dict[str, list[Config]]:
        request = api.DESCRIBE_CONFIGS.request
        found: dict[str, list[Config]] = {}
        for asked_of, some in self._by_broker(kind, names):
            listed = [
                request.Resource(resource_type=kind, resource_name=name, configuration_keys=None) for name in some
            ]
            asked = request(resources=listed, include_synonyms=synonyms)
            for each in asked_of.call(api.DESCRIBE_CONFIGS, asked).results:
                if each.error_code:
                    raise ConfigsError(each.error_code, each.error_message)
                found[each.resource_name] = [_config(config) for config in each.configs]
        return found

    def alter(
        self, kind: int, name: str, operations: Sequence[tuple[str, int, str | None]], *, check: bool = False
    ) -> None:
        """operations: key, SET, DELETE, APPEND or SUBTRACT, value. check: nothing is changed."""
        request = api.INCREMENTAL_ALTER_CONFIGS.request
        configs = [request.Config(name=key, config_operation=how, value=value) for key, how, value in operations]
        resource = request.Resource(resource_type=kind, resource_name=name, configs=configs)
        ((asked_of, _),) = self._by_broker(kind, [name])
        answer = asked_of.call(api.INCREMENTAL_ALTER_CONFIGS, request(resources=[resource], validate_only=check))
        for each in answer.responses:
            if each.error_code:
                raise ConfigsError(each.error_code, each.error_message)

    def listed(self, kind: int) -> list[str]:
        """Names of the resources of a type that have configs of their own."""
        request = api.LIST_CONFIG_RESOURCES.request
        answer = self._cluster.first.call(api.LIST_CONFIG_RESOURCES, request(resource_types=[kind]))
        if answer.error_code:
            raise ConfigsError(answer.error_code, None)
        return sorted(each.resource_name for each in answer.config_resources if each.resource_type == kind)

    def quotas(
        self, components: Sequence[tuple[str, int, str | None]], *, strict: bool
    ) -> dict[QuotaEntity, dict[str, float]]:
        """components: entity type, 0 for this name, 1 for the default, 2 for any, name."""
        request = api.DESCRIBE_CLIENT_QUOTAS.request
        parts = [request.Component(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
        answer = self._cluster.first.call(api.DESCRIBE_CLIENT_QUOTAS, request(components=parts, strict=strict))
        if answer.error_code:
            raise ConfigsError(answer.error_code, answer.error_message)
        return {
            tuple((part.entity_type, part.entity_name) for part in each.entity): {
                value.key: value.value for value in each.values
            }
            for each in answer.entries or []
        }

    def alter_quotas(self, entity: QuotaEntity, changes: Mapping[str, float | None]) -> None:
        """None takes a quota away."""
        request = api.ALTER_CLIENT_QUOTAS.request
        named = [request.Entity(entity_type=kind, entity_name=name) for kind, name in entity]
        ops = [request.Op(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()]
        asked = request(entries=[request.Entry(entity=named, ops=ops)])
        for each in self._cluster.controller().call(api.ALTER_CLIENT_QUOTAS, asked).entries:
            if each.error_code:
                raise ConfigsError(each.error_code, each.error_message)

    def _by_broker(self, kind: int, names: Iterable[str]) -> list[tuple[Connection, list[str]]]:
        """A broker is asked about itself; whoever was found first is asked about everything else."""
        if kind not in (BROKER, BROKER_LOGGER):
            return [(self._cluster.first, list(names))]
        return [(self._cluster.broker(int(name)) if name else self._cluster.first, [name]) for name in names]


def _config(each: Any) -> Config:
    synonyms = tuple(Synonym(one.name, one.value, SOURCES.get(one.source, "UNKNOWN")) for one in each.synonyms)
    source = SOURCES.get(each.config_source, "UNKNOWN")
    return Config(each.name, each.value, source, each.read_only, each.is_sensitive, synonyms)
