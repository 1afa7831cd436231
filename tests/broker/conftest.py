"""Brokers that run inside the test process: the loop in a thread of its own, the planes in theirs."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from kafpy.broker.server import Broker
from kafpy.broker.settings import Settings
from kafpy.client.connection import Connection
from kafpy.protocol import api


class Client(Connection):
    """Requests as tests send them."""

    def create(self, name: str, partitions: int = 1, **configs: str) -> Any:
        request = api.CREATE_TOPICS.request
        listed = [request.Config(name=key.replace("_", "."), value=value) for key, value in configs.items()]
        topic = request.Topic(name=name, num_partitions=partitions, replication_factor=1, configs=listed)
        return self.call(api.CREATE_TOPICS, request(topics=[topic])).topics[0]

    def delete(self, name: str) -> Any:
        request = api.DELETE_TOPICS.request
        return self.call(api.DELETE_TOPICS, request(topics=[request.Topic(name=name)])).responses[0]

    def metadata(self) -> Any:
        return self.call(api.METADATA, api.METADATA.request(topics=None))

    def produce(self, topic: str, *batches: bytes) -> list[Any]:
        """One batch for each partition from 0 on; acks=all."""
        request = api.PRODUCE.request
        partitions = [request.Partition(index=index, records=batch) for index, batch in enumerate(batches)]
        topics = [request.Topic(name=topic, partition_data=partitions)]
        answer = self.call(api.PRODUCE, request(acks=-1, timeout_ms=5000, topic_data=topics), version=9)
        return list(answer.responses[0].partition_responses)


class Running:
    def __init__(self, settings: Settings) -> None:
        self.broker = Broker(settings)
        self._scope = trio.CancelScope()
        self._started = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._serve,), kwargs={"clock": self.broker.clock})
        self._thread.start()
        self._started.wait()

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            self._started.set()
            await self.broker.serve()

    def connect(self) -> Client:
        return Client("127.0.0.1", self.broker.port, timeout_s=10)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._token.run_sync_soon(self._scope.cancel)
            self._thread.join()
            self.broker.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """start(**settings) runs a broker on a free port; the directory is the same each time."""
    running: list[Running] = []

    def start(**settings: object) -> Running:
        given = {"listeners": "PLAINTEXT://127.0.0.1:0", "log_dirs": (str(tmp_path / "data"),), **settings}
        running.append(Running(Settings(**given)))  # type: ignore[arg-type]
        return running[-1]

    yield start
    for each in running:
        each.stop()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"
