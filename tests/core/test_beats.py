"""Heartbeats that are answered while the inbox is drained."""

import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafpy._core.plane import Request
from kafpy.protocol import api, codec
from tests.core.served import Client, Served, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as made:
        yield made


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with served.client() as made:
        yield made


def frame(
    correlation_id: int, version: int = 4, *, client_id: str = "c", generation: int = 3, group: str = "g"
) -> bytes:
    body = api.HEARTBEAT.request(group_id=group, generation_id=generation, member_id="m")
    return codec.write_request(12, version, correlation_id, client_id, body)


def payload(request: Request, error: int = 0) -> bytes:
    answer = api.HEARTBEAT.response(error_code=error)
    return codec.write_response(12, request.api_version, request.correlation_id, answer)


def drained(served: Served) -> list[Request]:
    assert select.select([served.planes.inbox_fd], [], [], 20)[0]
    return served.planes.drain()


def answered(client: Client, version: int = 4) -> tuple[int, int]:
    """Correlation id and error code."""
    correlation_id, body = codec.read_response(12, version, client.receive())
    return correlation_id, body.error_code


def remembered(served: Served, client: Client, given: bytes) -> Any:
    client.send(given)
    (request,) = drained(served)
    made = served.planes.remember(request.frame, payload(request))
    served.planes.reply(request.token, payload(request))
    client.receive()
    return made


@pytest.mark.parametrize("version", range(5))
def test_the_same_again(served: Served, client: Client, version: int) -> None:
    assert remembered(served, client, frame(1, version)) is not None
    for correlation_id in (2, 3, -1, 2**31 - 1):
        client.send(frame(correlation_id, version))
        assert drained(served) == []
        assert served.planes.drained_last == 1
        assert answered(client, version) == (correlation_id, 0)


def test_others_are_asked_about(served: Served, client: Client) -> None:
    remembered(served, client, frame(1))
    others = [
        frame(2, generation=4),
        frame(2, group="h"),
        frame(2, client_id="d"),
        frame(2, version=3),
        frame(2) + b"\0",
        codec.write_request(11, 4, 2, "c", api.JOIN_GROUP.request(group_id="g", member_id="m")),
    ]
    for other in others:
        client.send(other)
        (request,) = drained(served)
        assert request.frame == other
        served.planes.reply(request.token, payload(request))
        client.receive()


def test_in_order_among_others(served: Served, client: Client) -> None:
    remembered(served, client, frame(1))
    client.send(frame(2), frame(3, generation=9), frame(4))
    got: list[Request] = []
    while not got:
        got += drained(served)
    served.planes.reply(got[0].token, payload(got[0], 22))
    while served.planes.statistics()["requests"] < 4:
        served.planes.drain()
    served.planes.drain()
    assert [answered(client) for _ in range(3)] == [(2, 0), (3, 22), (4, 0)]


def test_forgotten(served: Served, client: Client) -> None:
    first = remembered(served, client, frame(1))
    first.forget()
    first.forget()
    second = remembered(served, client, frame(2))
    first.forget()
    client.send(frame(3))
    assert drained(served) == [], "the newer one is remembered"
    assert answered(client) == (3, 0)
    second.forget()
    client.send(frame(4))
    (request,) = drained(served)
    served.planes.reply(request.token, payload(request, 27))
    assert answered(client) == (4, 27)


def test_when_it_was_heard(served: Served, client: Client) -> None:
    beat = remembered(served, client, frame(1))
    served.runtime.advance(5000)
    assert 5000 <= beat.idle_ms < 100_000
    client.send(frame(2))
    assert drained(served) == []
    assert beat.idle_ms < 5000
    beat.forget()
    served.runtime.advance(5000)
    assert beat.idle_ms >= 5000, "it still tells when"


def test_what_is_not_remembered(served: Served) -> None:
    planes = served.planes
    assert planes.remember(frame(1, group="g" * 600), b"\0\0\0\1\0\0") is None
    assert planes.remember(codec.write_request(3, 0, 1, "c", api.METADATA.request()), b"\0\0\0\1") is None
    assert planes.remember(b"\0\x0c\0\0", b"\0\0\0\1") is None
