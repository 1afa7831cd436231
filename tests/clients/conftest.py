"""Brokers in processes of their own, and topics with names of their own, so that tests share a broker."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient


@pytest.fixture(scope="session", params=[1, 3], ids=["1-plane", "3-planes"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One for all tests."""
    directory = tmp_path_factory.mktemp("broker") / "data"
    process = BrokerProcess(directory, num_network_threads=request.param, num_partitions=3)
    yield process
    process.stop()
    assert process.stderr == ""


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """For tests that stop it."""
    process = BrokerProcess(tmp_path / "data")
    yield process
    process.kill()


@pytest.fixture
def connect() -> Iterator[Callable[[BrokerProcess], RawClient]]:
    opened: list[RawClient] = []

    def connect(to: BrokerProcess) -> RawClient:
        opened.append(RawClient(to.host, to.port))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


@pytest.fixture
def raw(broker: BrokerProcess, connect: Callable[[BrokerProcess], RawClient]) -> RawClient:
    return connect(broker)


NUMBERS = count()


@pytest.fixture
def name() -> str:
    """Of a topic that no other test uses."""
    return f"topic-{next(NUMBERS)}"


@pytest.fixture
def topic(raw: RawClient, name: str) -> str:
    """With one partition and no configs."""
    raw.create(name)
    return name
