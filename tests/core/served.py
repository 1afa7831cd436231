"""Planes over a few logs without a broker, and a client that speaks to them through a plain socket."""

import itertools
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from kafpy._core.log import Log
from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.protocol import api, codec

TOPIC = "events"
TOPIC_ID = b"0123456789abcdef"


def produce_frame(
    records: bytes | list[bytes | None] | None,
    *,
    version: int = 9,
    acks: int = 1,
    correlation: int = 1,
    topic: str = TOPIC,
    topic_id: bytes = TOPIC_ID,
) -> bytes:
    """One batch per partition, from partition 0 on."""
    request = api.PRODUCE.request
    parts = records if isinstance(records, list) else [records]
    data = [request.Partition(index=i, records=each) for i, each in enumerate(parts)]
    body = request(
        acks=acks, timeout_ms=5000, topic_data=[request.Topic(name=topic, topic_id=topic_id, partition_data=data)]
    )
    return codec.write_request(0, version, correlation, "test", body)


def fetch_frame(
    offsets: dict[int, int],
    *,
    version: int = 12,
    correlation: int = 1,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 50 << 20,
    partition_max_bytes: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
    forgotten: list[int] | None = None,
    topic: str = TOPIC,
    topic_id: bytes = TOPIC_ID,
) -> bytes:
    """`offsets`: where to begin, by partition. session: id and epoch."""
    request = api.FETCH.request
    parts = [
        request.Partition(partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
        for index, offset in offsets.items()
    ]
    body = request(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=[request.Topic(topic=topic, topic_id=topic_id, partitions=parts)] if parts else [],
        forgotten_topics_data=[request.Forgotten(topic=topic, topic_id=topic_id, partitions=forgotten)]
        if forgotten
        else [],
    )
    return codec.write_request(1, version, correlation, "test", body)


def sized(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


class Client:
    def __init__(self, port: int, *, timeout_s: float = 20.0, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout_s)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlations = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(map(sized, frames)))

    def take(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            piece = self.socket.recv(min(size - len(got), 1 << 20))
            if not piece:
                raise ConnectionError("the other side closed")
            got += piece
        return bytes(got)

    def receive(self) -> bytes:
        return self.take(struct.unpack(">i", self.take(4))[0])

    def closed(self) -> bool:
        """Whether the other side hangs up within the timeout without another byte."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def produce(self, records: Any, version: int = 9, **options: Any) -> Any:
        """The answer for partition 0."""
        self.send(produce_frame(records, version=version, **options))
        return produced(self.receive(), version)[0]

    def fetch(self, offsets: dict[int, int], version: int = 12, **options: Any) -> Any:
        self.send(fetch_frame(offsets, version=version, **options))
        return codec.read_response(1, version, self.receive())[1]

    def fetch_one(self, offset: int, **options: Any) -> Any:
        """The answer for partition 0."""
        (topic,) = self.fetch({0: offset}, **options).responses
        return topic.partitions[0]


def produced(payload: bytes, version: int = 9) -> list[Any]:
    answer = codec.read_response(0, version, payload)[1]
    return [part for topic in answer.responses for part in topic.partition_responses]


class Served:
    """Planes that listen on a free port of localhost, with `count` logs published as one topic."""

    def __init__(self, folder: Path, *, count: int = 1, settings: dict[str, int] | None = None, **limits: int) -> None:
        self.runtime = Runtime()
        self.logs = [Log(self.runtime, str(folder / f"{TOPIC}-{i}"), **(settings or {})) for i in range(count)]
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.listener.setblocking(False)
        self.port: int = self.listener.getsockname()[1]
        self.planes = Planes(self.runtime, **limits)
        self.planes.listen(self.listener.fileno(), 0)
        self.publish()
        self.planes.start()

    def publish(self) -> None:
        self.planes.publish(TOPIC, TOPIC_ID, list(self.logs))

    def client(self, **options: Any) -> Client:
        return Client(self.port, **options)

    def close(self) -> None:
        self.planes.stop()
        self.listener.close()
        for log in self.logs:
            log.close(flush=False)
        self.runtime.close()


@contextmanager
def serving(folder: Path, **options: Any) -> Iterator[Served]:
    made = Served(folder, **options)
    try:
        yield made
    finally:
        made.close()


def until(what: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)
