"""kafka-consumer-groups, the console consumer in a group, and Kafka's own readers of `__consumer_offsets`."""

import re

import pytest

from kafpy.coordinator.group.partition_for import partition_for
from tests.broker_process import BrokerProcess
from tests.clients import raw_groups as groups
from tests.clients.raw import RawClient
from tests.peers.tools import CONSUMER, DUMP, GROUPS, PRODUCER, Tools

pytestmark = pytest.mark.peers
FORMATTERS = "org.apache.kafka.tools.consumer"
PARTITIONS = 50


def consume(tools: Tools, topic: str, group: str, count: int) -> list[str]:
    said = tools.ask(
        CONSUMER, "--topic", topic, "--group", group, "--max-messages", str(count), "--timeout-ms", "30000",
        "--command-property", "auto.offset.reset=earliest",
    )  # fmt: skip
    return said.lines


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line]


def test_a_console_consumer_goes_on_where_its_group_was(tools: Tools, topic: str) -> None:
    tools.ask(PRODUCER, "--topic", topic, given="".join(f"line {number}\n" for number in range(5)))
    assert consume(tools, topic, "console", 3) == ["line 0", "line 1", "line 2"]
    assert consume(tools, topic, "console", 2) == ["line 3", "line 4"]
    described = tools.ask(GROUPS, "--describe", "--group", "console")
    assert rows(described.out)[1] == ["console", topic, "0", "5", "5", "0", "-", "-", "-"]
    assert "Consumer group 'console' has no active members." in described.err


def test_the_life_of_a_group(tools: Tools, broker: BrokerProcess, topic: str) -> None:
    group = "life"
    tools.ask(PRODUCER, "--topic", topic, given="one\ntwo\nthree\n")
    with RawClient(broker.host, broker.port) as client:
        groups.find_coordinator(client, group)
        assigned = b"\0\0" + (1).to_bytes(4, "big") + len(topic).to_bytes(2, "big") + topic.encode()
        generation, member = groups.enter(client, group, assigned + b"\0\0\0\1" + bytes(4) + b"\xff" * 4)
        assert groups.commit(client, group, topic, {0: 1}, generation=generation, member_id=member) == {0: 0}
        assert group in tools.ask(GROUPS, "--list").lines
        assert [group, "Classic", "Stable"] in rows(tools.ask(GROUPS, "--list", "--type", "--state", "stable").out)
        offsets = rows(tools.ask(GROUPS, "--describe", "--group", group).out)
        assert offsets[1] == [group, topic, "0", "1", "3", "2", member, "/127.0.0.1", "raw"]
        members = rows(tools.ask(GROUPS, "--describe", "--group", group, "--members", "--verbose").out)
        assert members[1][:6] == [group, member, "/127.0.0.1", "raw", "1", "-"]
        assert members[1][6] == f"{topic}:0"
        state = rows(tools.ask(GROUPS, "--describe", "--group", group, "--state").out)
        assert state[1] == [group, broker.bootstrap, "(1)", "range", "Stable", "1"]
        inactive = f"Assignments can only be reset if the group '{group}' is inactive"
        refused = tools.ask(GROUPS, "--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute")
        assert inactive in refused.out
        assert "GroupNotEmptyException" in tools.ask(GROUPS, "--delete", "--group", group).out
        groups.leave(client, group, member)
        described = tools.ask(GROUPS, "--describe", "--group", group, "--state")
        assert rows(described.out)[1][-2:] == ["Empty", "0"]  # who left is in the message beside it, and is no error
        reset = tools.ask(GROUPS, "--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute")
        assert [group, topic, "0", "3"] in rows(reset.out)
        assert groups.committed(client, group, None) == {(topic, 0): (3, 0)}
        deleted = tools.ask(GROUPS, "--delete-offsets", "--group", group, "--topic", topic)
        assert [topic, "0", "Successful"] in rows(deleted.out)
        assert groups.committed(client, group, None) == {}
        assert "was successful" in tools.ask(GROUPS, "--delete", "--group", group).out
        assert group not in groups.listed(client)


@pytest.fixture
def written(tools: Tools, broker: BrokerProcess, topic: str) -> str:
    """A group with a record of each kind: its members, an offset, tombstones."""
    group = f"written-{topic}"
    with RawClient(broker.host, broker.port) as client:
        groups.find_coordinator(client, group)
        assert groups.commit(client, group, topic, {0: 5}, metadata="noted", leader_epoch=0) == {0: 0}
        _, member = groups.enter(client, group, b"\0\0" + bytes(8))
        groups.leave(client, group, member)
        assert groups.delete(client, group) == {group: 0}
    return group


@pytest.mark.parametrize(
    ("formatter", "words"),
    [
        ("OffsetsMessageFormatter", ['"offset":5', '"metadata":"noted"', '"value":null']),
        ("GroupMetadataMessageFormatter", ['"protocolType":"consumer"', '"generation":1', '"value":null']),
    ],
)
def test_kafkas_formatters(tools: Tools, written: str, topic: str, formatter: str, words: list[str]) -> None:
    said = tools.ask(
        CONSUMER, "--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "5000",
        "--formatter", f"{FORMATTERS}.{formatter}",
    )  # fmt: skip
    each = said.out.replace('}{"key"', '}\n{"key"').splitlines()  # it ends no line
    found = "\n".join(line for line in each if f'"group":"{written}"' in line)
    assert all(word in found for word in words), said


def test_dump_log_decodes_the_groups_topic(tools: Tools, broker: BrokerProcess, written: str, topic: str) -> None:
    folder = broker.directory / f"__consumer_offsets-{partition_for(written, PARTITIONS)}"
    said = tools.run(DUMP, "--offsets-decoder", "--deep-iteration", "--files", folder / f"{0:020}.log")
    found = [line for line in said.lines if written in line]
    offsets = [line for line in found if f'"topic":"{topic}"' in line]
    assert len(offsets) == 2
    assert re.search(r'"offset":5,"leaderEpoch":0,"metadata":"noted"', offsets[0])
    assert offsets[1].endswith("payload: <DELETE>")
    others = [line for line in found if line not in offsets]
    assert any('"protocolType":"consumer"' in line for line in others)
    assert others[-1].endswith("payload: <DELETE>")
