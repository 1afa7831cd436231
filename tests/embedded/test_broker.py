"""A broker in this process: its life, its settings, and what it tells of its topics."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import trio

import kafpy
from kafpy._core import batch
from kafpy.broker.setting_types import SettingError
from kafpy.storage import compression
from tests.clients.raw import RawClient


def put(broker: kafpy.Broker, topic: str, *values: bytes, partition: int = 0) -> None:
    with RawClient("127.0.0.1", broker.port) as client:
        for value in values:
            data = batch.encode([value], timestamps=time.time_ns() // 1_000_000)
            assert client.produce(topic, data, partition=partition).error_code == 0


def values(broker: kafpy.Broker, topic: str) -> list[bytes | None]:
    return [each.value for each in broker.records(topic)]


def threads() -> set[str]:
    tasks = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    return {name for name in tasks if name.startswith("kafpy")}


def test_its_files_go_with_it() -> None:
    before = threads()
    with kafpy.Broker() as broker:
        (folder,) = broker.directories
        assert folder.is_dir()
        assert broker.bootstrap_servers == f"127.0.0.1:{broker.port}"
        broker.create_topic("t")
        put(broker, "t", b"a")
    assert not folder.exists()
    assert threads() == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", broker.port))
    broker.close()
    with pytest.raises(kafpy.BrokerError, match="the broker is closed"):
        broker.create_topic("u")
    with pytest.raises(kafpy.BrokerError, match="the broker is closed"):
        broker.records("t")


def test_a_directory_of_ones_own_stays(tmp_path: Path) -> None:
    with kafpy.Broker(directory=tmp_path / "data") as broker:
        broker.create_topic("t")
        put(broker, "t", b"a", b"b")
    with kafpy.Broker(directory=tmp_path / "data", port=broker.port) as again:
        assert again.port == broker.port
        assert values(again, "t") == [b"a", b"b"]


def test_settings_are_kafkas(tmp_path: Path) -> None:
    with kafpy.Broker(num_partitions=3, auto_create_topics_enable=False, log_dirs=[str(tmp_path / "x")]) as broker:
        assert broker.directories == (tmp_path / "x",)
        broker.create_topic("t")
        put(broker, "t", b"c", partition=2)
        assert [(each.partition, each.value) for each in broker.records("t")] == [(2, b"c")]
        assert broker.records("t", 0) == []
    with pytest.raises(SettingError, match=r"unknown key 'num.partitons'; did you mean 'num.partitions'\?"):
        kafpy.Broker(num_partitons=3)
    with pytest.raises(ValueError, match=r"Invalid value 0 for configuration num\.partitions"):
        kafpy.Broker(num_partitions=0)
    with pytest.warns(UserWarning, match="num.io.threads has no effect"):
        kafpy.Broker(num_io_threads=3).close()


def test_topics(broker: kafpy.Broker) -> None:
    broker.create_topic("t", partitions=2, configs={"retention.ms": 1000, "cleanup.policy": "compact,delete"})
    for arguments, said in (
        (("t", 1), "topic t: Topic 't' already exists."),
        (("u", 0), "Number of partitions was set to an invalid non-positive value."),
        (("u", 1, {"retention.m": 1}), "Unknown topic config name: retention.m"),
    ):
        with pytest.raises(kafpy.BrokerError, match=said):
            broker.create_topic(*arguments)  # type: ignore[arg-type]
    with pytest.raises(kafpy.BrokerError, match="there is no topic u"):
        broker.records("u")
    with pytest.raises(kafpy.BrokerError, match="topic t has no partition 2"):
        broker.records("t", 2)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_as_they_were_sent(broker: kafpy.Broker, codec: str) -> None:
    number = compression.CODECS[codec]
    broker.create_topic("t")
    data = batch.encode(
        [b"v1", None, b""],
        keys=[None, b"k2", b""],
        headers=[[("a", b"1"), ("a", None)], [], [("ü", b"")]],
        timestamps=[1000, 1001, 1002],
        codec=number,
        compress=None if number == 0 else lambda data: compression.compress(number, data),
    )
    with RawClient("127.0.0.1", broker.port) as client:
        client.produce("t", data)
        client.produce("t", data)
    assert broker.records("t")[3:] == [
        ("t", 0, 3, 1000, None, b"v1", (("a", b"1"), ("a", None))),
        ("t", 0, 4, 1001, b"k2", None, ()),
        ("t", 0, 5, 1002, b"", b"", (("ü", b""),)),
    ]


def test_records_that_are_still_to_come(broker: kafpy.Broker) -> None:
    broker.create_topic("t")
    later = threading.Timer(0.05, put, (broker, "t", b"a", b"b"))
    later.start()
    assert [each.value for each in broker.records("t", count=2)] == [b"a", b"b"]
    later.join()
    with pytest.raises(kafpy.BrokerError, match="2 records came to t, not 3"):
        broker.records("t", count=3, timeout="20ms")


def test_two_at_once() -> None:
    with kafpy.Broker() as one, kafpy.Broker() as other:
        assert one.port != other.port
        one.create_topic("t")
        other.create_topic("t")
        put(one, "t", b"1")
        one.clock.advance("3d")
        assert (values(one, "t"), values(other, "t")) == ([b"1"], [])
        assert one.clock.now_ms - other.clock.now_ms == pytest.approx(3 * 86_400_000, abs=60_000)


def test_from_many_threads(broker: kafpy.Broker) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            broker.create_topic(f"t{number}")
            put(broker, f"t{number}", b"%d" % number)
            broker.clock.advance(1)
            assert values(broker, f"t{number}") == [b"%d" % number]
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert failures == []


def test_inside_other_loops() -> None:
    def use() -> None:
        with kafpy.Broker() as broker:
            broker.create_topic("t")
            put(broker, "t", b"a")
            broker.clock.advance("1h")
            assert values(broker, "t") == [b"a"]

    async def main() -> None:
        use()

    asyncio.run(main())
    trio.run(main)


def test_why_it_does_not_start(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(kafpy.BrokerError, match=r"port \d+ is in use"):
            kafpy.Broker(port=taken.getsockname()[1])
    with kafpy.Broker(directory=tmp_path), pytest.raises(kafpy.BrokerError, match="in use by another broker"):
        kafpy.Broker(directory=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(kafpy.BrokerError, match="cannot use"):
        kafpy.Broker(directory=tmp_path / "file")


def test_a_forked_child_disowns_it(broker: kafpy.Broker) -> None:
    """The child closes it in vain, and neither its port nor its connections live on in the child."""
    broker.create_topic("t")
    client = RawClient("127.0.0.1", broker.port)
    told, heard = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        try:
            broker.close()
            client.close()
            broker.create_topic("u")
        except BaseException as error:
            os.write(heard, str(error).encode())
        os.close(heard)
        while True:
            signal.pause()
    os.close(heard)
    assert os.read(told, 100) == b"the broker belongs to another process"
    put(broker, "t", b"a")
    assert values(broker, "t") == [b"a"]
    broker.close()
    assert client.closed()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", broker.port))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(told)


def test_one_that_is_forgotten_goes_with_the_process(tmp_path: Path) -> None:
    program = "import kafpy; b = kafpy.Broker(); print(b.directories[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    assert done.stderr == ""
    assert not Path(done.stdout.strip()).exists()


def test_the_package_alone_loads_nothing() -> None:
    program = "import sys, kafpy; print(sorted(m for m in sys.modules if 'trio' in m or m.startswith('kafpy.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="has no attribute 'Brokr'"):
        kafpy.Brokr  # noqa: B018


def test_200_starts_and_stops_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def held() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    with kafpy.Broker() as broker:
        broker.create_topic("t")
    gc.collect()  # what other tests have left
    before, started = held(), threading.active_count()
    for number in range(200):
        with kafpy.Broker() as broker:
            broker.create_topic("t")
            if number % 10 == 0:
                put(broker, "t", b"a")
    assert held() <= before
    assert threads() == set()
    assert threading.active_count() <= started + 1  # one more may wait for work, in trio's own store of threads
    assert list(tmp_path.iterdir()) == []
