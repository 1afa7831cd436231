"""`kafpy cluster`, and the tools of Kafka that print the same."""

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kafpy.cli import cluster_text
from kafpy.cli.main import cli
from kafpy.client.api_names import usability
from kafpy.client.nodes import LogDir, Node, Replica


@pytest.fixture
def at(broker: SimpleNamespace) -> list[str]:
    done = CliRunner().invoke(cli, ["topic", "create", "t", "-p", "2", "-b", broker.address])
    assert done.exit_code == 0
    return ["-b", broker.address]


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(arguments))
    return done.exit_code, done.output


def test_info(broker: SimpleNamespace, at: list[str]) -> None:
    code, text = run("cluster", "info", *at)
    assert code == 0
    assert text.splitlines()[2] == "Topics:      1 with 2 partitions"
    assert text.splitlines()[-1].split() == ["1", broker.address, "-", "2"]
    found = json.loads(run("cluster", "info", "--format", "json", *at)[1])
    assert (found["controller_id"], found["topics"], found["partitions"]) == (1, 1, 2)
    assert found["brokers"] == [{"id": 1, "host": broker.host, "port": broker.port, "rack": None}]


def test_health(at: list[str]) -> None:
    code, text = run("cluster", "health", *at)
    assert (code, text.splitlines()[0].split()) == (0, ["Healthy:", "true"])
    found = json.loads(run("cluster", "health", "--format", "json", *at)[1])
    assert found == {
        "healthy": True,
        "controller_id": 1,
        "nodes": [1],
        "nodes_down": [],
        "leaderless_partitions": [],
        "under_replicated_partitions": [],
        "failed_log_directories": [],
    }


def test_log_dirs(at: list[str], tmp_path: object) -> None:
    rows = run("cluster", "log-dirs", *at)[1].splitlines()
    assert rows[1].split()[:5] == ["1", f"{tmp_path}/data", "ok", "2", "0"]
    assert run("cluster", "log-dirs", "--topic", "none", *at)[1].splitlines()[1].split()[3] == "0"
    code, said = run("cluster", "log-dirs", "--broker", "9", *at)
    assert (code, said) == (1, "kafpy: there is no broker 9\n")


def test_api_versions(broker: SimpleNamespace, at: list[str]) -> None:
    text = run("cluster", "api-versions", *at)[1]
    assert text.startswith(
        f"{broker.address} (id: 1 rack: null isFenced: false) -> (\n\tProduce(0): 0 to 13 [usable: 13],\n"
    )
    assert "\n\tDescribeAcls(29): UNSUPPORTED,\n" in text
    assert text.endswith("\n)\n")


@pytest.mark.parametrize(
    ("key", "low", "high", "said"),
    [
        (3, 0, 13, "Metadata(3): 0 to 13 [usable: 13]"),
        (3, 5, 5, "Metadata(3): 5 [usable: 5]"),
        (3, 90, 99, "Metadata(3): 90 to 99 [unusable: node too new]"),
        (1, 0, 3, "Fetch(1): 0 to 3 [unusable: node too old]"),
        (999, 0, 1, "UNKNOWN(999): 0 to 1"),
    ],
)
def test_what_a_client_can_use(key: int, low: int, high: int, said: str) -> None:
    assert usability(key, low, high) == said


def test_endpoints_as_kafka_prints_them() -> None:
    nodes = [Node(1, "127.0.0.1", 9092, None, False), Node(12, "b", 9093, "east", True)]
    assert cluster_text.endpoints(nodes, controllers=False).splitlines() == [
        "ID         HOST      PORT       RACK STATE      ENDPOINT_TYPE  ",
        "1          127.0.0.1 9092       null unfenced   broker         ",
        "12         b         9093       east fenced     broker         ",
    ]
    assert cluster_text.endpoints(nodes[:1], controllers=True).splitlines() == [
        "ID         HOST      PORT       RACK       ENDPOINT_TYPE  ",
        "1          127.0.0.1 9092       null       controller     ",
    ]


def test_directories_as_kafka_prints_them() -> None:
    replicas = (Replica("t", 0, 5, 0, False), Replica("u", 0, 1, 2, True))
    found = {1: [LogDir("/d", 0, -1, -1, replicas), LogDir("/e", 56, -1, -1, ())]}
    text = json.dumps(cluster_text.log_dirs_data(found, {"t"}), separators=(",", ":"))
    assert text == (
        '{"brokers":[{"broker":1,"logDirs":['
        '{"partitions":[{"partition":"t-0","size":5,"offsetLag":0,"isFuture":false}],"error":null,"logDir":"/d"},'
        '{"partitions":[],"error":"org.apache.kafka.common.errors.KafkaStorageException","logDir":"/e"}'
        ']}],"version":1}'
    )
