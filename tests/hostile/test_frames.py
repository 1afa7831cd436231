"""Rows F: frames and headers."""

import socket
import time
from pathlib import Path

import pytest

from kafpy.protocol import api, codec
from tests.broker_process import BrokerProcess
from tests.hostile.conftest import Hostile, cpu_s, framed, memory_kb, read_all

VERSIONS = codec.write_request(18, 0, 7, "h", api.API_VERSIONS.request())
METADATA = codec.write_request(3, 12, 7, "h", api.METADATA.request(topics=[]))
PRODUCE = codec.write_request(0, 9, 7, "h", api.PRODUCE.request(acks=1, timeout_ms=1000, topic_data=[]))
FETCH = codec.write_request(1, 12, 7, "h", api.FETCH.request(replica_id=-1, max_wait_ms=0, topics=[]))
CLIENT_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(160)


@pytest.mark.parametrize("size", [-1, -(2**31), 0x7FFFFFFF, 104857601], ids=lambda size: f"F1[{size}]")
def test_sizes_out_of_bounds(hostile: Hostile, target: BrokerProcess, size: int) -> None:
    before = memory_kb(target)
    assert hostile.closes((size & 0xFFFFFFFF).to_bytes(4, "big"))
    assert memory_kb(target) - before < 20_000


@pytest.mark.parametrize("size", range(8), ids=lambda size: f"F2[{size}]")
def test_no_room_for_a_header(hostile: Hostile, size: int) -> None:
    assert hostile.closes(framed(VERSIONS[:size]))


def test_f4_a_promise_of_100_mib(hostile: Hostile, target: BrokerProcess) -> None:
    before = memory_kb(target)
    for _ in range(20):
        hostile.send((100 << 20).to_bytes(4, "big") + PRODUCE[:8] + bytes(1000))
    assert memory_kb(target) - before < 20_000


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_f4_a_byte_a_second(hostile: Hostile) -> None:
    """A frame has half a minute: the connection is closed though it is never idle."""
    made = hostile.send((1000).to_bytes(4, "big") + PRODUCE[:8])
    made.settimeout(1)
    started = time.monotonic()
    while True:
        try:
            made.sendall(b"\0")
            assert made.recv(1) == b""
            break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    assert time.monotonic() - started > 29


def test_f5_answers_that_nobody_reads(hostile: Hostile, target: BrokerProcess) -> None:
    before = memory_kb(target)
    deaf = hostile.connect()
    deaf.setblocking(False)
    data = framed(METADATA) * 20000
    sent, stuck = 0, 0
    while sent < len(data) and stuck < 20:
        try:
            sent += deaf.send(data[sent:])
            stuck = 0
        except BlockingIOError:
            stuck += 1
            time.sleep(0.02)
    assert memory_kb(target) - before < 60_000


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(CLIENT_HELLO, id="F6[TLS]"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="F6[HTTP]"),
        pytest.param(bytes(range(255, 0, -1)) * 3, id="F6[random]"),
    ],
)
def test_other_protocols(hostile: Hostile, data: bytes) -> None:
    assert hostile.closes(data)


@pytest.mark.parametrize("key", [-1, 32767, 999, 4, 5, 6, 7, 52, 62], ids=lambda key: f"F7[{key}]")
def test_unknown_api(hostile: Hostile, key: int) -> None:
    assert hostile.closes(framed((key & 0xFFFF).to_bytes(2, "big") + VERSIONS[2:]))


@pytest.mark.parametrize("version", [5, 99, 32767, -1], ids=lambda version: f"F8[{version}]")
def test_api_versions_of_another_time(hostile: Hostile, version: int) -> None:
    made = hostile.frame(VERSIONS[:2] + (version & 0xFFFF).to_bytes(2, "big") + VERSIONS[4:])
    _, answer = codec.read_response(18, 0, made.recv(65536)[4:])
    assert answer.error_code == 35
    assert any(each.api_key == 18 for each in answer.api_keys)
    made.sendall(framed(VERSIONS))
    assert codec.read_response(18, 0, made.recv(65536)[4:])[1].error_code == 0


