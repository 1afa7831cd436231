"""D-10: no descriptors left, for clients or for files. Nobody who was served before notices, and no disk is blamed."""

import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of

LIMIT = 120


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    made = BrokerProcess(tmp_path / "data", log_segment_bytes=1 << 20)
    resource.prlimit(made.pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    yield made
    made.stop()
    assert "offline" not in made.stderr
    assert "Traceback" not in made.stderr


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(broker.host, broker.port) as made:
        yield made


def roll(client: RawClient, topic: str) -> None:
    for _ in range(5):
        assert client.produce(topic, batch_of([bytes(500_000)])).error_code == 0


def creation(client: RawClient, name: str, partitions: int) -> int:
    request = api.CREATE_TOPICS.request
    topic = request.Topic(name=name, num_partitions=partitions, replication_factor=1)
    return int(client.call(api.CREATE_TOPICS, 7, request(topics=[topic], timeout_ms=10_000)).topics[0].error_code)


def test_more_clients_than_descriptors(broker: BrokerProcess, client: RawClient) -> None:
    client.create("t")
    crowd = [socket.create_connection((broker.host, broker.port), 10) for _ in range(2 * LIMIT)]
    crowd[-1].settimeout(10)
    assert crowd[-1].recv(1) == b"", "turned away"
    roll(client, "t")
    assert creation(client, "another", 2) == 0
    for each in crowd:
        each.close()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            with RawClient(broker.host, broker.port) as late:
                assert late.produce("t", batch_of([b"x"])).error_code == 0
                break
        except ConnectionError:
            time.sleep(0.01)  # the broker has not seen all of the crowd leave
    else:
        pytest.fail("the broker takes no more clients")
    assert "connections were turned away" in broker.stderr


def test_more_logs_than_descriptors(broker: BrokerProcess, client: RawClient) -> None:
    client.create("t")
    assert creation(client, "huge", 2 * LIMIT) == 56
    assert creation(client, "huge", 2) == 0, "nothing is left of it"
    assert "no descriptors are left" in broker.stderr
    roll(client, "t")


def test_a_roll_without_descriptors_is_tried_again(broker: BrokerProcess, client: RawClient) -> None:
    client.create("t")
    part = batch_of([bytes(500_000)])
    assert client.produce("t", part).error_code == 0
    limits = resource.prlimit(broker.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (4, limits[1]))
    assert [client.produce("t", part).error_code for _ in range(3)] == [0, 56, 56]
    assert client.fetch("t", 1).error_code == 0
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, limits)
    assert [client.produce("t", part).base_offset for _ in range(2)] == [2, 3]
    roll(client, "t")
