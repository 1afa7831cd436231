"""Kafka's console clients, perf test, kafka-get-offsets and kafka-delete-records."""

import json
import re
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, codecs_of
from tests.peers.tools import CONSUMER, DELETE_RECORDS, OFFSETS, PRODUCER, PRODUCER_PERFORMANCE, Tools

pytestmark = pytest.mark.peers

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def offset(tools: Tools, topic: str, time: str = "latest") -> str:
    return tools.ask(OFFSETS, "--topic", topic, "--time", time).out.strip()


def consumed(tools: Tools, topic: str, count: int, *more: str) -> list[str]:
    found = tools.ask(CONSUMER, "--topic", topic, "--partition", "0", "--max-messages", str(count), *more)
    assert f"Processed a total of {count} messages" in found.err
    return found.lines


def test_console_clients(tools: Tools, topic: str) -> None:
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    lines = [f"key{number}:value {number} é" for number in range(200)]
    tools.ask(PRODUCER, "--topic", topic, *keyed, given="\n".join(lines) + "\n")
    assert offset(tools, topic) == f"{topic}:0:200"
    printed = (
        "--formatter-property", "print.key=true", "--formatter-property", "key.separator=:",
        "--formatter-property", "print.offset=true",
    )  # fmt: skip
    found = consumed(tools, topic, 200, "--from-beginning", *printed)
    assert found == [f"Offset:{number}:{line}" for number, line in enumerate(lines)]
    assert consumed(tools, topic, 3, "--offset", "197") == ["value 197 é", "value 198 é", "value 199 é"]


def test_offsets(tools: Tools, topic: str) -> None:
    tools.ask(PRODUCER, "--topic", topic, given="a\nb\nc\n")
    assert offset(tools, topic, "earliest") == f"{topic}:0:0"
    assert offset(tools, topic, "latest") == f"{topic}:0:3"
    assert re.fullmatch(rf"{topic}:0:[012]", offset(tools, topic, "max-timestamp"))
    assert offset(tools, topic, "1") == f"{topic}:0:0"
    assert offset(tools, topic, "99999999999999") == ""  # the tool's way to say that there is none


def test_delete_records(tools: Tools, topic: str, tmp_path: Path) -> None:
    tools.ask(PRODUCER, "--topic", topic, given="".join(f"{number}\n" for number in range(10)))

    def delete(before: int) -> str:
        plan = tmp_path / "plan.json"
        wanted = [{"topic": topic, "partition": 0, "offset": before}]
        plan.write_text(json.dumps({"version": 1, "partitions": wanted}))
        return tools.ask(DELETE_RECORDS, "--offset-json-file", plan).out

    assert f"partition: {topic}-0\tlow_watermark: 4" in delete(4)
    assert offset(tools, topic, "earliest") == f"{topic}:0:4"
    assert consumed(tools, topic, 6, "--from-beginning") == ["4", "5", "6", "7", "8", "9"]
    assert "OffsetOutOfRangeException" in delete(11)
    assert f"partition: {topic}-0\tlow_watermark: 10" in delete(-1)
    assert offset(tools, topic, "earliest") == f"{topic}:0:10"


@pytest.mark.parametrize("codec", CODECS)
def test_producer_performance(tools: Tools, broker: BrokerProcess, topic: str, codec: str) -> None:
    count = 20_000
    said = tools.ask(
        PRODUCER_PERFORMANCE, "--topic", topic, "--num-records", str(count), "--record-size", "200",
        "--throughput", "-1", "--command-property", f"compression.type={codec}", "acks=all",
    )  # fmt: skip
    assert f"{count} records sent" in said.lines[-1]
    assert offset(tools, topic) == f"{topic}:0:{count}"
    with RawClient(broker.host, broker.port) as client:
        first = client.fetch(topic, partition_max_bytes=100_000)
        assert codecs_of(first.records) == {CODECS.index(codec)}
        assert len(client.values(topic)) == count
