"""kafpy.Broker: a real broker in this process, on a free port, with its files in a folder that goes with it.

    with kafpy.Broker(num_partitions=3) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

Any client connects to it as to any broker. Its methods may be called from every thread. A process that is forked while
it runs is none of its business: there, closing does nothing, and nobody listens.
"""

import atexit
import os
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from kafpy.broker.server import Broker as Server
from kafpy.broker.settings import Given, Settings, load
from kafpy.broker.sockets import BindError
from kafpy.broker.state import BrokerState
from kafpy.embedded import record
from kafpy.embedded.durations import Duration, to_ms
from kafpy.embedded.faults import FaultVerbs
from kafpy.embedded.loop import Closed, Loop
from kafpy.embedded.record import Record
from kafpy.metadata import MetadataError, StoreError
from kafpy.storage.directories import DirectoryError

T = TypeVar("T")

Setting = str | bool | int | float | list[str] | tuple[str, ...] | Path | None

DEFAULTS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}
"""What a test is not to wait for."""
POLL_S = 0.002


class BrokerError(Exception):
    """One line that says what is wrong."""


class Clock:
    """The broker's own: real time, and what advance() added to it."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._broker._server.runtime.wall_ms()

    def advance(self, duration: Duration) -> None:
        """Every timer of the broker follows: retention, sessions and rebalances of groups, fetches that wait, quotas,
        offsets of groups that are gone. What is due by then is done when this returns. Connections stay."""
        self._broker._server.clock.advance(to_ms(duration))
        self._broker._on_loop(lambda: self._broker._state.settle())


class Broker(FaultVerbs):
    """Runs from construction to close(). SettingError (a ValueError) and BrokerError tell why it does not."""

    def __init__(self, *, port: int = 0, directory: str | Path | None = None, **settings: Setting) -> None:
        """`settings`: Kafka's keys with `_` for `.`. `directory` stays where it is; without one, there is one for the
        broker's life."""
        self._pid = os.getpid()
        self._closed = False
        with ExitStack() as undo:
            if directory is None and not settings.keys() & {"log_dir", "log_dirs"}:
                directory = tempfile.mkdtemp(prefix="kafpy-")
                undo.callback(shutil.rmtree, directory, ignore_errors=True)
            try:
                self._server = Server(_settings(port, directory, settings))
            except (BindError, DirectoryError, StoreError) as error:
                raise BrokerError(str(error)) from None
            except OSError as error:
                raise BrokerError(f"{error.filename or 'the broker'}: {error.strerror or error}") from None
            undo.callback(self._server.close)
            self._loop = Loop(self._server)
            self._loop.start()
            undo.callback(self._loop.stop)
            self._undo = undo.pop_all()
        self.bootstrap_servers = self._server.address
        self.port = self._server.port
        self.directories = self._server.settings.directories
        self.clock = Clock(self)
        _open.add(self)

    # ---- topics and records

    def create_topic(
        self, name: str, partitions: int = -1, configs: Mapping[str, str | bool | int | float] | None = None
    ) -> None:
        """Served when this returns; without a number, `num.partitions`. BrokerError tells why not."""
        texts = {key: _text(value) for key, value in (configs or {}).items()}
        try:
            self._on_loop(lambda: self._state.create_topic(name, partitions, configs=texts))
        except MetadataError as error:
            raise BrokerError(f"topic {name}: {error}") from None

    def records(
        self, topic: str, partition: int | None = None, *, count: int = 0, timeout: Duration = "10s"
    ) -> list[Record]:
        """All that is committed, by partition and offset. With `count`, waits until there are so many, in real time.

        BrokerError for a topic that is not there, and for records that do not come.
        """
        deadline = time.monotonic() + to_ms(timeout) / 1000
        while True:
            found = self._records(topic, partition, missing_ok=count > 0)
            if len(found) >= count:
                return found
            if time.monotonic() > deadline:
                raise BrokerError(f"{len(found)} records came to {topic}, not {count}")
            time.sleep(POLL_S)

    def _records(self, topic: str, partition: int | None, *, missing_ok: bool) -> list[Record]:
        self._check_open()
        known = self._state.image.topic(topic)
        if known is None:
            if missing_ok:
                return []
            raise BrokerError(f"there is no topic {topic}")
        if partition is not None and not 0 <= partition < len(known.partitions):
            raise BrokerError(f"topic {topic} has no partition {partition}")
        found: list[Record] = []
        for index in range(len(known.partitions)) if partition is None else (partition,):
            log = self._server.partitions.log(topic, index)
            if log is None:
                raise BrokerError(f"{topic}-{index} is offline")
            found += record.read(topic, index, log)
        return found

    # ---- life

    def close(self) -> None:
        """Clients are hung up on, the files are left as by any clean stop, or removed. Again: nothing."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        _open.discard(self)
        self._undo.close()

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kafpy.Broker {self.bootstrap_servers}{' closed' if self._closed else ''}>"

    @property
    def _state(self) -> BrokerState:
        state = self._server.state
        assert state is not None
        return state

    def _check_open(self) -> None:
        if self._closed or self._pid != os.getpid():
            raise BrokerError("the broker is closed" if self._closed else "the broker belongs to another process")
        if self._loop.failure is not None:
            raise BrokerError(f"the broker has failed: {self._loop.failure}")

    def _on_loop(self, work: Callable[[], Awaitable[T]]) -> T:
        self._check_open()
        try:
            return self._loop.run(work)
        except Closed as error:
            raise BrokerError(str(error)) from None

    def _disown(self) -> None:
        """In a child: the parent's port must not seem to be open because of it."""
        for each in self._server.sockets():
            each.close()
        _disowned.append(self)


def _settings(port: int, directory: str | Path | None, settings: Mapping[str, Setting]) -> Settings:
    given = [Given(name, text, "kafpy.Broker") for name, text in DEFAULTS.items()]
    given.append(Given("listeners", f"PLAINTEXT://127.0.0.1:{port}", "port"))
    if directory is not None:
        given.append(Given("log.dirs", str(directory), "directory"))
    for name, value in settings.items():
        if value is not None:
            given.append(Given(name.replace("_", "."), _text(value), "kafpy.Broker"))
    loaded, notes = load(given)
    for note in notes:
        warnings.warn(note, stacklevel=4)
    return loaded


def _text(value: str | bool | int | float | list[str] | tuple[str, ...] | Path) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list | tuple) else str(value)


# ---- the end of the process, and its children

_open: "weakref.WeakSet[Broker]" = weakref.WeakSet()
_disowned: list[Broker] = []
"""Never freed: what they hold belongs to the parent."""


@atexit.register
def _close_all() -> None:
    for broker in list(_open):
        broker.close()


def _disown_all() -> None:
    for broker in list(_open):
        broker._disown()


os.register_at_fork(after_in_child=_disown_all)
