"""One broker for all of Apache Kafka's tools, and a fresh transcript of what they said."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from bench.suite.kafka import Missing, jars
from tests.broker_process import BrokerProcess
from tests.peers.apache import ApacheKafka
from tests.peers.tools import TOPICS, TRANSCRIPT, Tools


@pytest.fixture(scope="session")
def fetched() -> Path:
    try:
        folder = jars()
    except Missing as missing:
        pytest.skip(str(missing))
    TRANSCRIPT.parent.mkdir(parents=True, exist_ok=True)
    TRANSCRIPT.write_text("")
    return folder


@pytest.fixture(scope="session")
def broker(fetched: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("peers") / "data")
    yield process
    process.stop()
    assert process.stderr == ""


@pytest.fixture(scope="session")
def apache(fetched: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Apache Kafka itself."""
    process = ApacheKafka(fetched, tmp_path_factory.mktemp("apache") / "kafka")
    yield process
    process.stop()


@pytest.fixture
def tools(fetched: Path, broker: BrokerProcess) -> Tools:
    return Tools(fetched, broker.bootstrap)


NUMBERS = count()


@pytest.fixture
def topic(tools: Tools) -> str:
    """With one partition; no other test uses it."""
    name = f"peer-{next(NUMBERS)}"
    tools.ask(TOPICS, "--create", "--topic", name, "--partitions", "1")
    return name
