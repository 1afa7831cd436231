"""Produce and Fetch through planes: answers, their order, waits, sessions, back-pressure."""

import random
import resource
import select
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.protocol import api, codec
from tests.core.codecs import gzip
from tests.core.logs import append, batches, idempotent, make_batch
from tests.core.served import (
    TOPIC,
    TOPIC_ID,
    Served,
    fetch_frame,
    produce_frame,
    produced,
    serving,
    sized,
    until,
)

INVALID_TOPIC = 17
HOUR_MS = 3_600_000


@pytest.fixture(params=[1, 3], ids=["1 plane", "3 planes"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, count=3, planes=request.param) as made:
        yield made


@pytest.mark.parametrize("version", range(3, 14))
def test_produce_of_every_version(served: Served, version: int) -> None:
    with served.client() as client:
        for i in range(3):
            answer = client.produce(make_batch(2), version)
            assert (answer.error_code, answer.base_offset) == (0, 2 * i)
    assert served.logs[0].log_end_offset == 6


@pytest.mark.parametrize("version", [3, 9, 13])
def test_R21_nobody_produces_to_an_internal_topic(served: Served, version: int) -> None:
    served.planes.publish(TOPIC, TOPIC_ID, list(served.logs), internal=True)
    append(served.logs[0], make_batch())
    with served.client() as client:
        assert client.produce(make_batch(), version).error_code == INVALID_TOPIC
        assert client.fetch_one(0).records == served.logs[0].read(0, 1)
    assert served.logs[0].log_end_offset == 1


@pytest.mark.parametrize("version", range(4, 19))
def test_fetch_of_every_version(served: Served, version: int) -> None:
    for i in range(4):
        append(served.logs[0], make_batch(2, value=bytes(100 * i)))
    whole = served.logs[0].read(0, 1 << 20)
    with served.client() as client:
        answer = client.fetch({0: 3, 1: 0, 2: 1}, version)
        first, second, third = answer.responses[0].partitions
        assert first.records == b"".join(batches(whole)[1:])
        assert (first.error_code, first.high_watermark) == (0, 8)
        assert (second.error_code, second.high_watermark, second.records or b"") == (0, 0, b"")
        assert third.error_code == 1


def test_large_and_small_records_come_back_the_same(served: Served) -> None:
    sizes = [1, 100, 10_000, 16_000, 17_000, 100_000, 900_000]
    with served.client() as client:
        for size in sizes:
            assert client.produce(make_batch(value=random.Random(size).randbytes(size))).error_code == 0
        stored = [served.logs[0].read(i, 1) for i in range(len(sizes))]
        assert client.fetch_one(0, partition_max_bytes=10 << 20).records == b"".join(stored)
        for i, each in enumerate(stored):
            got = client.fetch_one(i, partition_max_bytes=1).records
            assert got == each


def test_replies_leave_in_the_order_of_requests(served: Served) -> None:
    with served.client() as client:
        frames = []
        for i in range(60):
            if i % 3 == 0:
                frames.append(produce_frame(make_batch(), correlation=i))
            elif i % 3 == 1:
                frames.append(fetch_frame({0: 0}, correlation=i, max_wait_ms=50, min_bytes=1 << 20))
            else:
                frames.append(codec.write_request(18, 0, i, "test", api.API_VERSIONS.request()))
        client.send(*frames)
        answering = threading.Thread(target=answer_inbox, args=(served, 20))
        answering.start()
        seen = [int.from_bytes(client.receive()[:4], "big") for _ in frames]
        answering.join()
    assert seen == list(range(60))
    assert served.logs[0].log_end_offset == 20


def answer_inbox(served: Served, count: int, seen: list[Any] | None = None) -> None:
    """Answers so many requests with nothing but their correlation id, the last first."""
    while count:
        got = served.planes.drain()
        count -= len(got)
        for request in reversed(got):
            if seen is not None:
                seen.append(request)
            served.planes.reply(request.token, request.correlation_id.to_bytes(4, "big"))
        time.sleep(0.001)


def test_requests_for_python_carry_their_addresses(served: Served) -> None:
    with served.client() as client:
        client.send(codec.write_request(3, 1, 77, "me", api.METADATA.request(topics=[])))
        seen: list[Any] = []
        answer_inbox(served, 1, seen)
        (request,) = seen
        assert (request.api_key, request.api_version, request.correlation_id) == (3, 1, 77)
        assert (request.local_host, request.local_port, request.peer_host) == ("127.0.0.1", served.port, "127.0.0.1")
        assert client.receive() == (77).to_bytes(4, "big")
    with pytest.raises(KeyError):
        served.planes.reply(request.token, b"")
    for token in (-1, 0, 1 << 40, request.token + 1):
        with pytest.raises(KeyError):
            served.planes.reject(token)


def test_later_produces_wait_for_one_that_python_opens(served: Served) -> None:
    served.logs[0].configure(open_batches=True)
    packed = batch.encode([b"a", b"b"], timestamps=1, codec=1, compress=gzip)
    with served.client() as client:
        client.send(*(produce_frame(each) for each in (make_batch(), packed, make_batch(), packed, make_batch())))
        assert produced(client.receive())[0].base_offset == 0
        for expected in (1, 4):
            got: list[Any] = []
            until(lambda got=got: bool(got.extend(served.planes.drain()) or got))
            (request,) = got
            time.sleep(0.02)
            assert served.logs[0].log_end_offset == expected
            served.planes.resubmit(request.token, request.frame, bytes(2))
            assert produced(client.receive())[0].base_offset == expected
            assert produced(client.receive())[0].base_offset == expected + 2
        refused = produce_frame(packed)
        client.send(refused)
        got = []
        until(lambda: bool(got.extend(served.planes.drain()) or got))
        served.planes.resubmit(got[0].token, got[0].frame, (87).to_bytes(2, "little"))
        assert produced(client.receive())[0].error_code == 87
        client.send(refused)
        got = []
        until(lambda: bool(got.extend(served.planes.drain()) or got))
        served.planes.reject(got[0].token)
        assert client.closed()


def test_acks(served: Served) -> None:
    with served.client() as client:
        assert client.produce(make_batch(), acks=-1).base_offset == 0
        client.send(produce_frame(make_batch(), acks=0), produce_frame(make_batch(), acks=1))
        assert produced(client.receive())[0].base_offset == 2
        assert client.produce(make_batch(), acks=2).error_code == 21
        served.logs[0].configure(flush_messages=1)
        for i in range(3, 20):
            assert client.produce(make_batch(), acks=-1).base_offset == i
            assert served.logs[0].recovery_point > i
        client.send(produce_frame(b"nonsense", acks=0))
        assert client.closed()


def test_an_idempotent_repeat_in_one_turn(served: Served) -> None:
    with served.client() as client:
        client.send(*(produce_frame(idempotent(s)) for s in (0, 1, 0, 1, 2, 5)))
        answers = [produced(client.receive())[0] for _ in range(6)]
        assert [(a.error_code, a.base_offset) for a in answers] == [(0, 0), (0, 1), (0, 0), (0, 1), (0, 2), (45, -1)]


def test_a_fetch_at_the_end_wakes_on_an_append(served: Served) -> None:
    """From the same plane, from another one, and from Python."""
    waiting = [served.client() for _ in range(6)]
    for client in waiting:
        client.send(fetch_frame({0: 0, 1: 0}, max_wait_ms=HOUR_MS))
    until(lambda: served.planes.statistics()["fetch_requests"] == 6)
    with served.client() as producer:
        producer.produce(make_batch())
    for client in waiting:
        answer = codec.read_response(1, 12, client.receive())[1]
        assert answer.responses[0].partitions[0].records
        client.send(fetch_frame({0: 1}, max_wait_ms=HOUR_MS))
    until(lambda: served.planes.statistics()["fetch_requests"] == 12)
    append(served.logs[0], make_batch())
    for client in waiting:
        assert codec.read_response(1, 12, client.receive())[1].responses[0].partitions[0].records
        client.socket.close()


def test_a_fetch_waits_for_min_bytes_or_its_time(served: Served) -> None:
    with served.client() as client:
        started = time.monotonic()
        assert not client.fetch_one(0, max_wait_ms=200).records
        assert time.monotonic() - started > 0.18
        client.send(fetch_frame({0: 0}, max_wait_ms=HOUR_MS, min_bytes=2 * len(make_batch())))
        until(lambda: served.planes.statistics()["fetch_requests"] == 2)
        append(served.logs[0], make_batch())
        append(served.logs[0], make_batch())
        answer = codec.read_response(1, 12, client.receive())[1]
        assert len(answer.responses[0].partitions[0].records) == 2 * len(make_batch())


def test_waits_follow_the_brokers_clock(served: Served) -> None:
    with served.client() as client:
        client.send(fetch_frame({0: 0}, max_wait_ms=HOUR_MS))

        def answered_an_hour_later() -> bool:
            served.runtime.advance(HOUR_MS + 1)
            served.planes.wake()
            return bool(select.select([client.socket], [], [], 0.01)[0])

        until(answered_an_hour_later)
        assert not codec.read_response(1, 12, client.receive())[1].responses[0].partitions[0].records


def test_a_session_names_only_what_changed(served: Served) -> None:
    with served.client() as client:
        first = client.fetch({0: 0, 1: 0, 2: 0}, session=(0, 0))
        assert first.session_id > 0
        assert len(first.responses[0].partitions) == 3
        name = first.session_id
        append(served.logs[1], make_batch())
        second = client.fetch({}, session=(name, 1))
        assert [part.partition_index for part in second.responses[0].partitions] == [1]
        assert client.fetch({1: 1}, session=(name, 2)).responses == []
        append(served.logs[1], make_batch())
        append(served.logs[2], make_batch())
        third = client.fetch({}, session=(name, 3), forgotten=[1])
        assert [part.partition_index for part in third.responses[0].partitions] == [2]
        assert client.fetch({}, session=(name, 3)).error_code == 71
        assert client.fetch({}, session=(name + 64, 5)).error_code == 70
        client.send(fetch_frame({2: 1}, session=(name, 4), max_wait_ms=15_000))
        time.sleep(0.05)
        append(served.logs[2], make_batch())
        woken = codec.read_response(1, 12, client.receive())[1]
        assert [part.partition_index for part in woken.responses[0].partitions] == [2]
        assert served.planes.statistics()["fetch_sessions"] == 1
        assert client.fetch({}, session=(name, -1)).error_code == 0
        until(lambda: served.planes.statistics()["fetch_sessions"] == 0)


def test_an_unread_client_is_not_read_and_memory_stays_bounded(served: Served) -> None:
    with served.client(receive_buffer=4096) as client, served.client() as other:
        client.socket.settimeout(0.5)
        request = sized(fetch_frame(dict.fromkeys(range(3), 0), max_wait_ms=0)) * 50
        append(served.logs[0], make_batch(value=bytes(10_000)))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 1 << 30:
                sent += client.socket.send(request)
        assert other.produce(make_batch()).error_code == 0
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
        client.socket.settimeout(10)
        for _ in range(200):
            assert len(client.receive()) > 10_000


def test_requests_that_python_does_not_take_are_bounded(served: Served) -> None:
    with served.client() as client:
        client.socket.settimeout(0.5)
        frame = sized(codec.write_request(3, 1, 1, "x" * 1000, api.METADATA.request(topics=[])) + bytes(100_000))
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 1 << 30:
                sent += client.socket.send(frame)
        waiting = served.planes.drain()
        assert sum(len(request.frame) for request in waiting) < 5 << 20
        for request in waiting:
            served.planes.reply(request.token, request.correlation_id.to_bytes(4, "big"))
        until(lambda: bool(served.planes.drain()))
