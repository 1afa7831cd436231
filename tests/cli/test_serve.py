import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.client.connection import Connection
from kafpy.protocol import api

Serve = Callable[..., Any]


def produce(address: str, topic: str, value: bytes) -> int:
    """The offset it got; the topic is created by asking for it."""
    host, port = address.split(":")
    request = api.PRODUCE.request
    with Connection(host, int(port)) as client:
        metadata = api.METADATA.request
        client.call(api.METADATA, metadata(topics=[metadata.Topic(name=topic)]))
        records = batch.encode([value], timestamps=int(time.time() * 1000))
        data = [request.Topic(name=topic, partition_data=[request.Partition(index=0, records=records)])]
        answer = client.call(api.PRODUCE, request(acks=-1, timeout_ms=5000, topic_data=data), version=9)
    result = answer.responses[0].partition_responses[0]
    assert result.error_code == 0
    return int(result.base_offset)


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_one_line_and_a_clean_stop(serve: Serve, tmp_path: Path, signal_: signal.Signals) -> None:
    served = serve()
    assert served.line == f"kafpy ready on 127.0.0.1:{served.port}\n"
    assert produce(served.address, "t", b"x") == 0
    assert served.stop(signal_) == (0, "", "")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_nothing_acknowledged_is_lost_by_a_kill(serve: Serve) -> None:
    first = serve()
    for number in range(3):
        assert produce(first.address, "t", b"x") == number
    first.stop(signal.SIGKILL)
    second = serve()
    assert produce(second.address, "t", b"x") == 3
    assert second.stop()[0] == 0


def test_a_directory_in_use_is_one_line(serve: Serve, tmp_path: Path) -> None:
    serve()
    second = serve()
    code, out, err = second.stop()
    assert (code, second.line + out) == (1, "")
    assert err == (
        f"kafpy: {tmp_path / 'data'} is in use by another broker: stop that broker, "
        "or choose another directory with --data DIR\n"
    )


def test_a_port_in_use_is_one_line(serve: Serve, tmp_path: Path) -> None:
    first = serve()
    second = serve("--port", str(first.port), "--data", str(tmp_path / "other"))
    code, out, err = second.stop()
    assert (code, second.line + out) == (1, "")
    assert err == (
        f"kafpy: port {first.port} is in use: stop what listens there, "
        "or choose another with --port N (0: any free one)\n"
    )


def test_a_wrong_file_is_one_line(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=3\nnum.partitons=3\n")
    served = serve(str(path))
    assert served.stop() == (1, "", f"kafpy: {path}:2: unknown key 'num.partitons'; did you mean 'num.partitions'?\n")


def test_a_file_with_overrides(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"listeners=PLAINTEXT://localhost:0\nlog.dirs={tmp_path / 'logs'}\nlog.retention.hours=1\n")
    served = serve(str(path), "--override", "num.partitions=4")
    assert served.host == "localhost"
    with Connection("localhost", served.port) as client:
        metadata = api.METADATA.request
        answer = client.call(api.METADATA, metadata(topics=[metadata.Topic(name="auto")]))
        assert len(answer.topics[0].partitions) == 4
    assert served.stop() == (0, "", f"kafpy: {path}:3: log.retention.hours has no effect in this broker\n")


def test_idle_it_is_small(broker: Any) -> None:
    time.sleep(0.3)
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert resident < 60 * 1024


def test_idle_it_sleeps(broker: Any) -> None:
    def ticks() -> int:
        fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    time.sleep(0.3)
    before = ticks()
    time.sleep(2)
    assert ticks() - before <= 2
