"""Quotas on the plane, on the broker's clock: how much passes, what replies say, who is held back and how long."""

import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafpy.protocol import api, codec
from tests.core.logs import append, make_batch
from tests.core.served import Client, Served, fetch_frame, produce_frame, serving, until

NONE = (0.0, False)
QUIET_S = 0.15


@pytest.fixture(params=[1, 3], ids=["1 plane", "3 planes"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, planes=request.param) as made:
        yield made


def limit(
    served: Served, produce: Any = NONE, fetch: Any = NONE, request: Any = NONE, client: str | None = None
) -> None:
    served.planes.limit_clients([(client, produce, fetch, request)])


def as_client(frame: bytes, client_id: bytes | None) -> bytes:
    """The frame of `test` under another client id."""
    named = b"\xff\xff" if client_id is None else len(client_id).to_bytes(2, "big") + client_id
    return frame[:8] + named + frame[14:]


def produce(client: Client, size: int, client_id: bytes | None = b"test", **options: Any) -> Any:
    client.send(as_client(produce_frame(make_batch(value=bytes(size)), **options), client_id))
    return codec.read_response(0, 9, client.receive())[1]


def advance(served: Served, ms: int) -> None:
    served.runtime.advance(ms)
    served.planes.wake()


def muted(client: Client) -> bool:
    """Whether a request finds no answer; it stays in the pipe."""
    client.send(fetch_frame({0: 0}))
    client.socket.settimeout(QUIET_S)
    try:
        return client.socket.recv(1, socket.MSG_PEEK) == b""
    except TimeoutError:
        return True
    finally:
        client.socket.settimeout(20)


def test_a_producer_is_told_and_muted(served: Served) -> None:
    limit(served, produce=(1000.0, False))
    with served.client() as client, served.client() as other:
        assert produce(client, 1500).throttle_time_ms == 0
        told = produce(client, 55_500).throttle_time_ms
        # 57,000 bytes and their headers, where two seconds allow 1,000 each
        assert 45_000 <= told <= 56_000
        assert muted(client)
        assert produce(other, 10, b"someone-else").throttle_time_ms == 0
        advance(served, told - 20_000)
        client.socket.settimeout(QUIET_S)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
        advance(served, 21_000)
        client.socket.settimeout(20)
        assert client.receive()


def test_the_rate_over_a_minute_keeps_to_the_bound(served: Served) -> None:
    """L-03, on the broker's clock: however fast the client is, at most 1.05 times the quota."""
    limit(served, produce=(10_000.0, False))
    sent = 0
    passed_ms = 0
    with served.client() as client:
        while passed_ms < 60_000:
            told = produce(client, 7000).throttle_time_ms
            sent += served.logs[0].size - sent
            advance(served, max(told, 1))
            passed_ms += max(told, 1)
    assert 0.8 * 600_000 <= sent <= 1.05 * 10_000 * passed_ms / 1000


def test_a_consumer_gets_nothing_and_is_told(served: Served) -> None:
    for _ in range(20):
        append(served.logs[0], make_batch(value=bytes(1000)))
    limit(served, fetch=(1500.0, False))
    with served.client() as client:
        first = client.fetch({0: 0})
        size = len(first.responses[0].partitions[0].records)
        assert first.throttle_time_ms == 0
        assert 2000 <= size <= 3000, "one reply holds no more than two windows allow"
        second = client.fetch({0: 2})
        assert (second.responses, second.error_code, second.session_id) == ([], 0, 0)
        assert second.throttle_time_ms > 0
        assert muted(client)
        advance(served, second.throttle_time_ms + 1)
        client.receive()
        advance(served, 12_000)
        assert client.fetch_one(2).records


def test_a_batch_above_every_window_still_passes(served: Served) -> None:
    append(served.logs[0], make_batch(value=bytes(50_000)))
    limit(served, fetch=(100.0, False))
    with served.client() as client:
        assert len(client.fetch_one(0).records) > 50_000
        assert client.fetch({0: 0}).throttle_time_ms > 400_000


def test_a_throttled_session_goes_on(served: Served) -> None:
    append(served.logs[0], make_batch(value=bytes(1000)))
    limit(served, fetch=(50.0, False))
    with served.client() as client:
        began = client.fetch({0: 0}, session=(0, 0))
        assert began.session_id > 0
        append(served.logs[0], make_batch(value=bytes(1000)))
        held = client.fetch({0: 1}, session=(began.session_id, 1))
        assert (held.session_id, held.error_code, held.responses) == (began.session_id, 0, [])
        advance(served, held.throttle_time_ms + 12_000)
        rest = client.fetch({}, session=(began.session_id, 2))
        assert len(rest.responses[0].partitions[0].records) > 1000


def test_a_session_that_would_begin_does_not(served: Served) -> None:
    append(served.logs[0], make_batch(value=bytes(1000)))
    limit(served, fetch=(50.0, False))
    with served.client() as client:
        client.fetch({0: 0})
        held = client.fetch({0: 0}, session=(0, 0))
        assert (held.session_id, held.responses) == (0, [])
        assert held.throttle_time_ms > 0
    until(lambda: served.planes.statistics()["fetch_sessions"] == 0)


def test_acks_0_is_muted_without_a_reply(served: Served) -> None:
    limit(served, produce=(100.0, False))
    with served.client() as client:
        client.send(produce_frame(make_batch(value=bytes(50_000)), acks=0))
        until(lambda: served.logs[0].log_end_offset == 1)
        assert muted(client)


def test_a_muted_connection_keeps_half_a_frame(served: Served) -> None:
    limit(served, produce=(1000.0, False))
    with served.client() as client:
        told = produce(client, 20_000).throttle_time_ms
        frame = produce_frame(make_batch(value=bytes(10)))
        client.socket.sendall(len(frame).to_bytes(4, "big") + frame[:20])
        advance(served, told + 1)
        client.socket.sendall(frame[20:])
        assert client.receive()


@pytest.mark.parametrize("shared", [False, True])
def test_each_client_or_all_together(served: Served, shared: bool) -> None:
    limit(served, produce=(1000.0, shared))
    with served.client() as one, served.client() as two:
        assert produce(one, 20_000, b"one").throttle_time_ms > 0
        assert (produce(two, 10, b"two").throttle_time_ms > 0) == shared


def test_a_new_connection_of_the_same_client_wins_nothing(served: Served) -> None:
    limit(served, produce=(1000.0, False))
    with served.client() as client:
        assert produce(client, 20_000).throttle_time_ms > 0
    with served.client() as client:
        assert produce(client, 10).throttle_time_ms > 0


CLIENT_IDS = [None, b"", b"\xff\xfe\x00", b"\r\n\x1b[31m", "\u202eevil".encode(), b"x" * 32767]


@pytest.mark.parametrize("client_id", CLIENT_IDS)
def test_any_client_id_is_metered(served: Served, client_id: bytes | None) -> None:
    """F10: what it holds does not matter, and none stands for another."""
    limit(served, produce=(20_000.0, False))
    with served.client() as client, served.client() as other:
        assert produce(client, 400_000, client_id).throttle_time_ms > 0
        assert produce(other, 10, b"x" * 32766).throttle_time_ms == 0


def test_rules_change_under_a_connection(served: Served) -> None:
    with served.client() as client:
        assert produce(client, 20_000).throttle_time_ms == 0
        limit(served, produce=(1000.0, False), client="test")
        told = produce(client, 20_000).throttle_time_ms
        assert told > 0
        advance(served, told + 1)
        served.planes.limit_clients([])
        assert produce(client, 50_000).throttle_time_ms == 0
        limit(served, produce=(1000.0, False), client="somebody")
        assert produce(client, 50_000).throttle_time_ms == 0


def test_time_is_metered(served: Served) -> None:
    """0.001 per cent of a thread: 100 microseconds in ten seconds. A throttle is at most one window."""
    limit(served, request=(0.001, False))
    with served.client() as client:
        for _ in range(200):
            told = produce(client, 5000).throttle_time_ms
            assert told <= 1000
            if told >= 500:
                if muted(client):
                    break  # else it was over before muted() had looked
                client.receive()
        else:
            pytest.fail("never muted")


def test_time_of_python_is_metered(served: Served) -> None:
    limit(served, request=(1.0, False))
    body = api.API_VERSIONS.request(client_software_name="a", client_software_version="1")
    frame = codec.write_request(18, 3, 1, "test", body)
    with served.client() as client:
        client.send(frame)
        select.select([served.planes.inbox_fd], [], [], 20)
        (request,) = served.planes.drain()
        assert request.metered
        assert served.planes.charge(request.token, 10_000_000) == 0
        told = served.planes.charge(request.token, 200_000_000)
        assert told == 1000, "far above, but no longer than a window"
        served.planes.reply(request.token, b"\0\0\0\1rest", told)
        assert client.receive() == b"\0\0\0\1rest"
        assert muted(client)
        with pytest.raises(KeyError):
            served.planes.charge(request.token, 1)


def connections(served: Served, **given: Any) -> None:
    most = {"most": 2**31 - 1, "per_address": 2**31 - 1, "rate": 0, "address_rate": 0.0, "addresses": []}
    served.planes.limit_connections(**{**most, **given})


def test_an_address_that_connects_too_fast(served: Served) -> None:
    """As in Kafka: accepted, not served, closed after the throttle time; not counted among its connections."""
    connections(served, address_rate=5.0, per_address=12)
    welcome = [served.client() for _ in range(10)]
    for client in welcome:
        assert produce(client, 10).responses
    with served.client() as late:
        assert muted(late)
        advance(served, 1001)
        assert late.closed()
    advance(served, 12_000)
    with served.client() as client:
        assert produce(client, 10).responses
    for client in welcome:
        client.socket.close()


@pytest.mark.parametrize(("host", "fast"), [("127.0.0.1", False), ("127.0.0.2", True)])
def test_one_address_has_its_own_rate(served: Served, host: str, fast: bool) -> None:
    connections(served, address_rate=1.0, addresses=[(socket.inet_aton("127.0.0.1"), -1, 1000.0)])
    opened = []
    for _ in range(15):
        each = socket.create_connection(("127.0.0.1", served.port), source_address=(host, 0))
        opened.append(each)
    until(lambda: served.planes.statistics()["connections"] == 15)
    assert (served.planes.statistics()["throttled"] > 0) == fast
    for each in opened:
        each.close()


def test_connections_of_one_address_are_bounded_while_it_runs(served: Served) -> None:
    with served.client() as first:
        assert produce(first, 10).responses
        connections(served, per_address=1)
        with served.client() as second:
            assert second.closed()
        connections(served, per_address=1, addresses=[(socket.inet_aton("127.0.0.1"), 2, 0.0)])
        with served.client() as second:
            assert produce(second, 10).responses


def test_the_brokers_own_rate_holds_the_backlog(served: Served) -> None:
    connections(served, rate=1)
    clients = [served.client() for _ in range(40)]
    until(lambda: served.planes.statistics()["connections"] >= 2)
    assert served.planes.statistics()["connections"] < 40
    connections(served)
    until(lambda: served.planes.statistics()["connections"] == 40)
    for client in clients:
        client.socket.close()
