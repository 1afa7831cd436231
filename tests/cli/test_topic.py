import re
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kafpy.cli.main import cli
from kafpy.cli.topic import _description
from kafpy.protocol import api


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(arguments))
    return done.exit_code, done.output


def test_a_description_is_kafkas_byte_for_byte() -> None:
    metadata = api.METADATA.response
    partitions = [
        metadata.Partition(partition_index=1, leader_id=-1, replica_nodes=[2], isr_nodes=[]),
        metadata.Partition(partition_index=0, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]),
    ]
    topic = metadata.Topic(name="t", topic_id=bytes(range(16)), partitions=partitions)
    assert _description(topic, "segment.ms=1,flush.ms=2") == (
        "Topic: t\tTopicId: AAECAwQFBgcICQoLDA0ODw\tPartitionCount: 2\tReplicationFactor: 1\t"
        "Configs: segment.ms=1,flush.ms=2\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: \tLastKnownElr: \n"
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2\tIsr: \tElr: \tLastKnownElr: "
    )


def test_no_broker_is_a_friendly_line(free_port: int) -> None:
    code, output = run("topic", "list", "-b", f"localhost:{free_port}")
    assert code == 1
    assert output == (
        f"kafpy: cannot reach localhost:{free_port}: connection refused; "
        "is a broker running? start one with `kafpy serve`\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["topic", "create"], "name the topic"),
        (["topic", "create", "t", "--config", "x"], "not KEY=VALUE"),
        (["topic", "create", "t", "--partitions", "0"], "command : The partitions must be greater than 0\n"),
        (["topic", "create", "t", "--replication-factor", "0"], "must be between 1 and 32767 inclusive"),
        (["topic", "list", "-b", "localhost:port"], "is not HOST:PORT"),
        (["topic", "list", "-b", ""], "no bootstrap server given"),
    ],
)
def test_wrong_arguments(arguments: list[str], said: str) -> None:
    code, output = run(*arguments)
    assert code != 0
    assert said in output


def test_from_creation_to_deletion(broker: SimpleNamespace) -> None:
    at = ["--bootstrap-server", broker.address]
    assert run("topic", "create", *at, "--topic", "t", "--partitions", "2", "--config", "segment.bytes=1048576") == (
        0,
        "Created topic t.\n",
    )
    code, output = run("topic", "create", "my_topic", *at)
    assert code == 0
    assert output.startswith("WARNING: Due to limitations in metric names, topics with a period ('.')")
    assert output.endswith("Created topic my_topic.\n")
    assert run("topic", "list", *at) == (0, "my_topic\nt\n")
    assert run("topic", "list", *at, "m.*") == (0, "my_topic\n")
    code, output = run("topic", "describe", "t", *at)
    assert code == 0
    assert re.fullmatch(
        r"Topic: t\tTopicId: [\w-]{22}\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: segment.bytes=1048576\n"
        r"\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"
        r"\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n",
        output,
    )
    assert run("topic", "create", "t", *at) == (
        1,
        "Error while executing topic command : Topic 't' already exists.\n",
    )
    assert run("topic", "create", "t", *at, "--if-not-exists") == (0, "")
    assert run("topic", "delete", *at, "--topic", "t") == (0, "")
    assert run("topic", "delete", "t", *at) == (
        1,
        "Error while executing topic command : Topic 't' does not exist as expected\n",
    )
    assert run("topic", "delete", "t", *at, "--if-exists") == (0, "")
    assert run("topic", "describe", "t", *at, "--if-exists") == (0, "")
    code, output = run("topic", "create", "t", *at, "--config", "no.such=1")
    assert (code, output.endswith("Unknown topic config name: no.such\n")) == (1, True)
