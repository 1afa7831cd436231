"""/metrics and /healthz of a running broker, read as Prometheus reads them."""

import http.client
import json
import math
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafpy.broker.sight import requests
from kafpy.broker.sight.http import CONNECTIONS, HEAD_BYTES
from kafpy.broker.sight.topics import Flow, Flows
from kafpy.protocol import api
from tests.broker.test_group_coordinator import commit, ready
from tests.core.logs import make_batch
from tests.core.served import until

Start = Callable[..., Any]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def running(start: Start) -> Any:
    return start(http_listener="127.0.0.1:0", group_initial_rebalance_delay_ms=0)


def get(running: Any, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection(running.broker.http_address, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def scrape(running: Any) -> Samples:
    status, text = get(running, "/metrics")
    assert status == 200
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


def test_what_flows_through_topics(running: Any) -> None:
    batch = make_batch(3, value=bytes(50))
    with running.connect() as client:
        client.create("t", 2)
        client.produce("t", batch, batch)
        client.produce("t", batch)
        client.produce("t", b"rubbish")
        seen = scrape(running)
        of = "kafka_server_brokertopicmetrics"
        for labels in ({}, {"topic": "t"}):
            assert value(seen, f"{of}_messagesin_total", **labels) == 9
            assert value(seen, f"{of}_bytesin_total", **labels) == 3 * len(batch)
            assert value(seen, f"{of}_totalproducerequests_total", **labels) == 3
            assert value(seen, f"{of}_totalfetchrequests_total", **labels) == 0
        assert value(seen, f"{of}_failedproducerequests_total") == 1
        assert value(seen, "kafka_log_log_size", topic="t", partition="0") == 2 * len(batch)
        assert value(seen, "kafka_log_log_logendoffset", topic="t", partition="0") == 6
        assert value(seen, "kafka_topic_partition_current_offset", topic="t", partition="1") == 3
        assert value(seen, "kafka_topic_partition_leader", topic="t", partition="1") == 1
        assert value(seen, "kafka_topic_partitions", topic="t") == 2
        assert value(seen, "kafka_cluster_partition_atminisr", topic="t", partition="0") == 1
        assert value(seen, "kafka_server_replicamanager_leadercount") == 2
        assert value(seen, "kafka_server_socket_server_metrics_connection_count") == 1
        client.delete("t")
        after = scrape(running)
        assert value(after, f"{of}_messagesin_total") == 9
        assert not [name for name, labels in after if ("topic", "t") in labels]


def test_histograms_of_requests(running: Any) -> None:
    with running.connect() as client:
        client.create("t")
        for _ in range(4):
            client.produce("t", make_batch())
        until(lambda: value(scrape(running), "kafpy_request_duration_seconds_count", request="Produce") == 4)
    seen = scrape(running)
    name = "kafpy_request_duration_seconds_bucket"
    buckets = {
        float(dict(labels)["le"]): count
        for (each, labels), count in seen.items()
        if each == name and ("request", "Produce") in labels
    }
    bounds = sorted(buckets)
    assert [buckets[bound] for bound in bounds] == sorted(buckets.values())
    assert buckets[math.inf] == 4
    assert bounds[0] == 8e-6
    assert value(seen, "kafka_network_requestmetrics_requests_total", request="Produce") == 4
    assert value(seen, "kafpy_request_duration_seconds_sum", request="Produce") > 0


def test_lag_of_groups(running: Any) -> None:
    with running.connect() as client:
        client.create("t", 2)
        client.produce("t", make_batch(10), make_batch(10))
        ready(client, 'g"1')
        assert commit(client, {("t", 0): 4, ("t", 1): 10}, 'g"1') == [0, 0]
        seen = scrape(running)
    assert value(seen, "kafka_consumergroup_lag", consumergroup='g"1', topic="t", partition="0") == 6
    assert value(seen, "kafka_consumergroup_current_offset", consumergroup='g"1', topic="t", partition="1") == 10
    assert value(seen, "kafka_consumergroup_lag_sum", consumergroup='g"1', topic="t") == 6
    assert value(seen, "kafka_consumergroup_members", consumergroup='g"1') == 0
    assert value(seen, "kafka_consumergroup_state", consumergroup='g"1', state="Empty") == 1


def test_idleness_is_a_part_of_one(running: Any) -> None:
    scrape(running)
    seen = scrape(running)
    for name in (
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        "kafka_network_socketserver_networkprocessoravgidle_percent",
    ):
        assert 0 <= value(seen, name) <= 1
    assert value(seen, "process_open_fds") > 5
    assert value(seen, "process_resident_memory_bytes") > 1 << 20


def test_health(running: Any) -> None:
    status, text = get(running, "/healthz")
    told = json.loads(text)
    assert (status, told["status"], told["node.id"], told["offline.log.dirs"]) == (200, "ok", 1, [])


def test_health_with_a_failed_directory(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folders = (str(tmp_path / "good"), str(tmp_path / "file" / "bad"))
    running = start(http_listener="127.0.0.1:0", log_dirs=folders)
    status, text = get(running, "/healthz")
    told = json.loads(text)
    assert (status, told["status"], told["offline.log.dirs"]) == (200, "degraded", [folders[1]])
    assert value(scrape(running), "kafka_log_logmanager_offlinelogdirectorycount") == 1


def test_what_is_not_there(running: Any) -> None:
    assert get(running, "/other")[0] == 404
    assert get(running, "/metrics", "POST")[0] == 405
    assert get(running, "/metrics", "HEAD") == (200, "")
    assert get(running, "/healthz?verbose=1")[0] == 200


@pytest.mark.parametrize("rubbish", [b"\0\0\0\x10nonsense\r\n\r\n", b"GET " + b"x" * (2 * HEAD_BYTES)])
def test_rubbish_is_refused(running: Any, rubbish: bytes) -> None:
    host, port = running.broker.http_address.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(rubbish)
        answer = b""
        try:
            while piece := client.recv(4096):
                answer += piece
        except ConnectionResetError:
            pass
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert get(running, "/healthz")[0] == 200


def test_a_crowd_is_turned_away(running: Any) -> None:
    host, port = running.broker.http_address.split(":")
    crowd = [socket.create_connection((host, int(port)), timeout=10) for _ in range(CONNECTIONS)]
    try:
        for each in crowd:  # answered: its place is taken
            each.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert each.recv(4096).startswith(b"HTTP/1.1 200")
        with socket.create_connection((host, int(port)), timeout=10) as late:
            assert late.recv(1) == b""
    finally:
        for each in crowd:
            each.close()
    until(lambda: _answers(running))


def _answers(running: Any) -> bool:
    try:
        return get(running, "/healthz")[0] == 200
    except (http.client.HTTPException, OSError):
        return False


def test_totals_do_not_go_back() -> None:
    def flow(count: int) -> Flow:
        return count, count, count, count, count

    flows = Flows()
    assert flows.look({"a": flow(5), "b": flow(7)}) == flow(12)
    assert flows.look({"a": flow(6)}) == flow(13)
    assert flows.look({"a": flow(2)}) == flow(15)  # another topic of that name
    assert flows.look({"a": flow(2), "b": flow(1)}) == flow(16)


def test_every_api_has_a_name() -> None:
    assert requests._name(api.PRODUCE.key) == "Produce"
    assert requests._name(9999) == "9999"
