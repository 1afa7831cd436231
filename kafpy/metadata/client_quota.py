"""Whom a client quota is for, and which one applies to a client (ClientQuotaEntity, ClientQuotaManager).

An entity names a user, a client id or both, or an address (`ip`); a name of None means each that has no quota of its
own. The names are clients' own words: kept as values, never part of a path or a statement.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

USER, CLIENT_ID, IP = "user", "client-id", "ip"

Entity = tuple[tuple[str, str | None], ...]
"""Types and names, in the order of types."""
Quotas = Mapping[Entity, Mapping[str, float]]


class Applied(NamedTuple):
    value: float
    shared: bool
    """The user's clients have it together; not each client id for itself."""


class Alteration(NamedTuple):
    """What is asked for; not checked."""

    names: Sequence[tuple[str, str | None]]
    values: Sequence[tuple[str, float | None]]
    """None removes one."""


def entity(names: Mapping[str, str | None]) -> Entity:
    return tuple(sorted(names.items()))


def precedence(user: str, client_id: str) -> list[Entity]:
    """The entities that a client may come under, the one that counts first."""
    both = [(user, client_id), (user, None)]
    defaults = [(None, client_id), (None, None)]
    return [
        *(entity({USER: each, CLIENT_ID: client}) for each, client in both),
        entity({USER: user}),
        *(entity({USER: each, CLIENT_ID: client}) for each, client in defaults),
        entity({USER: None}),
        entity({CLIENT_ID: client_id}),
        entity({CLIENT_ID: None}),
    ]


def applied(quotas: Quotas, user: str, client_id: str, key: str) -> Applied | None:
    for each in precedence(user, client_id):
        value = quotas.get(each, {}).get(key)
        if value is not None:
            return Applied(value, shared=all(kind != CLIENT_ID for kind, _ in each))
    return None


def named_clients(quotas: Quotas) -> set[str]:
    """Client ids that some quota names."""
    return {name for each in quotas for kind, name in each if kind == CLIENT_ID and name is not None}
