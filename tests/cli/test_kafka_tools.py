"""Kafka's scripts by name: the verbs behind their flags, exit statuses, and the scripts themselves."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafpy.cli.kafka.run import TOOLS, run
from kafpy.cli.main import COMMANDS
from tests.clients.raw import RawClient, batch_of


@pytest.fixture
def ask(broker: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> object:
    def ask(tool: str, *flags: str) -> tuple[int, str, str]:
        status = run(tool, ["--bootstrap-server", broker.address, *flags])
        said = capsys.readouterr()
        return status, said.out, said.err

    return ask


def test_topics(ask: object) -> None:
    assert callable(ask)
    create = ask("kafka-topics", "--create", "--topic", "t", "--partitions", "2", "--config", "retention.ms=1000")
    assert create == (0, "Created topic t.\n", "")
    assert ask("kafka-topics", "--list") == (0, "t\n", "")
    assert ask("kafka-topics", "--alter", "--topic", "t", "--partitions", "3") == (0, "", "")
    described = ask("kafka-topics", "--describe", "--topic", "t")[1]
    assert described.startswith("Topic: t\tTopicId: ")
    assert described.endswith("\tTopic: t\tPartition: 2\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n")
    missing = "Error while executing topic command : Topic 'no' does not exist as expected\n"
    assert ask("kafka-topics", "--describe", "--topic", "no") == (1, missing, "")  # on stdout, as Kafka's
    assert ask("kafka-topics", "--delete", "--topic", "t") == (0, "", "")
    status, out, err = ask("kafka-topics", "--list", "--create")
    assert (status, out) == (1, "")
    assert err.startswith(
        "Command must include exactly one action: --list, --describe, --create, --alter or --delete\n"
    )
    assert ask("kafka-topics", "--list", "--no-such-flag")[0] == 1


def test_groups(ask: object, broker: SimpleNamespace) -> None:
    assert callable(ask)
    ask("kafka-topics", "--create", "--topic", "t")
    with RawClient(broker.host, broker.port) as client:
        client.produce("t", batch_of([b"x"] * 3))
    reset = ask("kafka-consumer-groups", "--reset-offsets", "--group", "g", "--topic", "t", "--to-latest", "--execute")
    assert (reset[0], reset[1].split()[-4:]) == (0, ["g", "t", "0", "3"])
    assert ask("kafka-consumer-groups", "--list")[1] == "g\n"
    header, row = ask("kafka-consumer-groups", "--describe", "--group", "g")[1].splitlines()[1:]
    assert header == (
        "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     "
        "HOST            CLIENT-ID"
    )
    assert row.split() == ["g", "t", "0", "3", "3", "0", "-", "-", "-"]
    assert (
        ask("kafka-consumer-groups", "--delete-offsets", "--group", "g", "--topic", "t")[1].split()[-1] == "Successful"
    )
    assert ask("kafka-consumer-groups", "--delete", "--group", "g")[1] == (
        "Deletion of requested consumer groups ('g') was successful.\n"
    )


def test_cluster_and_its_directories(ask: object, broker: SimpleNamespace, tmp_path: Path) -> None:
    assert callable(ask)
    assert ask("kafka-cluster", "cluster-id")[0] == 1  # the verb comes first, as for Kafka's
    assert ask("kafka-log-dirs", "--describe")[1] == (
        "Querying brokers for log directories information\nReceived log directory information from brokers 1\n"
        f'{{"brokers":[{{"broker":1,"logDirs":[{{"partitions":[],"error":null,"logDir":"{tmp_path}/data"}}]}}],'
        '"version":1}\n'
    )
    assert ask("kafka-log-dirs", "--describe", "--broker-list", "9,1") == (
        1,
        "",
        "ERROR: The given brokers do not exist from --broker-list: 9. Current existent brokers: 1\n",
    )
    assert ask("kafka-broker-api-versions")[1].startswith(f"{broker.address} (id: 1 rack: null isFenced: false) -> (\n")


def test_cluster_prints(broker: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("kafka-cluster", ["cluster-id", "--bootstrap-server", broker.address]) == 0
    assert capsys.readouterr().out.startswith("Cluster ID: ")
    assert (
        run("kafka-cluster", ["list-endpoints", "--bootstrap-server", broker.address, "--include-fenced-brokers"]) == 0
    )
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "1",
        broker.host,
        str(broker.port),
        "null",
        "unfenced",
        "broker",
    ]
    assert run("kafka-cluster", ["unregister", "--id", "3", "--bootstrap-server", broker.address]) == 0
    assert capsys.readouterr().out == "The target cluster does not support the broker unregistration API.\n"


def test_delete_records_and_dump_log(ask: object, broker: SimpleNamespace, tmp_path: Path) -> None:
    assert callable(ask)
    ask("kafka-topics", "--create", "--topic", "t")
    with RawClient(broker.host, broker.port) as client:
        client.produce("t", batch_of([b"x"] * 3))
    file = tmp_path / "offsets.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 2}], "version": 1}')
    assert ask("kafka-delete-records", "--offset-json-file", str(file))[1].splitlines()[-1] == (
        "partition: t-0\tlow_watermark: 2"
    )
    segment = tmp_path / "data" / "t-0" / f"{0:020}.log"
    assert run("kafka-dump-log", ["--deep-iteration", "--files", str(segment)]) == 0


def test_storage_is_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("kafka-storage", ["random-uuid"]) == 0
    assert len(capsys.readouterr().out) == 23
    file = tmp_path / "server.properties"
    file.write_text("node.id=1\n")
    assert run("kafka-storage", ["format", "-t", "x", "-c", str(file), "--standalone", "--ignore-formatted"]) == 0
    assert run("kafka-storage", ["format", "-t", "x", "-c", "/no/such/file"]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("tool", [name for name, tool in TOOLS.items() if not tool.path or tool.path[0] in COMMANDS])
def test_every_tool_has_help(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tool, ["--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: {tool} ")


def test_scripts(broker: SimpleNamespace, tmp_path: Path) -> None:
    def generate(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kafpy.cli.main", "generate", "kafka-scripts", str(tmp_path / "bin"), *more]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert generate().stdout == f"Wrote {2 * len(TOOLS)} scripts to {tmp_path / 'bin'}.\n"
    for name in ("kafka-topics", "kafka-topics.sh"):
        script = [tmp_path / "bin" / name, "--bootstrap-server", broker.address, "--create", "--topic", name]
        done = subprocess.run(script, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            f"Created topic {name}.\n",
            "",
        ) or "WARNING" in done.stdout
    wrong = subprocess.run([tmp_path / "bin" / "kafka-configs.sh", "--describe"], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stderr) == (1, "At least one entity type must be specified\n")
    assert generate().returncode == 0  # again over its own
    (tmp_path / "bin" / "kafka-topics").write_text("#!/bin/sh\nsomebody else's\n")
    refused = generate()
    assert refused.returncode == 1
    assert "kafka-topics is there and not kafpy's" in refused.stderr
    assert generate("--force").returncode == 0
