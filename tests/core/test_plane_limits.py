"""Frames that lie, clients that stop half-way, and limits: each costs its own connection and nothing else."""

import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.logs import append, make_batch
from tests.core.served import Served, fetch_frame, produce_frame, produced, serving, sized, until

MOST = 1 << 20


@pytest.fixture(scope="module", params=[1, 3], ids=["1 plane", "3 planes"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("limits"), planes=request.param, max_request_bytes=MOST) as made:
        append(made.logs[0], make_batch())
        yield made


def hangs_up(served: Served, data: bytes) -> None:
    with served.client() as neighbour, served.client() as client:
        client.socket.sendall(data)
        assert client.closed()
        assert neighbour.produce(make_batch()).error_code == 0


@pytest.mark.parametrize("size", [-(2**31), -1, *range(8), MOST + 1, 2**31 - 1])
def test_sizes_that_no_request_has(served: Served, size: int) -> None:
    hangs_up(served, struct.pack(">i", size) + bytes(64))


FRAMES = {
    **{f"produce v{version}": produce_frame(make_batch(2), version=version) for version in (3, 8, 9, 12, 13)},
    **{f"fetch v{version}": fetch_frame({0: 0, 1: 5}, version=version) for version in (4, 7, 11, 12, 13, 18)},
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_body_cut_at_every_byte(served: Served, name: str) -> None:
    """Cut and sized as cut: a frame that ends too early. Nothing of it is appended."""
    frame = FRAMES[name]
    before = served.logs[0].log_end_offset
    clients = []
    for size in range(8, len(frame)):
        client = served.client()
        client.send(frame[:size])
        clients.append(client)
    assert all(client.closed() for client in clients)
    for client in clients:
        client.socket.close()
    assert served.logs[0].log_end_offset == before
    with served.client() as client:
        client.send(frame)
        assert len(client.receive()) > 20


@pytest.mark.parametrize("name", FRAMES)
def test_bytes_behind_the_body(served: Served, name: str) -> None:
    """Passed over, as Kafka does."""
    with served.client() as client:
        client.send(FRAMES[name] + b"\0", FRAMES[name])
        assert len(client.receive()) == len(client.receive()) > 20


def header(key: int, version: int, flexible: bool, client_id: bytes = b"\0\1x") -> bytes:
    return struct.pack(">hhi", key, version, 1) + client_id + (b"\0" if flexible else b"")


PRODUCE_HEAD = b"\xff\xff" + struct.pack(">hi", 1, 1000)
FLEXIBLE_HEAD = b"\0" + struct.pack(">hi", 1, 1000)
FETCH_HEAD = struct.pack(">iiiib", -1, 0, 1, 1 << 20, 0)
SESSION = struct.pack(">ii", 0, -1)
HUGE = b"\xff\xff\xff\xff\x0f"
LIES = {
    "topics: 2 billion": header(0, 3, False) + PRODUCE_HEAD + b"\x7f\xff\xff\xff",
    "topics: null": header(0, 3, False) + PRODUCE_HEAD + b"\xff\xff\xff\xff",
    "topics: -2": header(0, 3, False) + PRODUCE_HEAD + b"\xff\xff\xff\xfe",
    "partitions: 2 billion": header(0, 3, False) + PRODUCE_HEAD + b"\0\0\0\1\0\1x\x7f\xff\xff\xff",
    "partitions: null": header(0, 3, False) + PRODUCE_HEAD + b"\0\0\0\1\0\1x\xff\xff\xff\xff",
    "records: 2 GB": header(0, 3, False) + PRODUCE_HEAD + b"\0\0\0\1\0\1x\0\0\0\1\0\0\0\0\x7f\xff\xff\xff",
    "records: -2": header(0, 3, False) + PRODUCE_HEAD + b"\0\0\0\1\0\1x\0\0\0\1\0\0\0\0\xff\xff\xff\xfe",
    "name: null": header(0, 3, False) + PRODUCE_HEAD + b"\0\0\0\1\xff\xff\0\0\0\0",
    "name: -2": header(0, 3, False) + PRODUCE_HEAD + b"\0\0\0\1\xff\xfe\0\0\0\0",
    "client id: -2": struct.pack(">hhih", 0, 3, 1, -2) + PRODUCE_HEAD + b"\0\0\0\0",
    "client id: 32767": struct.pack(">hhih", 0, 3, 1, 32767) + PRODUCE_HEAD + b"\0\0\0\0",
    "compact topics: 4 billion": header(0, 9, True) + FLEXIBLE_HEAD + HUGE,
    "compact records: 4 GB": header(0, 9, True) + FLEXIBLE_HEAD + b"\2\2x\2\0\0\0\0" + HUGE,
    "varint without end": header(0, 9, True) + FLEXIBLE_HEAD + b"\xff" * 20,
    "header tags: 4 billion": header(0, 9, False) + HUGE + bytes(50),
    "tag larger than the frame": header(0, 9, True) + FLEXIBLE_HEAD + b"\1\1\0\xff\xff\x03",
    "200,000 tags": header(0, 9, True) + FLEXIBLE_HEAD + b"\1" + b"\xc0\x9a\x0c" + b"\0\0" * 200_000,
    "fetch topics: 2 billion": header(1, 4, False) + FETCH_HEAD + b"\x7f\xff\xff\xff",
    "fetch topic of 300 letters": header(1, 4, False) + FETCH_HEAD + b"\0\0\0\1\1\x2c" + bytes(300) + b"\0\0\0\0",
    "fetch partitions: 2 billion": header(1, 4, False) + FETCH_HEAD + b"\0\0\0\1\0\1x\x7f\xff\xff\xff",
    "fetch forgotten: 2 billion": header(1, 7, False) + FETCH_HEAD + SESSION + bytes(4) + b"\x7f\xff\xff\xff",
    "fetch forgotten parts: 2 billion": header(1, 7, False)
    + FETCH_HEAD
    + SESSION
    + bytes(4)
    + b"\0\0\0\1\0\1x\x7f\xff\xff\xff",
    "fetch tags": header(1, 12, True) + FETCH_HEAD + SESSION + b"\1\1\1" + HUGE,
}


@pytest.mark.parametrize("name", LIES)
def test_counts_that_lie(served: Served, name: str) -> None:
    hangs_up(served, sized(LIES[name]))


def test_unknown_tags_are_passed_over(served: Served) -> None:
    body = header(0, 9, True) + FLEXIBLE_HEAD + b"\1" + b"\2\x05\3abc\x07\0"
    with served.client() as client:
        client.send(body)
        assert produced(client.receive()) == []


def test_replies_before_a_bad_frame_still_come(served: Served) -> None:
    with served.client() as client:
        client.socket.sendall(sized(produce_frame(make_batch())) * 2 + struct.pack(">i", -1))
        assert produced(client.receive())[0].error_code == 0
        assert produced(client.receive())[0].error_code == 0
        assert client.closed()


def test_a_frame_in_pieces(served: Served) -> None:
    with served.client() as client:
        data = sized(produce_frame(make_batch(value=bytes(200)))) * 2
        for at in range(len(data)):
            client.socket.sendall(data[at : at + 1])
        for _ in range(2):
            assert produced(client.receive())[0].error_code == 0
        large = sized(produce_frame(make_batch(value=bytes(700_000))))
        for at in range(0, len(large), 50_000):
            client.socket.sendall(large[at : at + 50_000])
            time.sleep(0.001)
        assert produced(client.receive())[0].error_code == 0


def test_a_client_that_leaves_in_the_middle(served: Served) -> None:
    for size in (1, 4, 5, 100, 3000):
        client = served.client()
        client.socket.sendall(sized(produce_frame(make_batch(value=bytes(5000))))[:size])
        client.socket.close()
    client = served.client()
    client.send(fetch_frame({0: 10**6}, max_wait_ms=10_000), fetch_frame({0: 0}, max_wait_ms=10_000))
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.close()
    until(lambda: served.planes.statistics()["connections"] == 0)


def test_no_more_connections_than_allowed(tmp_path: Path) -> None:
    with serving(tmp_path, planes=3, max_connections=3) as served:
        kept = [served.client() for _ in range(3)]
        for client in kept:
            assert client.produce(make_batch()).error_code == 0
        with served.client() as extra:
            assert extra.closed()
        kept.pop().socket.close()
        until(lambda: served.planes.statistics()["connections"] == 2)
        with served.client() as again:
            assert again.produce(make_batch()).error_code == 0
        for client in kept:
            client.socket.close()


def test_no_more_connections_of_one_address_than_allowed(tmp_path: Path) -> None:
    with serving(tmp_path, planes=3, max_connections_per_ip=2) as served:
        kept = [served.client() for _ in range(2)]
        for client in kept:
            assert client.produce(make_batch()).error_code == 0
        with served.client() as extra:
            assert extra.closed()
        with socket.create_connection(("127.0.0.1", served.port), 5, source_address=("127.0.0.2", 0)) as other:
            other.sendall(sized(produce_frame(make_batch())))
            assert other.recv(100)
        for client in kept:
            client.socket.close()
        until(lambda: served.planes.statistics()["connections"] == 0)
        with served.client() as again:
            assert again.produce(make_batch()).error_code == 0


def test_idle_connections_are_closed(tmp_path: Path) -> None:
    with serving(tmp_path, idle_ms=2_000) as served, served.client() as idle, served.client() as busy:
        started = time.monotonic()
        idle.socket.settimeout(0.05)

        def closed() -> bool:
            assert busy.produce(make_batch()).error_code == 0
            return idle.closed()

        until(closed)
        assert time.monotonic() - started > 1.9


def test_idle_ms_below_zero_means_never(tmp_path: Path) -> None:
    with serving(tmp_path, idle_ms=-1) as served, served.client() as client:
        for _ in range(3):
            time.sleep(0.6)
            assert client.produce(make_batch()).error_code == 0


def test_large_frames_wait_for_memory(tmp_path: Path) -> None:
    """Two that do not fit together come one after the other."""
    with serving(tmp_path, queued_max_bytes=2 << 20, settings={"max_message_bytes": 2 << 20}) as served:
        frame = sized(produce_frame(make_batch(value=bytes(1_500_000))))
        first, second = served.client(), served.client()
        first.socket.sendall(frame[:1_000_000])
        time.sleep(0.1)
        second.socket.settimeout(0.2)
        second.socket.setblocking(False)
        second.socket.send(frame)
        time.sleep(0.2)
        first.socket.sendall(frame[1_000_000:])
        assert produced(first.receive())[0].error_code == 0
        first.socket.close()
        second.socket.close()
        until(lambda: served.planes.statistics()["connections"] == 0)
        with served.client() as again:
            again.socket.sendall(frame)
            assert produced(again.receive())[0].error_code == 0
