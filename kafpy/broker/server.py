"""One broker, from its settings to its clean stop.

open: lock the directories, bind the ports, open the store, recover the logs, start the planes; there is no loop yet
serve: answer the inbox, keep house, until cancelled
close: stop the planes, close the logs, write checkpoints and clean-shutdown markers, close the store, free the locks
"""

import logging
import signal
import socket
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import trio

from kafpy import __version__
from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.broker import housekeeping, limits
from kafpy.broker.clock import BrokerClock
from kafpy.broker.group_coordinator import GroupCoordinator
from kafpy.broker.inbox import Inbox
from kafpy.broker.listeners import Listener
from kafpy.broker.partitions import Partitions
from kafpy.broker.settings import Settings
from kafpy.broker.sockets import Bound, bind
from kafpy.broker.state import BrokerState, settings_now
from kafpy.metadata import MetadataError, Topic
from kafpy.metadata.sqlite import SQLiteStore
from kafpy.storage import partition_folder
from kafpy.storage.directories import Directory, DirectoryError, UnusableDirectory

logger = logging.getLogger(__name__)

T = TypeVar("T")

STORE_FILE = "metadata.sqlite"
QUEUED_MAX_BYTES = 256 << 20
"""Where queued.max.request.bytes is -1, which Kafka takes as no bound."""


