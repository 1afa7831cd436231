"""What planes leave behind, and logs and topics that come and go under them."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy._core.log import Log
from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.protocol import api, codec
from tests.core.logs import append, batches, make_batch
from tests.core.served import (
    TOPIC,
    TOPIC_ID,
    Served,
    fetch_frame,
    serving,
    until,
)


@pytest.fixture(params=[1, 3], ids=["1 plane", "3 planes"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, count=3, planes=request.param) as made:
        yield made


def fds() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_sessions_end_with_their_planes(tmp_path: Path) -> None:
    """An append after the stop must not reach for a waiter that is gone."""
    served = Served(tmp_path, count=2, planes=3)
    clients = [served.client() for _ in range(9)]
    for client in clients:
        assert client.fetch({0: 0, 1: 0}, session=(0, 0)).session_id
        client.send(fetch_frame({0: 0}, max_wait_ms=60_000))
    served.planes.stop()
    log = served.logs[0]
    for _ in range(10):
        append(log, make_batch())
    assert all(client.closed() for client in clients)
    served.close()


def test_stopped_planes_leave_no_descriptor(tmp_path: Path) -> None:
    with serving(tmp_path / "warm"):
        pass
    before = fds()
    for round_ in range(3):
        served = Served(tmp_path / str(round_), planes=3)
        clients = [served.client() for _ in range(20)]
        clients[0].send(codec.write_request(3, 1, 1, "x", api.METADATA.request(topics=[])))
        until(lambda served=served: served.planes.statistics()["requests"] == 1)
        request = served.planes.drain()[0] if round_ else None
        served.close()
        if request is not None:
            served.planes.reply(request.token, b"nobody hears it")
        for client in clients:
            client.socket.close()
        del served
    assert fds() == before


def test_a_log_closed_under_waiting_fetches(served: Served) -> None:
    with served.client() as client, served.client() as by_id:
        client.send(fetch_frame({0: 0}, max_wait_ms=15_000))
        by_id.send(fetch_frame({0: 0}, version=13, max_wait_ms=15_000))
        time.sleep(0.05)
        served.planes.withdraw(TOPIC)
        served.logs[0].close()
        assert codec.read_response(1, 12, client.receive())[1].responses[0].partitions[0].error_code == 3
        assert codec.read_response(1, 13, by_id.receive())[1].responses[0].partitions[0].error_code == 100
        assert client.produce(make_batch()).error_code == 3
        assert by_id.produce(make_batch(), 13).error_code == 100


def test_a_topic_made_again_is_found_by_its_session(served: Served, tmp_path: Path) -> None:
    with served.client() as client:
        name = client.fetch({0: 0}, session=(0, 0)).session_id
        served.planes.withdraw(TOPIC)
        served.logs[0].close()
        assert client.fetch({}, session=(name, 1)).responses[0].partitions[0].error_code == 3
        served.logs[0] = Log(served.runtime, str(tmp_path / "again"))
        append(served.logs[0], make_batch())
        served.publish()
        assert client.fetch({}, session=(name, 2)).responses[0].partitions[0].records


def test_a_slow_reader_of_a_log_that_is_deleted(served: Served) -> None:
    for _ in range(40):
        append(served.logs[0], make_batch(value=bytes(500_000)))
    whole = served.logs[0].read(0, 100 << 20)
    with served.client(receive_buffer=8192) as client:
        client.send(fetch_frame({0: 0}, partition_max_bytes=50 << 20))
        start = client.take(100)
        served.planes.withdraw(TOPIC)
        served.logs[0].close()
        for path in Path(served.logs[0].directory).iterdir():
            path.unlink()
        served.logs[0] = served.logs[1]
        rest = client.take(int.from_bytes(start[:4], "big") - 96)
        assert codec.read_response(1, 12, start[4:] + rest)[1].responses[0].partitions[0].records == whole


def test_a_slow_reader_of_a_log_that_is_cut_is_hung_up_on(served: Served) -> None:
    for _ in range(40):
        append(served.logs[0], make_batch(value=bytes(500_000)))
    with served.client(receive_buffer=8192) as client:
        client.send(fetch_frame({0: 0}, partition_max_bytes=50 << 20))
        client.take(100)
        served.logs[0].truncate(1)
        with pytest.raises((ConnectionError, TimeoutError)):
            client.take(19 << 20)
    with served.client() as client:
        assert client.fetch_one(0).records


def test_cold_segments_are_found_by_helpers(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"segment_bytes": 50_000}) as first:
        for _ in range(200):
            append(first.logs[0], make_batch(value=bytes(2000)))
        first.logs[0].close()
    with serving(tmp_path, settings={"segment_bytes": 50_000, "clean": True}) as served, served.client() as client:
        offset = 0
        while offset < 200:
            got = client.fetch_one(offset, max_wait_ms=10_000).records
            offset += len(batches(got))
            append(served.logs[0], make_batch())
        # More asked for than one cold slice has, while the log moves on.
        assert client.fetch_one(0, max_wait_ms=300, min_bytes=40 << 20).records
        (Path(served.logs[0].directory) / f"{0:020}.log").unlink()


def test_an_unreadable_segment_is_an_error_not_a_loop(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"segment_bytes": 5_000}) as first:
        for _ in range(20):
            append(first.logs[0], make_batch(value=bytes(2000)))
        first.logs[0].close()
    with serving(tmp_path, settings={"segment_bytes": 5_000, "clean": True}) as served, served.client() as client:
        served.runtime.settle()
        (tmp_path / f"{TOPIC}-0" / f"{2:020}.log").unlink()
        assert client.fetch_one(2, max_wait_ms=10_000).error_code == 56
        assert client.fetch_one(19).records


def test_a_forks_child_leaves_the_planes_alone(served: Served) -> None:
    with served.client() as client:
        client.produce(make_batch())
        child = os.fork()
        if not child:
            try:
                served.planes.stop()
                served.runtime.close()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert client.produce(make_batch()).base_offset == 1


def test_topics_are_published_replaced_and_withdrawn_under_load(served: Served) -> None:
    stop = threading.Event()
    seen: set[int] = set()

    def ask() -> None:
        with served.client() as client:
            while not stop.is_set():
                seen.add(client.produce(make_batch()).error_code)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(300):
        served.planes.publish(f"other-{i}", i.to_bytes(16, "big"), [None])
        served.planes.withdraw(TOPIC)
        served.publish()
        served.publish()
        served.planes.withdraw(f"other-{i - 5}")
    served.planes.publish("twin", TOPIC_ID, [served.logs[1]])
    served.planes.withdraw("twin")
    stop.set()
    for thread in threads:
        thread.join()
    assert seen <= {0, 3}
    with served.client() as client:
        assert client.produce(make_batch(), 13, topic_id=TOPIC_ID).error_code == 0


def test_misuse_is_refused(tmp_path: Path, runtime: Runtime) -> None:
    for wrong in (0, 65):
        with pytest.raises(ValueError, match="planes"):
            Planes(runtime, planes=wrong)
    planes = Planes(runtime)
    for name, topic_id in (("", TOPIC_ID), ("x" * 250, TOPIC_ID), ("x", b"short")):
        with pytest.raises(ValueError, match="topic"):
            planes.publish(name, topic_id, [])
    planes.stop()
    planes.wake()
    del planes
