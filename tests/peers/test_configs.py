"""kafka-configs: topics, brokers, and client quotas once the broker serves them."""

import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient
from tests.peers.tools import CONFIGS, Tools

pytestmark = pytest.mark.peers

DESCRIBE_CLIENT_QUOTAS, ALTER_CLIENT_QUOTAS = 48, 49


def test_topic_configs(tools: Tools, topic: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    added = "retention.ms=1000,cleanup.policy=[compact,delete]"
    assert (
        f"Completed updating config for topic {topic}."
        in tools.ask(CONFIGS, "--alter", *entity, "--add-config", added).lines
    )
    said = tools.ask(CONFIGS, "--describe", *entity)
    assert "  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000" in said.out
    assert "  cleanup.policy=compact,delete sensitive=false" in said.out
    tools.ask(CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    said = tools.ask(CONFIGS, "--describe", *entity)
    assert "retention.ms" not in said.out
    assert "cleanup.policy=compact,delete" in said.out
    everything = tools.ask(CONFIGS, "--describe", "--all", *entity)
    assert "  retention.ms=604800000 sensitive=false synonyms={" in everything.out
    assert "  min.insync.replicas=1 " in everything.out


@pytest.mark.parametrize("given", ["retention.ms=soon", "no.such.config=1", "min.insync.replicas=0"])
def test_refused_topic_configs(tools: Tools, topic: str, given: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    said = tools.ask(CONFIGS, "--alter", *entity, "--add-config", given, fails=True)
    assert "InvalidConfigurationException" in said.err
    assert given.partition("=")[0] in said.err
    assert tools.ask(CONFIGS, "--describe", *entity).lines == [f"Dynamic configs for topic {topic} are:"]


@pytest.mark.parametrize(
    ("entity", "source"),
    [
        (("--entity-name", "1"), "DYNAMIC_BROKER_CONFIG"),
        (("--entity-default",), "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    ],
)
def test_broker_configs(tools: Tools, entity: tuple[str, ...], source: str) -> None:
    brokers = ("--entity-type", "brokers", *entity)
    tools.ask(CONFIGS, "--alter", *brokers, "--add-config", "log.roll.ms=7200000")
    said = tools.ask(CONFIGS, "--describe", *brokers)
    assert f"  log.roll.ms=7200000 sensitive=false synonyms={{{source}:log.roll.ms=7200000" in said.out
    tools.ask(CONFIGS, "--alter", *brokers, "--delete-config", "log.roll.ms")
    assert "log.roll.ms" not in tools.ask(CONFIGS, "--describe", *brokers).out
    said = tools.ask(CONFIGS, "--alter", *brokers, "--add-config", "node.id=7", fails=True)
    assert "Cannot update these configs dynamically" in said.err


@pytest.fixture
def quotas(broker: BrokerProcess) -> None:
    with RawClient(broker.host, broker.port) as client:
        answer = client.call(api.API_VERSIONS, 0, api.API_VERSIONS.request())
    assert answer.error_code == 0
    served = {each.api_key for each in answer.api_keys}
    if not {DESCRIBE_CLIENT_QUOTAS, ALTER_CLIENT_QUOTAS} <= served:
        pytest.skip("the broker does not serve DescribeClientQuotas and AlterClientQuotas (keys 48 and 49)")


@pytest.mark.parametrize(
    ("kind", "name", "quota", "described"),
    [
        ("clients", "peer", "producer_byte_rate=1000000", "client-id 'peer'"),
        ("clients", None, "consumer_byte_rate=2000000", "the default client-id"),
        ("ips", "10.1.2.3", "connection_creation_rate=10", "ip '10.1.2.3'"),
    ],
)
def test_client_quotas(tools: Tools, quotas: None, kind: str, name: str | None, quota: str, described: str) -> None:
    entity = ("--entity-type", kind, *(("--entity-default",) if name is None else ("--entity-name", name)))
    said = tools.ask(CONFIGS, "--alter", *entity, "--add-config", quota)
    done = f"config for {kind[:-1]} {name}." if name else f"default config for {kind} in the cluster."
    assert f"Completed updating {done}" in said.lines
    assert f"Quota configs for {described} are {quota}.0" in tools.ask(CONFIGS, "--describe", *entity).lines
    tools.ask(CONFIGS, "--alter", *entity, "--delete-config", quota.partition("=")[0])
    assert "Quota configs" not in tools.ask(CONFIGS, "--describe", *entity).out
