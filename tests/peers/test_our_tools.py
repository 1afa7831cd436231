"""Our scripts beside Kafka's of the same names, against Apache Kafka and against kafpy: the same lines and statuses."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of
from tests.peers.apache import ApacheKafka
from tests.peers.tools import API_VERSIONS, CONFIGS, DELETE_RECORDS, DUMP, GROUPS, LOG_DIRS, TOPICS, Said, Tools

pytestmark = pytest.mark.peers
CLUSTER = "org.apache.kafka.tools.ClusterTool"
SCRIPTS = {
    API_VERSIONS: "kafka-broker-api-versions",
    CLUSTER: "kafka-cluster",
    CONFIGS: "kafka-configs",
    DELETE_RECORDS: "kafka-delete-records",
    DUMP: "kafka-dump-log",
    GROUPS: "kafka-consumer-groups",
    LOG_DIRS: "kafka-log-dirs",
    TOPICS: "kafka-topics",
}


class Pair:
    """Both tools, one broker."""

    def __init__(self, jars: Path, broker: BrokerProcess | ApacheKafka) -> None:
        self.broker = broker
        self._theirs = Tools(jars, broker.bootstrap)

    def ours(self, tool: str, *arguments: str | Path) -> Said:
        command = [sys.executable, "-m", "kafpy.cli.kafka.run", SCRIPTS[tool], *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        return Said(done.returncode, done.stdout, done.stderr)

    def ask_ours(self, tool: str, *arguments: str | Path) -> Said:
        return self.ours(tool, *arguments, "--bootstrap-server", self.broker.bootstrap)

    def ask_theirs(self, tool: str, *arguments: str | Path, fails: bool = False) -> Said:
        return self._theirs.run(tool, *arguments, "--bootstrap-server", self.broker.bootstrap, fails=fails)

    def same(
        self, tool: str, *arguments: str | Path, fails: bool = False, read: Callable[[str], object] = str
    ) -> object:
        """What both printed."""
        theirs = self.ask_theirs(tool, *arguments, fails=fails)
        ours = self.ask_ours(tool, *arguments)
        assert (ours.status, read(ours.out)) == (theirs.status, read(theirs.out))
        return read(ours.out)


@pytest.fixture(scope="module", params=["apache", "kafpy"])
def pair(request: pytest.FixtureRequest, fetched: Path) -> Pair:
    return Pair(fetched, request.getfixturevalue("apache" if request.param == "apache" else "broker"))


@pytest.fixture(scope="module")
def topic(pair: Pair) -> str:
    """With three partitions, a config and a few records in the first; its name has the broker's port in it."""
    name = f"ours-{pair.broker.port}"
    made = pair.ask_ours(TOPICS, "--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=86400000")
    assert made == Said(0, f"Created topic {name}.\n", "")
    with RawClient(pair.broker.host, pair.broker.port) as client:
        assert client.produce(name, batch_of([b"x"] * 10, timestamps=time.time_ns() // 1_000_000)).error_code == 0
    return name


def blocks(text: str) -> list[tuple[str, list[str]]]:
    """kafka-topics gives topics in the order of a hash map, and a topic's configs too."""
    found = []
    for block in re.split(r"\n(?=Topic: )", text.rstrip("\n")):
        head, configs, rest = re.match(r"([^\n]*\tConfigs: )(.*)((?s:.*))", block).groups()  # type: ignore[union-attr]
        found.append((head + rest, sorted(re.split(r",(?=[a-z.]+=)", configs))))
    return sorted(found)


def lines(text: str) -> list[str]:
    """kafka-consumer-groups lists groups as the broker has them."""
    return sorted(text.splitlines())


def directories(text: str) -> object:
    lines = text.splitlines()
    found = json.loads(lines[-1])
    for broker in found["brokers"]:
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda each: each["partition"])
    return lines[:-1], found


def test_topics(pair: Pair, topic: str) -> None:
    assert topic in str(pair.same(TOPICS, "--list"))
    assert topic in str(pair.same(TOPICS, "--describe", read=blocks))
    described = str(pair.same(TOPICS, "--describe", "--topic", topic))
    id_ = re.search(r"TopicId: (\S+)", described)
    assert id_ is not None
    pair.same(TOPICS, "--describe", "--topic-id", id_[1])
    pair.same(TOPICS, "--describe", "--topic", topic, "--partition-size-limit-per-response", "1")
    for filter_ in ("at-min-isr", "under-min-isr", "under-replicated", "unavailable"):
        pair.same(TOPICS, "--describe", "--topic", topic, f"--{filter_}-partitions")
    pair.same(TOPICS, "--describe", "--topics-with-overrides", read=blocks)
    pair.same(TOPICS, "--list", "--topic", "ours-.*,none", "--exclude-internal")


@pytest.mark.parametrize(
    "asked",
    [
        ["--describe", "--topic", "none"],
        ["--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ"],
        ["--describe", "--topic-id", "foo"],
        ["--create", "--topic", "{}"],
        ["--create", "--topic", "a b"],
        ["--create", "--topic", "odd", "--config", "x"],
        ["--create", "--topic", "odd", "--config", "no.such=1"],
        ["--create", "--topic", "odd", "--partitions", "0"],
        ["--create", "--topic", "odd", "--replication-factor", "0"],
        ["--create", "--topic", "odd", "--replica-assignment", "1:1"],
        ["--alter", "--topic", "{}", "--partitions", "1"],
        ["--alter", "--topic", "none", "--partitions", "1"],
        ["--delete", "--topic", "none"],
    ],
)
def test_refusals_of_topics(pair: Pair, topic: str, asked: list[str]) -> None:
    said = pair.same(TOPICS, *[each.format(topic) for each in asked], fails=True)
    assert "Error while executing topic command : " in str(said)


def test_configs(pair: Pair, topic: str) -> None:
    changed = pair.same(
        CONFIGS, "--alter", "--topic", topic, "--add-config", "segment.ms=100000,cleanup.policy=[compact,delete]"
    )
    assert changed == f"Completed updating config for topic {topic}.\n"
    described = str(pair.same(CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", topic))
    assert "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:" in described
    pair.same(CONFIGS, "--describe", "--topic", topic, "--all")
    pair.same(CONFIGS, "--alter", "--topic", topic, "--delete-config", "cleanup.policy,segment.ms")
    pair.same(CONFIGS, "--describe", "--topic", "none")
    pair.same(CONFIGS, "--alter", "--broker", "1", "--add-config", "message.max.bytes=2000000")
    pair.same(CONFIGS, "--describe", "--entity-type", "brokers")
    pair.same(CONFIGS, "--alter", "--broker", "1", "--delete-config", "message.max.bytes")
    pair.same(CONFIGS, "--describe", "--broker", "9")


def test_quotas(pair: Pair) -> None:
    four = "producer_byte_rate=1,consumer_byte_rate=123456789,request_percentage=3,controller_mutation_rate=4"
    pair.same(CONFIGS, "--alter", "--user", "u", "--client", "c", "--add-config", four)
    said = str(pair.same(CONFIGS, "--describe", "--entity-type", "users", "--entity-type", "clients"))
    assert said.startswith(
        "Quota configs for user-principal 'u', client-id 'c' are producer_byte_rate=1.0, consumer_byte_"
    )
    pair.same(CONFIGS, "--alter", "--client-defaults", "--add-config", "consumer_byte_rate=10000000")
    pair.same(CONFIGS, "--describe", "--entity-type", "clients", "--entity-default")
    forget = ("--alter", "--client-defaults", "--delete-config", "consumer_byte_rate")
    said = pair.ask_ours(CONFIGS, *forget)
    assert said == Said(0, "Completed updating default config for clients in the cluster.\n", "")
    assert pair.same(CONFIGS, "--describe", "--client-defaults") == ""
    pair.same(CONFIGS, "--alter", "--ip", "127.0.0.9", "--add-config", "connection_creation_rate=10")
    pair.same(CONFIGS, "--describe", "--entity-type", "ips")


@pytest.mark.parametrize(
    "asked",
    [
        ["--describe"],
        ["--describe", "--entity-type", "foo"],
        ["--alter", "--topic", "t"],
        ["--alter", "--entity-type", "topics", "--add-config", "a=b"],
        ["--describe", "--entity-type", "brokers", "--entity-name", "x"],
        ["--alter", "--user", "u", "--add-config", "foo=1"],
        ["--alter", "--user", "u", "--add-config", "producer_byte_rate=x"],
        ["--alter", "--user", "nobody", "--delete-config", "producer_byte_rate"],
        ["--alter", "--client", "c", "--delete-config", "no"],
        ["--alter", "--ip", "127.0.0.9", "--add-config", "foo=1"],
        ["--alter", "--topic", "t", "--add-config", "seg ment=1"],
        ["--alter", "--topic", "t", "--add-config", "seg"],
        ["--describe", "--topic", "t", "--entity-type", "topics"],
    ],
)
def test_refusals_of_configs(pair: Pair, asked: list[str]) -> None:
    theirs = pair.ask_theirs(CONFIGS, *asked, fails=True)
    ours = pair.ask_ours(CONFIGS, *asked)
    assert (ours.status, ours.out, ours.err) == (theirs.status, theirs.out, theirs.err)


def test_cluster(pair: Pair, topic: str) -> None:
    pair.same(API_VERSIONS)
    pair.same(CLUSTER, "cluster-id")
    pair.same(CLUSTER, "list-endpoints")
    pair.same(CLUSTER, "list-endpoints", "--include-fenced-brokers")
    pair.same(LOG_DIRS, "--describe", read=directories)
    pair.same(LOG_DIRS, "--describe", "--topic-list", topic, "--broker-list", "1", read=directories)
    theirs = pair.ask_theirs(LOG_DIRS, "--describe", "--broker-list", "9", fails=True)
    assert pair.ask_ours(LOG_DIRS, "--describe", "--broker-list", "9") == theirs


def test_delete_records(pair: Pair, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    for offset in (4, 4):  # again it changes nothing, and says so in the same words
        file.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": offset}], "version": 1}))
        assert f"partition: {topic}-0\tlow_watermark: 4\n" in str(pair.same(DELETE_RECORDS, "--offset-json-file", file))


def test_groups(pair: Pair, topic: str) -> None:
    flags = ("--reset-offsets", "--group", "ours", "--topic", f"{topic}:0", "--to-offset", "7", "--execute")
    assert pair.ask_ours(GROUPS, *flags).status == 0
    pair.same(GROUPS, "--list", read=lines)
    assert topic in str(pair.same(GROUPS, "--describe", "--group", "ours"))
    pair.same(GROUPS, "--describe", "--group", "ours", "--state")
    pair.same(GROUPS, "--describe", "--group", "ours", "--offsets", "--verbose")


def test_dump(pair: Pair, topic: str) -> None:
    folder = pair.broker.directory / f"{topic}-0"
    segments = ",".join(map(str, sorted(folder.glob("*.log"))))
    for flags in ([], ["--deep-iteration"], ["--print-data-log"]):
        theirs = pair._theirs.run(DUMP, *flags, "--files", segments)
        assert pair.ours(DUMP, *flags, "--files", segments).out == theirs.out


def test_dump_of_every_kind_of_file(pair: Pair) -> None:
    """Segments, indexes of those that were rolled; of Apache Kafka snapshots and the index of aborted transactions."""
    name = f"kinds-{pair.broker.port}"
    rolled = ("--config", "segment.bytes=1048576", "--config", "index.interval.bytes=1")
    assert pair.ask_ours(TOPICS, "--create", "--topic", name, *rolled).status == 0
    transactions = isinstance(pair.broker, ApacheKafka)
    told = {"transactional.id": "t"} if transactions else {"enable.idempotence": True}
    producer = Producer({"bootstrap.servers": pair.broker.bootstrap, **told})
    if transactions:
        producer.init_transactions(30)
    for number in range(4):
        if transactions:
            producer.begin_transaction()
        for part in range(3):
            producer.produce(name, key=b"k", value=b"%d %d " % (number, part) * 40_000, headers={"h": b"x"})
        assert producer.flush(30) == 0
        if transactions and number % 2:
            producer.abort_transaction(30)
        elif transactions:
            producer.commit_transaction(30)
    folder = pair.broker.directory / f"{name}-0"
    endings = [".log", ".index", ".timeindex", *([".snapshot", ".txnindex"] if transactions else [])]
    deadline = time.monotonic() + 30
    while not all(list(folder.glob(f"*{ending}")) for ending in endings):
        assert time.monotonic() < deadline  # a helper writes them
        time.sleep(0.1)
    files = [path for ending in endings for path in sorted(folder.glob(f"*{ending}"))]
    theirs = pair._theirs.run(DUMP, "--print-data-log", "--files", ",".join(map(str, files)))
    ours = pair.ours(DUMP, "--print-data-log", "--files", ",".join(map(str, files)))
    assert (ours.status, ours.out, sorted(ours.err.splitlines())) == (0, theirs.out, sorted(theirs.err.splitlines()))
    assert ("endTxnMarker: ABORT" in ours.out) == transactions
