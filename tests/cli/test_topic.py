import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from kafpy.cli.main import cli
from kafpy.cli.topic_describe import _headline, _line, _troubles
from kafpy.client.configs import Config
from kafpy.client.topics import Partition, Topic
from tests.clients.raw import RawClient, batch_of


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(arguments))
    return done.exit_code, done.output


def test_a_description_is_kafkas_byte_for_byte() -> None:
    parts = (
        Partition(0, 1, (1, 2), (1,), (2,), ()),
        Partition(1, -1, (2,), (), None, None),
    )
    topic = Topic("t", bytes(range(16)), False, parts)
    configs = [config("segment.ms", "1"), config("flush.ms", "2"), config("retention.ms", "3", "DEFAULT_CONFIG")]
    assert [_headline(topic, configs), *(_line("t", each) for each in parts)] == [
        "Topic: t\tTopicId: AAECAwQFBgcICQoLDA0ODw\tPartitionCount: 2\tReplicationFactor: 2\t"
        "Configs: segment.ms=1,flush.ms=2",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: 2\tLastKnownElr: ",
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2\tIsr: \tElr: N/A\tLastKnownElr: N/A",
    ]


def config(name: str, value: str, source: str = "DYNAMIC_TOPIC_CONFIG") -> Config:
    return Config(name, value, source, read_only=False, sensitive=False, synonyms=())


def test_partitions_in_trouble() -> None:
    """One flag each."""
    healthy = Partition(0, 1, (1, 2), (1, 2), (), ())
    assert _troubles(healthy, 1, {1, 2}) == set()
    assert _troubles(healthy, 2, {1, 2}) == {"at_min_isr_partitions"}
    assert _troubles(healthy, 3, {1, 2}) == {"under_min_isr_partitions"}
    assert _troubles(healthy, 1, {2}) == {"unavailable_partitions"}
    behind = healthy._replace(isr=(1,))
    assert _troubles(behind, 1, {1}) == {"under_replicated_partitions", "at_min_isr_partitions"}
    headless = healthy._replace(leader=-1)
    assert _troubles(headless, 1, {1}) == {"unavailable_partitions", "under_min_isr_partitions"}


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
        (["topic", "create", "t", "--config", "x"], 'must be in the format "key=val"'),
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


@pytest.fixture
def at(broker: SimpleNamespace) -> list[str]:
    return ["-b", broker.address]


def test_several_at_once(at: list[str]) -> None:
    assert run("topic", "create", "a", "b", "c", *at, "--dry-run") == (
        0,
        "".join(f"Topic {name} could be created.\n" for name in "abc"),
    )
    assert run("topic", "list", *at) == (0, "\n")
    assert run("topic", "create", "a", "b", "c", *at) == (0, "".join(f"Created topic {name}.\n" for name in "abc"))
    assert run("topic", "add-partitions", "a", "b", "-n", "2", *at) == (
        0,
        "Topic a has 3 partitions.\nTopic b has 3 partitions.\n",
    )
    code, output = run("topic", "create", "a", "d", *at)
    assert (code, output) == (1, "Created topic d.\nError while executing topic command : Topic 'a' already exists.\n")
    assert run("topic", "delete", "a", "b", *at, "-d") == (0, "Topic a would be deleted.\nTopic b would be deleted.\n")
    assert run("topic", "delete", "a", "b", *at) == (0, "")
    assert run("topic", "list", *at) == (0, "c\nd\n")


def test_alter(at: list[str]) -> None:
    run("topic", "create", "t", *at)
    assert run("topic", "alter", "t", "--partitions", "3", "--dry-run", *at) == (
        0,
        "Topic t would have 3 partitions.\n",
    )
    assert run("topic", "alter", "--topic", "t", "--partitions", "3", *at) == (0, "")
    (described,) = json.loads(run("topic", "describe", "t", "--format", "json", *at)[1])
    assert [part["partition"] for part in described["partitions"]] == [0, 1, 2]
    code, output = run("topic", "alter", "t", "--partitions", "2", *at)
    assert code == 1
    assert output.startswith("Error while executing topic command : ")
    assert "3 partition(s); 2 would not be an increase" in output
    assert run("topic", "alter", "t", "--partitions", "5", "--replica-assignment", "1,1,1,1,1", *at) == (0, "")
    code, output = run("topic", "alter", "t", "--partitions", "6", "--replica-assignment", "1,1,1,1,1,9", *at)
    assert code == 1
    assert "9" in output


