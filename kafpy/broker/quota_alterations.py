"""What AlterClientQuotas asks for, checked and worked out; refusals as in Kafka (ClientQuotaControlManager)."""

import math
from collections.abc import Iterable, Mapping, Sequence

from kafpy.broker.limits import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    resolved,
)
from kafpy.metadata import MetadataError
from kafpy.metadata.client_quota import CLIENT_ID, IP, USER, Alteration, Entity, Quotas
from kafpy.protocol.errors import ErrorCode

CLIENT_KEYS = {PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE}
WHOLE = {PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, CONNECTION_CREATION_RATE}


def altered(
    quotas: Quotas, alterations: Iterable[Alteration]
) -> tuple[list[MetadataError | None], dict[Entity, Mapping[str, float]]]:
    """What becomes of each alteration, and the quotas of every entity that changes. Blocks to look host names up."""
    results: list[MetadataError | None] = []
    changed: dict[Entity, Mapping[str, float]] = {}
    seen: set[Entity] = set()
    for alteration in alterations:
        try:
            entity = _entity(alteration.names)
            if entity in seen:
                raise _invalid(f"Ignoring duplicate entity {dict(entity)}")
            seen.add(entity)
            changed[entity] = _values(entity, quotas.get(entity, {}), alteration.values)
            results.append(None)
        except MetadataError as error:
            results.append(error)
    return results, changed


def _entity(names: Iterable[tuple[str, str | None]]) -> Entity:
    seen: dict[str, str | None] = {}
    for kind, name in names:
        if kind in seen:
            raise _invalid(f"Invalid empty client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        seen[kind] = name
    if not seen or (IP in seen and len(seen) > 1):
        raise _invalid("Invalid empty client quota entity")
    address = seen.get(IP)
    if address is not None and not resolved(address):
        raise _invalid(f"{address} is not a valid IP or resolvable host.")
    return tuple(sorted(seen.items()))


def _values(
    entity: Entity, current: Mapping[str, float], given: Sequence[tuple[str, float | None]]
) -> Mapping[str, float]:
    values = dict(current)
    for key, value in given:
        if sum(key == other for other, _ in given) > 1:
            raise _invalid(f"Duplicate quota key {key} not updating quota for this entity {dict(entity)}")
        if value is None:
            values.pop(key, None)
        else:
            _check(entity, key, value)
            values[key] = value
    return values


def _check(entity: Entity, key: str, value: float) -> None:
    """A bound of nothing at all is refused, unlike in Kafka: there it stops clients for as long as it is set."""
    keys = {CONNECTION_CREATION_RATE} if entity[0][0] == IP else CLIENT_KEYS
    if key not in keys:
        raise _invalid(f"Invalid configuration key {key}")
    if not math.isfinite(value) or value <= 0:
        raise _invalid(f"Configuration {key} must be a number above 0; remove it to have no limit")
    if key in WHOLE and abs(round(value) - value) > 1e-6:
        raise _invalid(f"Configuration {key} must be a Long value")


def _invalid(message: str) -> MetadataError:
    return MetadataError(ErrorCode.INVALID_REQUEST, message)
