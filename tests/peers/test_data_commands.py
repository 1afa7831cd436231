"""Kafka's console clients, perf tools and kafka-get-offsets beside ours, against Apache Kafka and against kafpy.

Both tools of a pair get the same flags; what scripts parse has to be the same.
"""

import re
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.tool import Tool
from tests.peers.apache import ApacheKafka
from tests.peers.tools import CONSUMER, OFFSETS, PRODUCER, PRODUCER_PERFORMANCE, Tools

pytestmark = pytest.mark.peers

CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"
LATENCY = "org.apache.kafka.tools.EndToEndLatency"
NUMBERS = count()
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Pair(SimpleNamespace):
    """A broker, with Kafka's tools and ours for it."""

    java: Tools
    kafpy: Tool

    def topic(self, partitions: int = 1) -> str:
        name = f"pair-{next(NUMBERS)}"
        self.kafpy.run("topic", "create", name, "--partitions", str(partitions))
        return name


@pytest.fixture(scope="module")
def apache(fetched: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    process = ApacheKafka(fetched, tmp_path_factory.mktemp("apache") / "kafka")
    yield process
    process.stop()


@pytest.fixture(params=["apache", "kafpy"])
def pair(request: pytest.FixtureRequest, fetched: Path, broker: BrokerProcess) -> Pair:
    place = broker.bootstrap if request.param == "kafpy" else request.getfixturevalue("apache").bootstrap
    return Pair(java=Tools(fetched, place), kafpy=Tool(place))


LINES = "".join(f"h{number}:v,g:\tkey{number}:value {number} é\n" for number in range(50)) + "NIL\tNIL:NIL\n"
READER = [
    word
    for each in ("parse.key=true", "parse.headers=true", "key.separator=:", "null.marker=NIL")
    for word in ("--reader-property", each)
]
FORMATTER = [
    word
    for each in ("key", "offset", "partition", "timestamp", "headers")
    for word in ("--formatter-property", f"print.{each}=true")
]


@pytest.mark.parametrize("codec", CODECS)
def test_console_clients(pair: Pair, codec: str) -> None:
    """What either producer sent, both consumers print alike."""
    by_java, by_kafpy = pair.topic(), pair.topic()
    pair.java.ask(PRODUCER, "--topic", by_java, "--compression-codec", codec, *READER, given=LINES)
    pair.kafpy.run("produce", "--topic", by_kafpy, "--compression-codec", codec, *READER, given=LINES)
    printed = []
    for topic in (by_java, by_kafpy):
        flags = ["--topic", topic, "--from-beginning", "--max-messages", "51", *FORMATTER]
        java, kafpy = pair.java.ask(CONSUMER, *flags), pair.kafpy.run("consume", *flags)
        assert kafpy.out.decode() == java.out
        assert "Processed a total of 51 messages" in java.err
        assert kafpy.err == "Processed a total of 51 messages\n"
        printed.append(re.sub(r"CreateTime:\d+", "", java.out))
    assert printed[0] == printed[1]


def test_a_consumer_that_gives_up(pair: Pair) -> None:
    topic = pair.topic()
    flags = ["--topic", topic, "--from-beginning", "--timeout-ms", "1500"]
    assert "Processed a total of 0 messages" in pair.java.ask(CONSUMER, *flags).err
    assert pair.kafpy.run("consume", *flags).err.endswith("Processed a total of 0 messages\n")


def test_keys_go_to_the_same_partitions(pair: Pair) -> None:
    lines = "".join(f"key-{number}:{number}\n" for number in range(200))
    keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    places = []
    for send in (
        lambda topic: pair.java.ask(PRODUCER, "--topic", topic, *keyed, given=lines),
        lambda topic: pair.kafpy.run("produce", "--topic", topic, *keyed, given=lines),
    ):
        topic = pair.topic(7)
        send(topic)
        places.append(pair.kafpy.run("consume", topic, "-o", "start", "-e", "-f", r"%p %k\n").out.splitlines())
    assert sorted(places[0]) == sorted(places[1])


def test_a_group_is_handed_from_one_to_the_other(pair: Pair) -> None:
    topic = pair.topic()
    pair.kafpy.run("produce", topic, given="".join(f"{number}\n" for number in range(6)))
    group = ["--topic", topic, "--group", f"of-{topic}", "--from-beginning", "--max-messages"]
    assert pair.java.ask(CONSUMER, *group, "2").lines == ["0", "1"]
    assert pair.kafpy.run("consume", *group, "2").out == b"2\n3\n"
    assert pair.java.ask(CONSUMER, *group, "2").lines == ["4", "5"]


def test_offsets(pair: Pair) -> None:
    topic = pair.topic(3)
    pair.kafpy.run("produce", topic, "-p", "1", given="a\nb\nc\n")
    for flags in (
        *(
            ["--topic", topic, "--time", time]
            for time in ("latest", "earliest", "max-timestamp", "-1", "-4", "-5", "-6")
        ),
        ["--topic", topic, "--time", "1"],
        ["--topic", topic, "--time", "99999999999999"],
        ["--topic", topic, "--partitions", "0,1"],
        ["--topic-partitions", f"{topic}:1-"],
        ["--topic-partitions", f"{topic}:-2,nothing:0"],
    ):
        assert pair.kafpy.run("offsets", *flags).out.decode() == pair.java.ask(OFFSETS, *flags).out, flags
    for flags in (["--topic", "no-such-topic"], ["--topic", topic, "--time", "noon"]):
        java = pair.java.ask(OFFSETS, *flags, fails=True)
        kafpy = pair.kafpy.run("offsets", *flags, status=1)
        assert kafpy.err.strip() in java.err


def shape(text: str) -> list[str]:
    """With one letter for each number and each time."""
    dated = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", "D", text)
    return re.sub(r"\d+(\.\d+)?", lambda match: f"N.{len(match[1]) - 1}" if match[1] else "N", dated).splitlines()


def test_producer_performance(pair: Pair) -> None:
    flags = ["--topic", pair.topic(2), "--num-records", "3000", "--record-size", "100", "--throughput", "1500"]
    flags += ["--warmup-records", "1000", "--command-property", "acks=1", "linger.ms=1"]
    java = shape(pair.java.ask(PRODUCER_PERFORMANCE, *flags).out)
    kafpy = shape(pair.kafpy.run("perf", "produce", *flags).out.decode())
    assert kafpy == java


def test_consumer_performance(pair: Pair) -> None:
    topic = pair.topic(2)
    load = ["--num-records", "20000", "--record-size", "100", "--throughput", "-1"]
    pair.kafpy.run("perf", "produce", "--topic", topic, *load)
    for more in ([], ["--hide-header"], ["--num-records", "30000", "--timeout", "1500"]):
        flags = ["--topic", topic, "--num-records", "20000", *more]
        flags = flags[:2] + flags[4:] if "30000" in more else flags
        java = shape(pair.java.ask(CONSUMER_PERFORMANCE, *flags).out)
        assert shape(pair.kafpy.run("perf", "consume", *flags).out.decode()) == java


def test_end_to_end_latency(pair: Pair) -> None:
    flags = ["--num-records", "5", "--producer-acks", "all", "--record-size", "50"]
    names = f"e2e-{next(NUMBERS)}", f"e2e-{next(NUMBERS)}"
    java = pair.java.ask(LATENCY, "--topic", names[0], *flags).out.replace(names[0], "T")
    kafpy = pair.kafpy.run("perf", "e2e", "--topic", names[1], *flags).out.decode().replace(names[1], "T")
    java, kafpy = (re.sub(r"^0\t\S+$", "0\tms", text, flags=re.MULTILINE) for text in (java, kafpy))
    assert shape(kafpy) == shape(java)


def test_a_reader_that_leaves(pair: Pair) -> None:
    topic = pair.topic()
    pair.kafpy.run("produce", topic, given="line\n" * 100_000)
    consume = pair.kafpy.start("consume", topic, "-o", "start")
    head = subprocess.run(["head", "-3"], stdin=consume.stdout, capture_output=True, timeout=60)
    assert consume.stdout and consume.stderr
    consume.stdout.close()
    assert head.stdout == b"line\n" * 3
    assert (consume.wait(timeout=60), consume.stderr.read()) == (0, b"")
