"""SCRAM credentials that a cluster keeps of its users, over the wire (KIP-554). Blocking."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafpy.client.cluster import Cluster
from kafpy.client.configs import ConfigsError
from kafpy.client.security import LEAST_ITERATIONS, SCRAM_HASHES
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

MECHANISMS = dict(enumerate(SCRAM_HASHES, 1))
"""By their number on the wire."""
NUMBERS = {name: number for number, name in MECHANISMS.items()}
SALT_BYTES = 24

_TEXT = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


class CredentialError(ValueError):
    """In the words of kafka-configs."""


class Credential(NamedTuple):
    iterations: int
    password: str


def parse(mechanism: str, text: str) -> Credential:
    """`iterations=8192,password=secret`."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise CredentialError(f"Invalid credential property {mechanism.replace('-', '_')}={text}")
    iterations = int(match[1]) if match[1] and match[1] != "-1" else LEAST_ITERATIONS
    if iterations < LEAST_ITERATIONS:
        raise CredentialError(
            f"Iterations {iterations} is less than the minimum {LEAST_ITERATIONS} required for {mechanism}"
        )
    return Credential(iterations, match[2])


def described(cluster: Cluster, users: Iterable[str]) -> dict[str, list[tuple[str, int]]]:
    """Mechanisms and iterations by user; of all users when none is named. Empty where a cluster keeps none."""
    if not cluster.first.serves(api.DESCRIBE_USER_SCRAM_CREDENTIALS):
        return {}
    request = api.DESCRIBE_USER_SCRAM_CREDENTIALS.request
    asked = request(users=[request.User(name=name) for name in users])
    answer = cluster.controller().call(api.DESCRIBE_USER_SCRAM_CREDENTIALS, asked)
    if answer.error_code:
        raise ConfigsError(answer.error_code, answer.error_message)
    found = {}
    for each in answer.results:
        if each.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        if each.error_code:
            raise ConfigsError(each.error_code, each.error_message)
        kept = [(MECHANISMS.get(info.mechanism, "UNKNOWN"), info.iterations) for info in each.credential_infos]
        found[each.user] = kept
    return dict(sorted(found.items()))


def alter(cluster: Cluster, user: str, new: Mapping[str, Credential], gone: Iterable[str]) -> None:
    """By mechanism."""
    import hashlib
    import secrets

    request = api.ALTER_USER_SCRAM_CREDENTIALS.request
    upsertions = []
    for mechanism, (iterations, password) in new.items():
        salt = secrets.token_bytes(SALT_BYTES)
        salted = hashlib.pbkdf2_hmac(SCRAM_HASHES[mechanism], password.encode(), salt, iterations)
        upsertions.append(
            request.Upsertion(
                name=user, mechanism=NUMBERS[mechanism], iterations=iterations, salt=salt, salted_password=salted
            )
        )
    deletions = [request.Deletion(name=user, mechanism=NUMBERS[mechanism]) for mechanism in gone]
    asked = request(upsertions=upsertions, deletions=deletions)
    for each in cluster.controller().call(api.ALTER_USER_SCRAM_CREDENTIALS, asked).results:
        if each.error_code:
            raise ConfigsError(each.error_code, each.error_message)
