"""kafka-topics, kafka-log-dirs and kafka-broker-api-versions."""

import json
import re

import pytest

from tests.broker_process import BrokerProcess
from tests.peers.tools import API_VERSIONS, LOG_DIRS, PRODUCER, TOPICS, Tools

pytestmark = pytest.mark.peers


def partitions(tools: Tools, topic: str) -> list[str]:
    described = tools.ask(TOPICS, "--describe", "--topic", topic)
    return re.findall(rf"\tTopic: {topic}\tPartition: (\d+)\tLeader: 1\tReplicas: 1\tIsr: 1\t", described.out)


def test_the_life_of_a_topic(tools: Tools) -> None:
    name = "life.of-a_topic"
    created = tools.ask(TOPICS, "--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=86400000")
    assert f"Created topic {name}." in created.lines
    assert name in tools.ask(TOPICS, "--list").lines
    described = tools.ask(TOPICS, "--describe", "--topic", name)
    head = rf"Topic: {re.escape(name)}\tTopicId: [\w-]{{22}}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: (\S+)"
    assert re.search(head, described.out)[1] == "retention.ms=86400000"  # type: ignore[index]
    assert partitions(tools, name) == ["0", "1", "2"]
    tools.ask(TOPICS, "--alter", "--topic", name, "--partitions", "5")
    assert partitions(tools, name) == ["0", "1", "2", "3", "4"]
    tools.ask(TOPICS, "--delete", "--topic", name)
    assert name not in tools.ask(TOPICS, "--list").lines


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--create", "--topic", "{}"], "Topic '{}' already exists."),
        (["--create", "--topic", "a b"], "Topic name is invalid"),
        (["--create", "--topic", "many", "--replication-factor", "2"], "Unable to replicate the partition 2 time(s)"),
        (["--create", "--topic", "odd", "--config", "segment.bytes=1"], "segment.bytes"),
        (["--alter", "--topic", "{}", "--partitions", "1"], "already has 1 partition(s)"),
        (["--delete", "--topic", "no-such-topic"], "does not exist as expected"),
    ],
)
def test_refusals(tools: Tools, topic: str, asked: list[str], words: str) -> None:
    said = tools.ask(TOPICS, *[each.format(topic) for each in asked], fails=True)
    assert words.format(topic) in said.out + said.err


def test_log_dirs(tools: Tools, broker: BrokerProcess, topic: str) -> None:
    tools.ask(PRODUCER, "--topic", topic, given="one\ntwo\n")
    said = tools.ask(LOG_DIRS, "--describe", "--topic-list", topic)
    (described,) = json.loads(said.lines[-1])["brokers"]
    (directory,) = described["logDirs"]
    (partition,) = directory["partitions"]
    assert (described["broker"], directory["error"], directory["logDir"]) == (1, None, str(broker.directory))
    assert (partition["partition"], partition["offsetLag"], partition["isFuture"]) == (f"{topic}-0", 0, False)
    assert partition["size"] == (broker.directory / f"{topic}-0" / f"{0:020}.log").stat().st_size > 0


def test_api_versions(tools: Tools) -> None:
    said = tools.ask(API_VERSIONS)
    for name in ("Produce", "Fetch", "ListOffsets", "Metadata", "CreateTopics", "DescribeConfigs"):
        assert re.search(rf"\t{name}\(\d+\): \d+ to \d+ \[usable: \d+\]", said.out)