class Broker:
    """Open from construction until close(); DirectoryError, BindError, StoreError carry one line for the user."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.state: BrokerState | None = None
        """From the beginning of serve() on; belongs to its loop."""
        with ExitStack() as undo:
            self.runtime = Runtime()
            undo.callback(self.runtime.close)
            self._directories = [_directory(undo, path) for path in settings.directories]
            self._bound = [_bind(undo, settings, number) for number in range(len(settings.client_listeners()))]
            self._http = _bind_http(undo, settings)
            self._store = _store(settings, self._directories)
            undo.callback(self._store.close)
            places = ", ".join(str(path) for path in settings.directories)
            logger.info(
                "kafpy %s, node %d of cluster %s, data in %s",
                __version__,
                settings.node_id,
                self._store.cluster_id(),
                places,
            )
            self.planes = _planes(self.runtime, settings)
            self.clock = BrokerClock(self.runtime, self.planes)
            self._image = self._store.load()
            self.partitions = Partitions(
                self.runtime, self.planes, settings_now(settings, self._image), self._directories
            )
            limits.apply(self.planes, settings_now(settings, self._image), self._image)
            self._recover()
            undo.callback(self.partitions.close)
            self._groups = GroupCoordinator(self.runtime, self.partitions, settings)
            undo.callback(self._groups.close)
            self._listen()
            undo.callback(self.planes.stop)
            self._undo = undo.pop_all()

    def _recover(self) -> None:
        started = time.monotonic()
        online = [directory for directory in self._directories if directory.failure is None]
        self._left_behind = [folder for directory in online for folder in directory.deleted()]
        self.partitions.load(self._image, self._store.deleted_topic_ids())
        topics, took = self._image.topics.values(), time.monotonic() - started
        logger.info("%d partitions of %d topics are open after %.2f s", _count(topics), len(topics), took)
        if all(directory.failure is None for directory in self._directories):
            with suppress(MetadataError):  # on a full disk: the next start does it
                self._store.forget_deleted_topics()

    def _listen(self) -> None:
        for number, bound in enumerate(self._bound):
            bound.listen(self.settings.socket_listen_backlog_size)
            for each in bound.sockets:
                self.planes.listen(each.fileno(), number)
            logger.info("clients are accepted by %s on %s", bound.listener.name, bound.name)
        if self._http is not None:
            self._http.listen(self.settings.socket_listen_backlog_size)
            logger.info("metrics are on http://%s/metrics", self._http.name)
        self.planes.start()

    @property
    def address(self) -> str:
        """HOST:PORT of the first listener."""
        return self._bound[0].name

    @property
    def port(self) -> int:
        return self._bound[0].port

    def client_sockets(self) -> list[socket.socket]:
        """Of the listeners."""
        return [each for bound in self._bound for each in bound.sockets]

    def sockets(self) -> list[socket.socket]:
        """All that are bound, that of metrics too."""
        return [*self.client_sockets(), *(() if self._http is None else self._http.sockets)]

    @property
    def http_address(self) -> str | None:
        """HOST:PORT of /metrics and /healthz."""
        return self._http.name if self._http is not None else None

    async def serve(self) -> None:
        """Until cancelled, or until every directory is offline. Runs under self.clock."""
        async with trio.open_nursery() as nursery:
            self.state = state = BrokerState(
                settings=self.settings,
                cluster_id=self._store.cluster_id(),
                image=self._image,
                store=self._store,
                partitions=self.partitions,
                remove_later=lambda folders, delay: nursery.start_soon(housekeeping.remove_after, delay, folders),
                limit=partial(limits.apply, self.planes),
                groups=self._groups,
                wall_ms=self.runtime.wall_ms,
                start_soon=lambda work: nursery.start_soon(work),
            )
            state.advertise({bound.port: bound.listener.name for bound in self._bound})
            self.partitions.fail_directories()
            await state.lose_leaders()
            nursery.start_soon(housekeeping.write_checkpoints, self.partitions, self.settings)
            nursery.start_soon(housekeeping.delete_old_segments, state)
            nursery.start_soon(housekeeping.release_idle_space, self.partitions)
            nursery.start_soon(housekeeping.remove_after, 0, self._left_behind)
            nursery.start_soon(self._groups.serve)
            nursery.start_soon(Inbox(self.planes, state).serve)
            if self._http is not None:
                nursery.start_soon(_serve_http, self._http, self.planes, state, self.address)
            await housekeeping.watch_directories(self.runtime.failures_fd, state, self.planes)
            nursery.cancel_scope.cancel()

    def close(self) -> None:
        """Clean: clients get the replies that are due, logs are flushed, the next start has nothing to recover but what
        lies in directories that failed."""
        self._undo.close()
        failed = [str(directory.path) for directory in self._directories if directory.failure is not None]
        if failed:
            logger.info("stopped, the next start has to recover %s", ", ".join(failed))
        else:
            logger.info("stopped, nothing is left to recover")

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def run(settings: Settings, ready: Callable[[Broker], None]) -> None:
    """Serves until SIGTERM or SIGINT; `ready` is called when clients are accepted.

    DirectoryError when every directory is offline.
    """
    with Broker(settings) as broker:
        trio.run(_serve_until_signal, broker, ready, clock=broker.clock)
        if broker.partitions.offline:
            raise DirectoryError("every log directory is offline; the broker stops")


async def _serve_until_signal(broker: Broker, ready: Callable[[Broker], None]) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve, broker, nursery.cancel_scope)
            ready(broker)
            logger.info("%s: stopping", signal.Signals(await anext(aiter(signals))).name)
            nursery.cancel_scope.cancel()


async def _serve(broker: Broker, scope: trio.CancelScope) -> None:
    await broker.serve()
    scope.cancel()


def _directory(undo: ExitStack, path: Path) -> Directory:
    """One that cannot be used is offline from the start; DirectoryError where the broker must not start with it."""
    try:
        directory = Directory(path)
    except UnusableDirectory as error:
        return Directory(path, failure=str(error))
    undo.callback(directory.close)
    return directory


def _bind(undo: ExitStack, settings: Settings, number: int) -> Bound:
    bound = bind(settings.client_listeners()[number])
    bound.tune(settings.socket_send_buffer_bytes, settings.socket_receive_buffer_bytes)
    undo.callback(bound.close)
    return bound


def _bind_http(undo: ExitStack, settings: Settings) -> Bound | None:
    if settings.http_listener is None:
        return None
    host, _, port = settings.http_listener.rpartition(":")
    bound = bind(Listener("http", host.strip("[]"), int(port)), "--http [HOST:]N")
    undo.callback(bound.close)
    return bound


async def _serve_http(bound: Bound, planes: Planes, state: BrokerState, address: str) -> None:
    from kafpy.broker.sight.http import HTTPServer
    from kafpy.broker.sight.metrics import Metrics

    listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in bound.sockets]
    await HTTPServer(Metrics(planes, state, address), state).serve(listeners)


def _count(topics: Iterable[Topic]) -> int:
    return sum(len(topic.partitions) for topic in topics)


def _store(settings: Settings, directories: list[Directory]) -> SQLiteStore:
    if directories[0].failure is not None:
        raise DirectoryError(f"{directories[0].failure} (the first of log.dirs holds the broker's metadata)")
    path = directories[0].path / STORE_FILE
    for directory in directories:
        cluster_id = _unless_unusable(directory, directory.cluster_id)
        if cluster_id is not None and not path.exists():
            raise DirectoryError(
                f"{directory.path} holds data of cluster {cluster_id}, but {path} is missing: bring it back, or choose "
                "another directory with --data DIR"
            )
    store = SQLiteStore(path, settings.cluster_id or partition_folder.format_id(uuid.uuid4().bytes))
    try:
        for each in directories:
            _unless_unusable(each, partial(each.identify, store.cluster_id(), settings.node_id))
        if directories[0].failure is not None:
            raise DirectoryError(f"{directories[0].failure}; repair it, or choose another directory with --data DIR")
    except BaseException:
        store.close()
        raise
    return store


def _unless_unusable(directory: Directory, ask: Callable[[], T]) -> T | None:
    """None for a directory that is offline, or goes offline with this."""
    if directory.failure is None:
        try:
            return ask()
        except UnusableDirectory as error:
            directory.failure = str(error)
    return None


def _planes(runtime: Runtime, settings: Settings) -> Planes:
    queued = settings.queued_max_request_bytes
    return Planes(
        runtime,
        planes=settings.num_network_threads,
        max_request_bytes=settings.socket_request_max_bytes,
        idle_ms=settings.connections_max_idle_ms,
        fetch_max_bytes=settings.fetch_max_bytes,
        fetch_sessions=settings.fetch_session_slots,
        queued_max_bytes=QUEUED_MAX_BYTES if queued == -1 else queued,
        quota_windows=settings.quota_window_num,
        quota_window_ms=settings.quota_window_size_seconds * 1000,
    )
