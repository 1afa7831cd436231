import json
import re
import signal
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from kafpy.broker.known_keys import WITHOUT_EFFECT
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
    path.write_text(f"listeners=PLAINTEXT://localhost:0\nlog.dirs={tmp_path / 'logs'}\nnum.io.threads=1\n")
    served = serve(str(path), "--override", "num.partitions=4")
    assert served.host == "localhost"
    with Connection("localhost", served.port) as client:
        metadata = api.METADATA.request
        answer = client.call(api.METADATA, metadata(topics=[metadata.Topic(name="auto")]))
        assert len(answer.topics[0].partitions) == 4
    reason = WITHOUT_EFFECT["num.io.threads"].reason
    assert served.stop() == (0, "", f"kafpy: {path}:3: num.io.threads has no effect: {reason}\n")


def test_idle_it_is_small(broker: Any) -> None:
    time.sleep(0.3)
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert resident < 60 * 1024


def test_idle_it_sleeps(broker: Any) -> None:
    def ticks() -> int:
        fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    for _ in range(10):
        before = ticks()
        time.sleep(2)
        if ticks() - before <= 2:
            return
    pytest.fail("it was busy in each of ten pauses")


def test_events_are_told_a_line_each(serve: Serve, tmp_path: Path) -> None:
    served = serve("--port", "0", "--data", str(tmp_path / "data"), "--log-level", "info")
    with Connection(served.host, served.port) as client:
        request = api.CREATE_TOPICS.request
        client.call(
            api.CREATE_TOPICS, request(topics=[request.Topic(name="orders", num_partitions=3, replication_factor=1)])
        )
    code, out, err = served.stop()
    assert (code, out) == (0, "")
    told = [re.sub(r"^\S+ \S+ ", "", line) for line in err.splitlines()]
    assert "INFO    topic orders is created, partitions: 3" in told
    assert f"INFO    clients are accepted by PLAINTEXT on {served.address}" in told
    assert told[-2:] == ["INFO    SIGTERM: stopping", "INFO    stopped, nothing is left to recover"]


def test_events_for_machines(serve: Serve, tmp_path: Path) -> None:
    served = serve("--port", "0", "--data", str(tmp_path / "data"), "--log-level", "info", "--log-format", "json")
    _, _, err = served.stop()
    told = [json.loads(line) for line in err.splitlines()]
    assert {each["level"] for each in told} == {"info"}
    assert told[-1]["message"] == "stopped, nothing is left to recover"


def test_settings_from_the_environment(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the file, under --override; what is no setting is told and passed over."""
    path = tmp_path / "server.properties"
    path.write_text(f"listeners=PLAINTEXT://localhost:0\nlog.dirs={tmp_path / 'logs'}\nnum.partitions=2\nnode.id=5\n")
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "4")
    monkeypatch.setenv("KAFKA_NODE_ID", "6")
    monkeypatch.setenv("KAFKA_CFG_NODE_IDD", "7")
    monkeypatch.setenv("CLUSTER_ID", "MkU3OEVBNTcwNTJENDM2Qk")
    served = serve(str(path), "--override", "node.id=8")
    with Connection("localhost", served.port) as client:
        metadata = api.METADATA.request
        answer = client.call(api.METADATA, metadata(topics=[metadata.Topic(name="auto")]))
        assert len(answer.topics[0].partitions) == 4
        assert answer.brokers[0].node_id == 8
        assert answer.cluster_id == "MkU3OEVBNTcwNTJENDM2Qk"
    _, _, err = served.stop()
    assert "environment KAFKA_CFG_NODE_IDD: there is no setting 'node.idd'; did you mean 'node.id'?" in err


def test_metrics_are_served(serve: Serve, tmp_path: Path) -> None:
    served = serve("--port", "0", "--data", str(tmp_path / "data"), "--http", "0", "--log-level", "info")
    assert served.process.stderr is not None
    for line in served.process.stderr:
        if match := re.search(r"metrics are on (http://127\.0\.0\.1:\d+/metrics)", line):
            break
    assert match is not None
    with urllib.request.urlopen(match[1], timeout=60) as answer:
        assert b"kafka_server_replicamanager_partitioncount 0\n" in answer.read()


def test_a_wrong_address_for_metrics_is_one_line(serve: Serve) -> None:
    code, _, err = serve("--port", "0", "--http", "lots").stop()
    assert code == 1
    assert err == (
        "kafpy: --http: Invalid value lots for configuration kafpy.http.listener: it is neither PORT nor HOST:PORT\n"
    )
