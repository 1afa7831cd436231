"""The admin clients of librdkafka and kafka-python: partitions, configs, deleted records, what the cluster is."""

from collections.abc import Callable, Iterator
from typing import Any

import kafka.admin
import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    ResourceType,
)

from kafpy._core import batch
from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of, fetch_request

TIMEOUT_S = 20
Connect = Callable[[BrokerProcess], RawClient]


class Rdkafka:
    """librdkafka's admin client, waiting for each answer."""

    def __init__(self, bootstrap: str) -> None:
        self.client = AdminClient({"bootstrap.servers": bootstrap})

    def grow(self, topic: str, count: int) -> None:
        self._one(self.client.create_partitions([NewPartitions(topic, count)]))

    def configs(self, kind: ResourceType, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._one(self.client.describe_configs([ConfigResource(kind, name)]))
        return found

    def alter(self, kind: ResourceType, name: str, **operations: tuple[AlterConfigOpType, str | None]) -> None:
        entries = [
            ConfigEntry(key.replace("_", "."), value, incremental_operation=code)
            for key, (code, value) in operations.items()
        ]
        resource = ConfigResource(kind, name, incremental_configs=entries)
        self._one(self.client.incremental_alter_configs([resource]))

    def delete_records(self, topic: str, offset: int) -> int:
        low: int = self._one(self.client.delete_records([TopicPartition(topic, 0, offset)])).low_watermark
        return low

    def _one(self, futures: Any) -> Any:
        return next(iter(futures.values())).result(TIMEOUT_S)


@pytest.fixture
def rdkafka(broker: BrokerProcess) -> Rdkafka:
    return Rdkafka(broker.bootstrap)


@pytest.fixture
def python(broker: BrokerProcess) -> Iterator[kafka.admin.KafkaAdminClient]:
    client = kafka.admin.KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield client
    client.close()


def refusal(error: pytest.ExceptionInfo[KafkaException]) -> tuple[int, str]:
    return error.value.args[0].code(), error.value.args[0].str()


def test_all_topics(rdkafka: Rdkafka, python: kafka.admin.KafkaAdminClient, topic: str) -> None:
    """librdkafka's request has bytes behind its body (its issue 5049), which Kafka passes over."""
    assert topic in rdkafka.client.list_topics(timeout=TIMEOUT_S).topics
    assert list(rdkafka.client.list_topics(topic, timeout=TIMEOUT_S).topics) == [topic]
    assert topic in python.list_topics()


def test_more_partitions(rdkafka: Rdkafka, raw: RawClient, topic: str) -> None:
    assert raw.produce(topic, batch_of([b"v"])).error_code == 0
    rdkafka.grow(topic, 3)
    assert len(raw.metadata(topic).topics[0].partitions) == 3
    assert raw.produce(topic, batch_of([b"v"]), partition=2).base_offset == 0
    assert raw.values(topic) == [b"v"]
    with pytest.raises(KafkaException) as caught:
        rdkafka.grow(topic, 2)
    assert refusal(caught) == (37, f"The topic {topic} currently has 3 partition(s); 2 would not be an increase.")


def test_a_consumer_waits_through_a_growth(
    broker: BrokerProcess, connect: Connect, rdkafka: Rdkafka, raw: RawClient, topic: str
) -> None:
    """Whoever waits on the old partitions goes on waiting, and gets what comes."""
    reader = connect(broker)
    reader.send((api.FETCH, 12, fetch_request({topic: {0: 0}}, wait_ms=10_000)))
    assert reader.quiet(0.05)
    rdkafka.grow(topic, 5)
    raw.produce(topic, batch_of([b"v"]))
    part = reader.receive().responses[0].partitions[0]
    assert (part.error_code, part.high_watermark) == (0, 1)


def test_topic_configs(rdkafka: Rdkafka, raw: RawClient, name: str) -> None:
    raw.create(name, 1, {"max.message.bytes": "200"})
    found = rdkafka.configs(ResourceType.TOPIC, name)
    own = found["max.message.bytes"]
    assert (own.value, own.source) == ("200", ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
    assert [(each.name, each.source) for each in own.synonyms.values()][-1] == (
        "message.max.bytes",
        ConfigSource.DEFAULT_CONFIG.value,
    )
    assert found["segment.bytes"].is_default
    assert raw.produce(name, batch_of([bytes(300)])).error_code == 10
    rdkafka.alter(ResourceType.TOPIC, name, max_message_bytes=(AlterConfigOpType.SET, "1000"))
    assert raw.produce(name, batch_of([bytes(300)])).error_code == 0
    with pytest.raises(KafkaException) as caught:
        rdkafka.alter(ResourceType.TOPIC, name, no_such=(AlterConfigOpType.SET, "1"))
    assert refusal(caught) == (40, "Unknown topic config name: no.such")


def test_broker_configs(own_broker: BrokerProcess, connect: Connect) -> None:
    client, raw = Rdkafka(own_broker.bootstrap), connect(own_broker)
    raw.create("t")
    client.alter(ResourceType.BROKER, "1", message_max_bytes=(AlterConfigOpType.SET, "200"))
    assert client.configs(ResourceType.TOPIC, "t")["max.message.bytes"].value == "200"
    assert raw.produce("t", batch_of([bytes(300)])).error_code == 10
    with pytest.raises(KafkaException) as caught:
        client.alter(ResourceType.BROKER, "1", node_id=(AlterConfigOpType.SET, "7"))
    assert refusal(caught) == (42, "Cannot update these configs dynamically: [node.id]")
    own_broker.restart(crash=True)
    raw = connect(own_broker)
    assert raw.produce("t", batch_of([bytes(300)])).error_code == 10
    client = Rdkafka(own_broker.bootstrap)
    client.alter(ResourceType.BROKER, "1", message_max_bytes=(AlterConfigOpType.DELETE, None))
    assert raw.produce("t", batch_of([bytes(300)])).error_code == 0


def test_compression_is_turned_on_and_off_while_a_producer_writes(rdkafka: Rdkafka, raw: RawClient, topic: str) -> None:
    def stored(offset: int) -> int:
        data = raw.fetch(topic, offset).records
        return int(batch.header(bytes(data)).codec)

    assert raw.produce(topic, batch_of([bytes(1000)])).error_code == 0
    rdkafka.alter(ResourceType.TOPIC, topic, compression_type=(AlterConfigOpType.SET, "zstd"))
    assert raw.produce(topic, batch_of([bytes(1000)])).error_code == 0
    rdkafka.alter(ResourceType.TOPIC, topic, compression_type=(AlterConfigOpType.DELETE, None))
    assert raw.produce(topic, batch_of([bytes(1000)])).error_code == 0
    assert [stored(offset) for offset in range(3)] == [0, 4, 0]


def test_deleted_records(own_broker: BrokerProcess, connect: Connect) -> None:
    client, raw = Rdkafka(own_broker.bootstrap), connect(own_broker)
    raw.create("t")
    for number in range(5):
        raw.produce("t", batch_of([b"%d" % number]))
    assert client.delete_records("t", 3) == 3
    assert raw.fetch("t", 2).error_code == 1
    assert raw.offset("t", -2).offset == 3
    with pytest.raises(KafkaException) as caught:
        client.delete_records("t", 6)
    assert refusal(caught)[0] == 1
    own_broker.restart(crash=True)
    raw = connect(own_broker)
    assert raw.offset("t", -2).offset == 3
    assert Rdkafka(own_broker.bootstrap).delete_records("t", -1) == 5
    assert raw.produce("t", batch_of([b"new"])).base_offset == 5


def test_the_cluster(broker: BrokerProcess, rdkafka: Rdkafka, topic: str) -> None:
    cluster = rdkafka.client.describe_cluster().result(TIMEOUT_S)
    assert [(node.id, node.port) for node in cluster.nodes] == [(1, broker.port)]
    assert cluster.controller.id == 1


def test_kafka_python_configs(python: kafka.admin.KafkaAdminClient, raw: RawClient, topic: str) -> None:
    resource = kafka.admin.ConfigResource("TOPIC", topic, {"segment.ms": "70000"})
    python.alter_configs([resource])
    wanted = kafka.admin.ConfigResource("TOPIC", topic, {"segment.ms": None, "segment.bytes": None})
    found = python.describe_configs([wanted], include_synonyms=True, config_filter="all")
    assert "70000" in str(found)
    python.reset_configs([kafka.admin.ConfigResource("TOPIC", topic, {"segment.ms": None})])
    assert "70000" not in str(python.describe_configs([wanted], config_filter="all"))
    refused = python.alter_configs([kafka.admin.ConfigResource("TOPIC", topic, {"segment.bytes": "3"})])
    assert "Value must be at least 1048576" in str(refused)


def test_kafka_python_asks_for_the_rest(python: kafka.admin.KafkaAdminClient, raw: RawClient, topic: str) -> None:
    python.create_partitions({topic: 4})
    described = python.describe_topic_partitions([topic], response_partition_limit=3)
    assert described["next_cursor"]["partition_index"] == 3
    raw.produce(topic, batch_of([b"v"] * 10))
    at = kafka.TopicPartition(topic, 0)
    assert python.delete_records({at: 4})[at]["low_watermark"] == 4
    assert topic in str(python.describe_log_dirs())
    assert python.describe_cluster()["controller_id"] == 1
    assert topic in str(python.list_config_resources(["TOPIC"]))
    assert not python.describe_producers([at])[at].active_producers