def test_describe_by_id_and_in_pages(at: list[str]) -> None:
    run("topic", "create", "t", "u", "--partitions", "3", *at)
    code, whole = run("topic", "describe", *at)
    assert run("topic", "describe", "--partition-size-limit-per-response", "1", *at) == (code, whole)
    (topic,) = json.loads(run("topic", "describe", "t", "--format", "json", *at)[1])
    code, by_id = run("topic", "describe", "--topic-id", topic["id"], *at)
    assert (code, by_id.splitlines()[0]) == (0, whole.splitlines()[0])
    code, output = run("topic", "describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ", *at)
    assert output == (
        "Error while executing topic command : TopicId 'AAAAAAAAAAAAAAAAAAAAAQ' does not exist as expected\n"
    )
    assert run("topic", "describe", "t", "--unavailable-partitions", *at) == (0, "")
    assert run("topic", "describe", "t", "--at-min-isr-partitions", *at)[1].count("\n") == 3
    assert run("topic", "describe", "--topics-with-overrides", *at) == (0, "")
    listed = run("topic", "list", "t", "--format", "yaml", *at)[1].splitlines()
    assert listed[0] == "- name: t"
    assert listed[1] in (f'  id: "{topic["id"]}"', f"  id: {topic['id']}")
    assert listed[2:] == ["  internal: false", "  partitions: 3", "  replicas: 1"]


def test_trim(broker: SimpleNamespace, at: list[str], tmp_path: Path) -> None:
    run("topic", "create", "t", "--partitions", "2", *at)
    with RawClient(broker.host, broker.port) as client:
        client.produce("t", batch_of([b"x"] * 10))
    assert run("topic", "trim", "t", "-o", "4", "-p", "0", "--dry-run", *at) == (
        0,
        "partition: t-0\twould go: 4 records, offsets 0 to 4\n",
    )
    done = "Executing records delete operation\nRecords delete operation completed:\n"
    assert run("topic", "trim", "t", "-o", "4", "-p", "0", *at) == (0, f"{done}partition: t-0\tlow_watermark: 4\n")
    assert run("topic", "trim", "t", "-o", "@2020-01-01", *at) == (
        0,
        f"{done}partition: t-0\tlow_watermark: 4\npartition: t-1\tlow_watermark: 0\n",
    )
    file = tmp_path / "offsets.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 6}], "version": 1}')
    assert run("topic", "trim", "--offset-json-file", str(file), *at) == (
        0,
        f"{done}partition: t-0\tlow_watermark: 6\n",
    )
    file.write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 60}], "version": 1}')
    code, said = run("topic", "trim", "--offset-json-file", str(file), *at)
    assert (code, "partition: t-0\terror: Offset out of range." in said) == (0, True)
    assert run("topic", "trim", "t", "-o", "60", *at)[0] == 1
    file.write_text('{"partitions": [{"topic": "t", "partition": 0}]}')
    assert run("topic", "trim", "--offset-json-file", str(file), *at)[0] == 1
    assert run("topic", "trim", "t", "-o", "end", *at)[1] == (
        f"{done}partition: t-0\tlow_watermark: 10\npartition: t-1\tlow_watermark: 0\n"
    )


def test_analyze_counts_what_lies_in_the_range(broker: SimpleNamespace, at: list[str], tmp_path: Path) -> None:
    run("topic", "create", "t", *at)
    with RawClient(broker.host, broker.port) as client:
        client.produce("t", batch_of([b"x" * 100] * 10))
        client.produce("t", batch_of([b"y" * 10] * 5))
    (found,) = json.loads(run("topic", "analyze", "t", "--format", "json", *at)[1])
    assert (found["records"], found["batches"], found["compressed_batches"]) == (15, 2, 0)
    assert found["bytes"] == (tmp_path / "data" / "t-0" / f"{0:020}.log").stat().st_size
    (past,) = json.loads(run("topic", "analyze", "t", "-t", "2000-01-01:2000-01-02", "--format", "json", *at)[1])
    assert (past["records"], past["bytes"], past["records_per_second"]) == (0, 0, None)
    code, text = run("topic", "analyze", "t", *at)
    assert code == 0
    assert text.splitlines()[-1].split()[:4] == ["TOTAL", "-", "15", str(found["bytes"])]
