"""Our client against Apache Kafka's listeners that ask for TLS, a password, or both."""

from pathlib import Path

import pytest

from kafpy.client import settings
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from tests.peers.apache import PASSWORD, USER, ApacheKafka

pytestmark = pytest.mark.peers
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def connected(apache: ApacheKafka, protocol: str, mechanism: str = "PLAIN", password: str = PASSWORD) -> list[int]:
    properties = {
        "bootstrap.servers": f"localhost:{apache.ports[protocol]}",
        "security.protocol": protocol,
        "ssl.truststore.location": str(apache.authority),
        "ssl.truststore.type": "PEM",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'any.LoginModule required username="{USER}" password="{password}";',
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
