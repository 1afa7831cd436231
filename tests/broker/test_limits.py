"""Which quota counts for a client, what the planes are told, and the bucket of changes to topics."""

import socket

import pytest

from kafpy.broker.limits import address_rules, client_rules, resolved
from kafpy.broker.mutation_quota import MutationQuota
from kafpy.broker.setting_types import HostCounts, SettingError
from kafpy.metadata import MetadataError
from kafpy.metadata.client_quota import CLIENT_ID, USER, Applied, Entity, applied, entity

KEY = "producer_byte_rate"
ALL: list[Entity] = [
    entity({USER: "ANONYMOUS", CLIENT_ID: "app"}),
    entity({USER: "ANONYMOUS", CLIENT_ID: None}),
    entity({USER: "ANONYMOUS"}),
    entity({USER: None, CLIENT_ID: "app"}),
    entity({USER: None, CLIENT_ID: None}),
    entity({USER: None}),
    entity({CLIENT_ID: "app"}),
    entity({CLIENT_ID: None}),
]
"""As Kafka documents it, the first that is set counts."""
TOGETHER = {2, 5}


@pytest.mark.parametrize("first", range(len(ALL)))
def test_precedence(first: int) -> None:
    quotas = {each: {KEY: float(position + 1)} for position, each in enumerate(ALL) if position >= first}
    assert applied(quotas, "ANONYMOUS", "app", KEY) == Applied(first + 1.0, first in TOGETHER)
    assert applied(quotas, "ANONYMOUS", "app", "consumer_byte_rate") is None


def test_a_key_is_looked_for_on_its_own() -> None:
    quotas = {ALL[0]: {"consumer_byte_rate": 5.0}, ALL[7]: {KEY: 7.0}}
    assert applied(quotas, "ANONYMOUS", "app", KEY) == Applied(7.0, False)


def test_rules_for_the_planes() -> None:
    quotas = {ALL[7]: {KEY: 7.0}, ALL[6]: {KEY: 6.0}, ALL[2]: {"request_percentage": 50.0}}
    assert client_rules(quotas) == [
        (None, (7.0, False), (0.0, False), (50.0, True)),
        ("app", (6.0, False), (0.0, False), (50.0, True)),
    ]
    assert client_rules({ALL[2]: {"controller_mutation_rate": 1.0}}) == []
    assert client_rules({entity({USER: "someone"}): {KEY: 1.0}}) == []


def test_addresses() -> None:
    rates = {"127.0.0.1": {"connection_creation_rate": 5.0}, None: {"connection_creation_rate": 9.0}}
    one, two = socket.inet_aton("127.0.0.1"), socket.inet_aton("10.0.0.1")
    assert {packed: rest for packed, *rest in address_rules(("127.0.0.1:3", "10.0.0.1:4"), rates)} == {
        one: [3, 5.0],
        two: [4, 0.0],
    }
    assert resolved("::ffff:127.0.0.1") == [one]
    assert resolved("::1") == [socket.inet_pton(socket.AF_INET6, "::1")]
    assert one in resolved("localhost")
    assert resolved("no such host") == resolved("a" * 300) == []


@pytest.mark.parametrize("text", ["localhost", ":5", "localhost:", "localhost:-1", "localhost:x", f"h:{2**31}"])
def test_overrides_that_are_none(text: str) -> None:
    with pytest.raises(SettingError, match="HOST:COUNT"):
        HostCounts().parse("max.connections.per.ip.overrides", text)


def test_mutations_overdraw_once_and_recover() -> None:
    """Ten windows of two a second: twenty at once, one overdraft, then as many as time has brought."""
    quotas = {ALL[6]: {"controller_mutation_rate": 2.0}}
    quota = MutationQuota(10)
    assert quota.charge(quotas, "app", 15, 100.0, strict=True) == 0
    assert quota.charge(quotas, "app", 15, 100.0, strict=True) == 5000
    with pytest.raises(MetadataError) as refused:
        quota.charge(quotas, "app", 1, 104.9, strict=True)
    assert refused.value.code == 89
    assert quota.charge(quotas, "other", 1000, 100.0, strict=True) == 0
    assert quota.charge(quotas, "app", 1, 105.0, strict=True) == 500


def test_a_lenient_client_is_held_back_and_not_refused() -> None:
    quotas = {ALL[2]: {"controller_mutation_rate": 1.0}}
    quota = MutationQuota(1)
    assert quota.charge(quotas, "a", 3, 0.0, strict=False) == 2000
    assert quota.charge(quotas, "b", 3, 0.0, strict=False) == 5000, "the user's clients share it"
