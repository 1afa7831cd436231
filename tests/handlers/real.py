"""A broker's real state on a real directory, without a network: for handlers that change something."""

import inspect
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import trio

from kafpy._core import batch
from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.broker import limits
from kafpy.broker.clock import BrokerClock
from kafpy.broker.group_coordinator import GroupCoordinator
from kafpy.broker.partitions import Partitions
from kafpy.broker.settings import Settings
from kafpy.broker.state import BrokerState, settings_now
from kafpy.handlers.registry import LATER, SERVED, Call
from kafpy.metadata.sqlite import SQLiteStore
from kafpy.protocol import api, codec
from kafpy.protocol.table import Api
from kafpy.storage.directories import Directory


class Origin(NamedTuple):
    local_host: str
    local_port: int
    peer_host: str
    frame: bytes = b""


ORIGIN = Origin("10.0.0.7", 9093, "10.0.0.8")


class RealBroker:
    """Open until close(); restart() is a stop and a start, clean or not."""

    def __init__(self, *paths: Path, **settings: Any) -> None:
        self.paths = paths
        self.settings = Settings(log_dirs=tuple(map(str, paths)), **settings)
        self.removed: list[tuple[list[Path], int]] = []
        self._open()

    def _open(self) -> None:
        self._runtime = Runtime()
        self._planes = Planes(self._runtime)
        self._clock = BrokerClock(self._runtime, self._planes)
        self._directories = [Directory(path) for path in self.paths]
        self._store = SQLiteStore(self.paths[0] / "metadata.sqlite", "real-cluster")
        image = self._store.load()
        now = settings_now(self.settings, image)
        self.partitions = Partitions(self._runtime, self._planes, now, self._directories)
        self.partitions.load(image, self._store.deleted_topic_ids())
        self.groups = GroupCoordinator(self._runtime, self.partitions, now)
        self.state = BrokerState(
            settings=self.settings,
            cluster_id="real-cluster",
            image=image,
            store=self._store,
            partitions=self.partitions,
            remove_later=lambda folders, delay: self.removed.append((folders, delay)),
            limit=partial(limits.apply, self._planes),
            groups=self.groups,
            wall_ms=self._runtime.wall_ms,
        )

    def restart(self, *, clean: bool) -> None:
        self._close(clean)
        self._open()

    def close(self) -> None:
        self._close(True)

    def _close(self, clean: bool) -> None:
        if clean:
            self.partitions.close()
        else:
            for _, _, hosted in self.partitions.hosted():
                hosted.log.close(flush=False)
        self.groups.close()
        self._store.close()
        for directory in self._directories:
            directory.close()
        self._runtime.close()

    def ask(self, spoken: Api, version: int | None = None, **fields: Any) -> Any:
        """Through the bytes of both messages, as a client would."""
        version = spoken.max_version if version is None else version
        frame = codec.write_request(spoken.key, version, 5, "test", spoken.request(**fields))
        header, body = codec.read_request(frame)
        sent: list[Any] = []
        call = Call(header, body, ORIGIN, sent.append, lambda _: None)

        async def answer() -> Any:
            given = SERVED[spoken.key].handler(self.state, call)
            given = await given if inspect.isawaitable(given) else given
            return sent[0] if given is LATER else given

        payload = codec.write_response(spoken.key, version, header.correlation_id, trio.run(answer, clock=self._clock))
        return codec.read_response(spoken.key, version, payload)[1]

    def create(self, name: str, partitions: int = 1, **configs: str) -> Any:
        request = api.CREATE_TOPICS.request
        listed = [request.Config(name=key.replace("_", "."), value=value) for key, value in configs.items()]
        wanted = request.Topic(name=name, num_partitions=partitions, replication_factor=1, configs=listed)
        made = self.ask(api.CREATE_TOPICS, topics=[wanted]).topics[0]
        assert made.error_code == 0, made.error_message
        return made

    def fill(self, name: str, records: int, **fields: Any) -> None:
        """So many records in one batch of partition 0."""
        log = self.partitions.log(name, 0)
        assert log is not None
        given = batch.encode([b"v"] * records, timestamps=list(range(1000, 1000 + records)), **fields)
        assert log.append(given)[0] == 0
