"""TLS, PLAIN and SCRAM against a server of the tests' own."""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from kafpy.client import settings
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.security import SecurityError, SettingsError, from_properties
from tests.client.guard import USERS, Guard

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture
def guard() -> Iterator[Callable[..., Guard]]:
    started = []

    def start(**told: Any) -> Guard:
        started.append(Guard(**told))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server_side(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context


@pytest.fixture
def believed(authority: trustme.CA, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def jaas(name: str, password: str) -> str:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{name}" password="{escaped}";'


def cluster_id(address: str, **properties: str) -> str:
    """Over two connections: bootstrap, and the broker that Metadata names."""
    told = {key.replace("_", "."): value for key, value in properties.items()}
    with Cluster(settings.from_properties({"bootstrap.servers": address, **told})) as cluster:
        cluster.brokers()
        return str(cluster.metadata([]).cluster_id)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", USERS)
def test_passwords(guard: Callable[..., Guard], mechanism: str, name: str) -> None:
    server = guard(mechanism=mechanism)
    told = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    assert cluster_id(server.address, sasl_jaas_config=jaas(name, USERS[name]), **told) == "guarded"
    with pytest.raises(ClientError, match=f"refuses {name}: Authentication failed"):
        cluster_id(server.address, sasl_jaas_config=jaas(name, "wrong"), **told)


@pytest.mark.parametrize("mechanism", MECHANISMS[1:])
def test_a_server_that_does_not_know_the_password(guard: Callable[..., Guard], mechanism: str) -> None:
    server = guard(mechanism=mechanism, forged=True)
    with pytest.raises(ClientError, match="its SCRAM signature is wrong"):
        cluster_id(
            server.address,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_jaas_config=jaas("bob", "secret"),
        )


def test_another_mechanism_is_named(guard: Callable[..., Guard]) -> None:
    server = guard(mechanism="SCRAM-SHA-512")
    with pytest.raises(ClientError, match=r"does not take PLAIN; sasl.mechanism can be: SCRAM-SHA-512"):
        cluster_id(
            server.address,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_jaas_config=jaas("bob", "secret"),
        )


def test_tls(guard: Callable[..., Guard], server_side: ssl.SSLContext, believed: Path) -> None:
    server = guard(tls=server_side)
    authorities = {"ssl_truststore_type": "PEM", "ssl_truststore_location": str(believed)}
    assert cluster_id(server.address, security_protocol="SSL", **authorities) == "guarded"
    assert cluster_id(server.address, security_protocol="SSL", ssl_truststore_certificates=believed.read_text())
    with pytest.raises(ClientError, match=r"no TLS with localhost:\d+: .*certificate.*; check security.protocol"):
        cluster_id(server.address, security_protocol="SSL")
    elsewhere = f"127.0.0.1:{server.port}"
    with pytest.raises(ClientError, match="IP address mismatch"):
        cluster_id(elsewhere, security_protocol="SSL", **authorities)
    unchecked = {"ssl_endpoint_identification_algorithm": ""}
    assert cluster_id(elsewhere, security_protocol="SSL", **authorities, **unchecked) == "guarded"


def test_tls_to_a_plain_server(guard: Callable[..., Guard]) -> None:
    server = guard()
    assert cluster_id(server.address) == "guarded"
    with pytest.raises(ClientError, match=r"check security.protocol"):
        cluster_id(server.address, security_protocol="SSL", request_timeout_ms="1000")


def test_certificates_of_clients(
    guard: Callable[..., Guard], server_side: ssl.SSLContext, believed: Path, authority: trustme.CA, tmp_path: Path
) -> None:
    server_side.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(server_side)
    server = guard(tls=server_side)
    mine = tmp_path / "mine.pem"
    authority.issue_cert("me@example.org").private_key_and_cert_chain_pem.write_to_path(str(mine))
    told = {"security_protocol": "SSL", "ssl_truststore_location": str(believed)}
    keys = {"ssl_keystore_location": str(mine), "ssl_keystore_type": "PEM"}
    assert cluster_id(server.address, **told, **keys) == "guarded"
    with pytest.raises(ClientError):
        cluster_id(server.address, **told)


def test_tls_and_a_password(guard: Callable[..., Guard], server_side: ssl.SSLContext, believed: Path) -> None:
    server = guard(tls=server_side, mechanism="SCRAM-SHA-256")
    told = {"security_protocol": "SASL_SSL", "ssl_truststore_location": str(believed)}
    scram = {"sasl_mechanism": "SCRAM-SHA-256", "sasl_jaas_config": jaas("alice", USERS["alice"])}
    assert cluster_id(server.address, **told, **scram) == "guarded"


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"security.protocol": "TLS"}, "security.protocol=TLS: one of PLAINTEXT, SSL, "),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI is not spoken here"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "names no username and no password"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/no/such.jks"}, "ssl.truststore.type=JKS cannot be"),
        ({"security.protocol": "SSL", "ssl.keystore.key": "x"}, "ssl.keystore.key: put key and certificates into one"),
    ],
)
def test_what_cannot_be(properties: dict[str, str], said: str) -> None:
    with pytest.raises(SecurityError, match=said):
        from_properties(properties)


def test_a_time_that_is_none() -> None:
    with pytest.raises(SettingsError, match=r"request.timeout.ms=soon"):
        settings.from_properties({"request.timeout.ms": "soon"})


def test_jaas_as_java_reads_it() -> None:
    given = 'org.x.ScramLoginModule required username=\'a b\' password="q\\"\\\\=;" other=1;'
    found = from_properties(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": given}
    ).sasl
    assert found is not None
    assert (found.username, found.password) == ("a b", 'q"\\=;')