@pytest.mark.parametrize(("key", "version"), [(0, 2), (0, 14), (1, 3), (1, 19), (3, 14), (3, -1), (19, 1), (19, 8)])
def test_f9_unsupported_version(hostile: Hostile, key: int, version: int) -> None:
    head = key.to_bytes(2, "big") + (version & 0xFFFF).to_bytes(2, "big")
    assert hostile.closes(framed(head + METADATA[4:]))


@pytest.mark.parametrize(
    "client_id",
    [None, b"x" * 32767, b"\xff\xfe", b"a\r\nb\0\x1b[31m", "\u202egnirts".encode()],
    ids=lambda each: f"F10[{each[:6] if each else each}]",
)
def test_client_ids(hostile: Hostile, client_id: bytes | None) -> None:
    text = b"\xff\xff" if client_id is None else len(client_id).to_bytes(2, "big") + client_id
    for frame in (METADATA, PRODUCE, FETCH):
        made = hostile.frame(frame[:8] + text + frame[11:])
        made.recv(65536)  # an answer or a closed connection, both are fine


@pytest.mark.parametrize("frame", [METADATA, PRODUCE, FETCH], ids=["F11[3]", "F11[0]", "F11[1]"])
@pytest.mark.parametrize(
    "tags",
    [
        b"\x80\xad\xe2\x04" + b"\x00\x00" * 100_000,
        b"\xff\xff\xff\xff\x0f" + bytes(100),
        b"\xff\xff\xff\xff\xff\x01",
        b"\x01\x00\xff\xff\xff\x7f",
    ],
    ids=["ten million", "four billion", "six bytes", "too long"],
)
def test_tags_in_a_header(hostile: Hostile, target: BrokerProcess, frame: bytes, tags: bytes) -> None:
    before = cpu_s(target)
    assert hostile.closes(framed(frame[:11] + tags + frame[12:]))
    assert cpu_s(target) - before < 1


@pytest.mark.parametrize("frame", [METADATA, PRODUCE, FETCH], ids=["F12[3]", "F12[0]", "F12[1]"])
@pytest.mark.parametrize("behind", [b"\0", bytes(1000), b"\xff" * 11], ids=["one", "many", "no tags"])
def test_trailing_bytes(hostile: Hostile, frame: bytes, behind: bytes) -> None:
    """Passed over, as Kafka does; the connection goes on with the next frame."""
    made = hostile.send(framed(frame + behind) + framed(VERSIONS))
    with made.makefile("rb") as answers:
        for key, version in ((int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")), (18, 0)):
            size = int.from_bytes(answers.read(4), "big")
            assert codec.read_response(key, version, answers.read(size))[0] == 7


def test_f13_bodies_cut_short(hostile: Hostile, target: BrokerProcess) -> None:
    """Of every API and version, at every byte; the broker hangs up on each."""
    for spoken in api.ALL.values():
        for version in spoken.versions:
            whole = codec.write_request(spoken.key, version, 7, "h", spoken.request())
            body = len(codec.write_request(spoken.key, version, 7, "h", spoken.request())) - 1
            for cut in range(11, body):
                made = socket.create_connection((target.host, target.port), 10)
                made.sendall(framed(whole[:cut]))
                assert read_all(made) == b"", (spoken.name, version, cut)
                made.close()


def test_refusals_are_told_once_and_without_what_was_sent(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    try:
        for data in (
            CLIENT_HELLO,
            framed(PRODUCE[:-1] + b"secret"),
            framed(METADATA[:9]),
            framed(b"\0\x63secret\0\0\0\0"),
        ):
            for _ in range(10):
                with socket.create_connection((broker.host, broker.port), 10) as made:
                    made.sendall(data)
                    assert read_all(made) == b""
        end = time.monotonic() + 30
        while not broker.stderr and time.monotonic() < end:
            time.sleep(0.01)
        (line,) = broker.stderr.splitlines()
        assert "WARNING a connection from 127.0.0.1 was closed: it sent no request that is served here" in line
        assert "secret" not in line
    finally:
        broker.stop()
