"""Our client against Apache Kafka's listeners that ask for TLS, a password, or both."""

import time
from pathlib import Path

import pytest

from kafpy.cli.kafka.run import run
from kafpy.client import settings
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from tests.peers.apache import PASSWORD, USER, ApacheKafka

pytestmark = pytest.mark.peers
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def connected(
    apache: ApacheKafka, protocol: str, mechanism: str = "PLAIN", password: str = PASSWORD, user: str = USER
) -> list[int]:
    properties = {
        "bootstrap.servers": f"localhost:{apache.ports[protocol]}",
        "security.protocol": protocol,
        "ssl.truststore.location": str(apache.authority),
        "ssl.truststore.type": "PEM",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'any.LoginModule required username="{user}" password="{password}";',
    }
    with Cluster(settings.from_properties(properties)) as cluster:
        assert [each.address for each in cluster.brokers()] == [f"localhost:{apache.ports[protocol]}"]
        return [each.node_id for each in cluster.metadata([]).brokers]


def test_tls(apache: ApacheKafka) -> None:
    assert connected(apache, "SSL") == [1]


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_passwords(apache: ApacheKafka, protocol: str, mechanism: str) -> None:
    assert connected(apache, protocol, mechanism) == [1]
    with pytest.raises(ClientError, match=f"refuses {USER}: .*Authentication failed"):
        connected(apache, protocol, mechanism, password="wrong")


def test_a_wrong_authority(apache: ApacheKafka, tmp_path: Path) -> None:
    told = {"bootstrap.servers": f"localhost:{apache.ports['SSL']}", "security.protocol": "SSL"}
    with pytest.raises(ClientError, match="unable to get local issuer certificate"):
        Cluster(settings.from_properties(told))


@pytest.mark.parametrize("mechanism", MECHANISMS[1:])
def test_credentials_that_our_tools_made(
    apache: ApacheKafka, mechanism: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(*flags: str) -> tuple[int, str]:
        status = run("kafka-configs", ["--bootstrap-server", apache.bootstrap, *flags, "--user", "bob"])
        return status, capsys.readouterr().out

    done = (0, "Completed updating config for user bob.\n")
    assert ask("--alter", "--add-config", f"{mechanism}=[iterations=5000,password=p,w]") == done
    kept = f"SCRAM credential configs for user-principal 'bob' are {mechanism}=iterations=5000\n"
    assert ask("--describe") == (0, kept)
    deadline = time.monotonic() + 10
    while True:
        try:  # a controller's record reaches the broker a little later
            assert connected(apache, "SASL_PLAINTEXT", mechanism, "p,w", "bob") == [1]
            break
        except ClientError:
            assert time.monotonic() < deadline
    assert ask("--alter", "--delete-config", mechanism) == done
    assert ask("--describe") == (0, "")
