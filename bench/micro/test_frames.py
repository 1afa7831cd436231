"""A frame's way through a plane and back over a socket: parse, serve, reply. Mostly the price of two wake-ups; five in
flight share them."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.protocol import Struct, api, codec

TOPIC = "frames"
ROUNDS = 4000


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    runtime = Runtime()
    log = Log(runtime, str(tmp_path), clean=True)
    yield log
    log.close(flush=False)
    runtime.close()


@pytest.fixture
def client(log: Log) -> Iterator[socket.socket]:
    planes = Planes(log.runtime)
    planes.publish(TOPIC, bytes(16), [log])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        planes.listen(listener.fileno())
        planes.start()
        with socket.create_connection(listener.getsockname()) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield client
        planes.stop()


def framed(asked: api.Api, version: int, request: Struct) -> bytes:
    frame = codec.write_request(asked.key, version, 1, "bench", request)
    return len(frame).to_bytes(4, "big") + frame


def produced(size: int, timestamp: int) -> bytes:
    request = api.PRODUCE.request
    records = batch.encode([bytes(size)], timestamps=timestamp)
    topic = request.Topic(name=TOPIC, partition_data=[request.Partition(index=0, records=records)])
    return framed(api.PRODUCE, 9, request(acks=1, timeout_ms=30_000, topic_data=[topic]))


def exchange(client: socket.socket, frames: bytes, count: int) -> bytes:
    """The last reply."""
    client.sendall(frames)
    reply = b""
    for _ in range(count):
        size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
        reply = client.recv(size, socket.MSG_WAITALL)
    return reply


@pytest.mark.parametrize("in_flight", [1, 5])
@pytest.mark.parametrize("size", [1024, 16384])
def test_produce(benchmark: BenchmarkFixture, log: Log, client: socket.socket, size: int, in_flight: int) -> None:
    frames = produced(size, log.runtime.wall_ms()) * in_flight
    reply = benchmark.pedantic(exchange, (client, frames, in_flight), rounds=ROUNDS, warmup_rounds=100)
    partition = codec.read_response(0, 9, reply)[1].responses[0].partition_responses[0]
    assert (partition.error_code, log.log_end_offset) == (0, (ROUNDS + 100) * in_flight)


@pytest.mark.parametrize("size", [1024, 65536])
def test_fetch(benchmark: BenchmarkFixture, log: Log, client: socket.socket, size: int) -> None:
    assert log.append(batch.encode([bytes(size)], timestamps=log.runtime.wall_ms()))[0] == 0
    request = api.FETCH.request
    topic = request.Topic(
        topic=TOPIC, partitions=[request.Partition(partition=0, fetch_offset=0, partition_max_bytes=1)]
    )
    frame = framed(api.FETCH, 12, request(max_wait_ms=0, min_bytes=1, max_bytes=1, session_epoch=-1, topics=[topic]))
    reply = benchmark(exchange, client, frame, 1)
    partition = codec.read_response(1, 12, reply)[1].responses[0].partitions[0]
    assert (partition.error_code, len(partition.records) > size) == (0, True)
