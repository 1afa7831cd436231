"""The disk does not take a change of the metadata: whoever asked is told, nothing changed, and it works again later."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafpy.protocol import api
from tests.clients.raw import RawClient, batch_of
from tests.faults.nursery import Nursery

STORAGE_ERROR = 56


def create(client: RawClient) -> Any:
    request = api.CREATE_TOPICS.request
    topic = request.Topic(name="made", num_partitions=2, replication_factor=1)
    return client.call(api.CREATE_TOPICS, 7, request(topics=[topic], timeout_ms=10_000)).topics[0]


def delete(client: RawClient) -> Any:
    request = api.DELETE_TOPICS.request
    body = request(topics=[request.Topic(name="gone")], timeout_ms=10_000)
    return client.call(api.DELETE_TOPICS, 6, body).responses[0]


def add_partitions(client: RawClient) -> Any:
    request = api.CREATE_PARTITIONS.request
    body = request(topics=[request.Topic(name="kept", count=3, assignments=None)], timeout_ms=10_000)
    return client.call(api.CREATE_PARTITIONS, 3, body).results[0]


def alter(kind: int, name: str, key: str, value: str) -> Callable[[RawClient], Any]:
    def altered(client: RawClient) -> Any:
        request = api.INCREMENTAL_ALTER_CONFIGS.request
        config = request.Config(name=key, config_operation=0, value=value)
        resource = request.Resource(resource_type=kind, resource_name=name, configs=[config])
        return client.call(api.INCREMENTAL_ALTER_CONFIGS, 1, request(resources=[resource])).responses[0]

    return altered


def replace(client: RawClient) -> Any:
    request = api.ALTER_CONFIGS.request
    config = request.Config(name="retention.ms", value="99")
    resource = request.Resource(resource_type=2, resource_name="kept", configs=[config])
    return client.call(api.ALTER_CONFIGS, 2, request(resources=[resource])).responses[0]


def producer_id(client: RawClient) -> Any:
    """The first that a broker is asked for comes from the store, with those that follow it."""
    return client.call(api.INIT_PRODUCER_ID, 4, api.INIT_PRODUCER_ID.request(transactional_id=None))


def auto_create(client: RawClient) -> Any:
    return client.metadata("asked.for", create=True).topics[0]


def quota(client: RawClient) -> Any:
    request = api.ALTER_CLIENT_QUOTAS.request
    entity = request.Entity(entity_type="client-id", entity_name="c")
    entry = request.Entry(entity=[entity], ops=[request.Op(key="producer_byte_rate", value=5e6)])
    return client.call(api.ALTER_CLIENT_QUOTAS, 1, request(entries=[entry])).entries[0]


CHANGES: dict[str, Callable[[RawClient], Any]] = {
    "CreateTopics": create,
    "DeleteTopics": delete,
    "CreatePartitions": add_partitions,
    "IncrementalAlterConfigs of a topic": alter(2, "kept", "retention.ms", "77"),
    "IncrementalAlterConfigs of a broker": alter(4, "1", "log.roll.ms", "7200000"),
    "AlterConfigs": replace,
    "AlterClientQuotas": quota,
    "InitProducerId": producer_id,
    "Metadata": auto_create,
}


def picture(client: RawClient) -> Any:
    """What clients can see of the metadata."""
    listed = client.call(api.METADATA, 12, api.METADATA.request(topics=None)).topics
    request = api.DESCRIBE_CONFIGS.request
    asked = [(2, "kept"), (4, "1")]
    resources = [
        request.Resource(resource_type=kind, resource_name=name, configuration_keys=None) for kind, name in asked
    ]
    described = client.call(api.DESCRIBE_CONFIGS, 4, request(resources=resources)).results
    quotas = client.call(api.DESCRIBE_CLIENT_QUOTAS, 1, api.DESCRIBE_CLIENT_QUOTAS.request(components=[], strict=False))
    topics = {each.name: (bytes(each.topic_id), len(each.partitions)) for each in listed}
    return topics, len(quotas.entries), [[(config.name, config.value) for config in each.configs] for each in described]


@pytest.fixture
def start(nursery: Nursery, folder: Path) -> Iterator[Callable[[], RawClient]]:
    clients = []

    def start() -> RawClient:
        port = nursery.start([folder / "data"], errors=folder / "errors")
        assert port is not None
        clients.append(RawClient("127.0.0.1", port))
        return clients[-1]

    yield start
    for each in clients:
        each.close()
    if nursery.status is None:
        nursery.stop()


@pytest.mark.parametrize(
    "broken", ["pwrite64 28", "pwrite64 5", "fdatasync 5", "pwrite64 0"], ids=["full", "EIO", "sync", "short"]
)
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_that_fails(
    start: Callable[[], RawClient], nursery: Nursery, folder: Path, what: str, broken: str
) -> None:
    call, error = broken.split()
    client = start()
    client.create("kept")
    client.create("gone")
    assert client.produce("kept", batch_of([b"v"])).error_code == 0
    before = picture(client)
    nursery.fail(call, "metadata.sqlite", 1, error, on=True)
    answer = CHANGES[what](client)
    assert answer.error_code == STORAGE_ERROR
    assert CHANGES[what](client).error_code == STORAGE_ERROR
    if "Init" not in what and what != "Metadata":
        assert "metadata" in answer.error_message
    assert picture(client) == before
    assert client.produce("kept", batch_of([b"w"])).error_code == 0
    said = (folder / "errors").read_text().splitlines()
    assert len([line for line in said if "the change was refused" in line]) == 1 == len(said)
    nursery.fail(call, "metadata.sqlite", 0, 0)
    assert CHANGES[what](client).error_code in (0, 5)  # a topic that was made by asking for it has no leader yet
    after = picture(client)
    assert (after == before) == (what == "InitProducerId")
    assert client.values("kept") == [b"v", b"w"]
    assert nursery.stop() == 0
    assert picture(start()) == after


def test_a_full_disk_at_the_start(start: Callable[[], RawClient], nursery: Nursery, folder: Path) -> None:
    """The start stops, and says what to do; nothing is lost."""
    client = start()
    client.create("kept")
    assert nursery.stop() == 0
    failing = ("pwrite64", "metadata.sqlite", 1, errno.ENOSPC, True)
    assert nursery.start([folder / "data"], errors=folder / "errors", fail=failing) is None
    assert nursery.status == 1
    (said,) = (folder / "errors").read_text().splitlines()
    assert f"cannot use {folder / 'data' / 'metadata.sqlite'}" in said
    assert "choose another directory with --data DIR" in said
    assert start().metadata("kept").topics[0].error_code == 0
