"""`kafpy cat` against a broker; where kcat itself is installed, both get the same letters and must say the same."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.tool import Tool
from tests.clients.raw import RawClient, batch_of, codecs_of

NUMBERS = count()
NS = 1_700_000_000_000
KCAT = shutil.which("kcat")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("cat") / "data", group_initial_rebalance_delay_ms=0)
    yield process
    process.stop()
    assert process.stderr == ""


@pytest.fixture
def tool(broker: BrokerProcess) -> Tool:
    return Tool(broker.bootstrap)


@pytest.fixture
def raw(broker: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(broker.host, broker.port) as client:
        yield client


@pytest.fixture
def topic(raw: RawClient) -> str:
    """With one partition; no other test uses it."""
    name = f"cat-{next(NUMBERS)}"
    raw.create(name, 1)
    return name


def read(tool: Tool, topic: str, form: str) -> list[str]:
    return tool.run("cat", "-C", "-t", topic, "-e", "-q", "-f", form).out.decode().splitlines()


ALL = r"%k %K|%s %S|%h\n"


@pytest.mark.parametrize(
    ("letters", "given", "expected"),
    [
        ([], "a\n\nb", [" -1|a 1|", " -1|b 1|"]),
        (["-K:"], ":x\ny\nz:\n", [" 0|x 1|", " -1|y 1|", "z 1| 0|"]),
        (["-K:", "-Z"], ":\nz:\n", [" -1| -1|", "z 1| -1|"]),
        (["-K:", "-k", "fixed"], "own:v\nnone\n", ["own 3|v 1|", "fixed 5|none 4|"]),
        (["-H", "a=1", "-H", "b"], "v\n", [" -1|v 1|a=1,b=NULL"]),
        (["-D", ";", "-c", "2"], "1;2;3;4", [" -1|1 1|", " -1|2 1|"]),
    ],
)
def test_what_is_sent(tool: Tool, topic: str, letters: list[str], given: str, expected: list[str]) -> None:
    tool.run("cat", "-P", "-t", topic, *letters, given=given)
    assert read(tool, topic, ALL) == expected


def test_files_and_tee(tool: Tool, topic: str, tmp_path: Path, raw: RawClient) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\n")
    tool.run("cat", "-P", "-t", topic, str(path))
    assert tool.run("cat", "-P", "-t", topic, "-l", "-T", "-z", "gzip", str(path)).out == b"one\ntwo\n"
    assert read(tool, topic, "%S %o\n") == ["8 0", "3 1", "3 2"]
    assert codecs_of(raw.fetch(topic, offset=1).records) == {1}


def test_the_envelope(tool: Tool, raw: RawClient, topic: str) -> None:
    raw.produce(topic, batch_of([b"v"], timestamps=NS))
    tool.run("cat", "-P", "-t", topic, "-k", "k", "-H", "a=1", "-H", "b", given='"quoted"\n')
    first, second = map(json.loads, tool.run("cat", "-t", topic, "-C", "-e", "-J").out.splitlines())
    assert first == {
        "topic": topic, "partition": 0, "offset": 0, "tstype": "create", "ts": NS, "broker": 1, "key": None,
        "payload": "v",
    }  # fmt: skip
    assert (second["headers"], second["key"], second["payload"]) == (["a", "1", "b", None], "k", '"quoted"')


def test_where_to_read(tool: Tool, raw: RawClient, topic: str) -> None:
    raw.produce(topic, batch_of([b"%d" % each for each in range(10)], timestamps=[NS + each for each in range(10)]))
    for letters, expected in {
        ("-o", "beginning"): range(10), ("-o", "end"): [], ("-o", "-2"): [8, 9], ("-o", "7"): [7, 8, 9],
        ("-o", f"s@{NS + 3}", "-o", f"e@{NS + 5}"): [3, 4], ("-o", "4", "-c", "2"): [4, 5],
    }.items():  # fmt: skip
        ran = tool.run("cat", "-C", "-t", topic, "-e", "-q", *letters)
        assert ran.out.split() == [b"%d" % each for each in expected], letters
        assert ran.err == ""
    ran = tool.run("cat", "-C", "-t", topic, "-e", "-o", "9")
    assert ran.err == f"% Reached end of topic {topic} [0] at offset 10: exiting\n"
    assert tool.run("cat", "-Q", "-t", f"{topic}:0:{NS + 4}").out.decode() == f"{topic} [0] offset 4\n"


def test_a_group(tool: Tool, topic: str) -> None:
    tool.run("cat", "-P", "-t", topic, given="a\nb\nc\n")
    group = ["cat", "-G", f"of-{topic}", "-o", "beginning"]
    ran = tool.run(*group, "-c", "2", topic)
    assert ran.out == b"a\nb\n"
    assert "% Waiting for group rebalance\n" in ran.err
    assert f"): assigned: {topic} [0]\n" in ran.err
    assert tool.run(*group, "-c", "1", f"^{topic}$").out == b"c\n"
    stored = ["-C", "-t", topic, "-o", "stored", "-X", f"group.id=of-{topic}", "-e"]
    assert tool.run("cat", *stored).out == b""


def test_modes_are_chosen_by_the_pipe(tool: Tool, topic: str) -> None:
    ran = tool.run("cat", "-t", topic, given="piped\n")
    assert ran.err == "% Auto-selecting Producer mode (use -P or -C to override)\n"
    assert read(tool, topic, r"%s\n") == ["piped"]


def test_a_tail_is_interrupted(tool: Tool, topic: str) -> None:
    tool.run("cat", "-P", "-t", topic, given="a\n")
    with tool.start("cat", "-C", "-t", topic, "-u") as tail:
        assert tail.stdout and tail.stderr
        assert tail.stdout.readline() == b"a\n"
        assert tail.stderr.readline() == f"% Reached end of topic {topic} [0] at offset 1\n".encode()
        tail.send_signal(signal.SIGINT)
        assert tail.wait(timeout=30) == 130


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        (["-M", "3"], "start one with `kafpy serve"),
        (["-C", "-t", "t", "-s", "key=i"], "-s is not supported"),
        (["-C", "-t", "t", "-r", "http://localhost"], "-r (Avro and its schema registry) is not supported"),
        (["-C", "-P", "-t", "t"], "one mode at a time"),
        (["-C"], "-C needs -t TOPIC"),
        (["-G", "g"], "-G GROUP needs topics"),
        (["-C", "-t", "no-such-topic", "-e"], "% ERROR: Topic no-such-topic error: Broker: Unknown topic or partition"),
        (["-C", "-t", "t", "-f", "%q"], "% ERROR: %q is not known"),
        (["-C", "-t", "t", "-X", "security.protocol=sasl_ssl", "-X", "sasl.mechanisms=PLAIN"], "names no username"),
        (["-Q", "-t", "t"], "-Q takes TOPIC:PARTITION:MILLISECONDS"),
    ],
)
def test_mistakes(tool: Tool, letters: list[str], said: str) -> None:
    ran = tool.run("cat", *letters, status=None)
    assert ran.status != 0
    assert said in ran.err


def told(out: bytes) -> bytes:
    """Without what kcat says of the broker that it happened to ask."""
    return re.sub(rb'\(from broker [^)]*\)|"originating_broker":{[^}]*}', b"", out).rstrip(b"\n")


@pytest.mark.skipif(KCAT is None, reason="kcat is not installed (apt install kcat)")
class TestBesideKcat:
    def ask(self, broker: BrokerProcess, *letters: str, given: bytes = b"") -> tuple[int, bytes, list[bytes]]:
        assert KCAT is not None
        done = subprocess.run([KCAT, "-b", broker.bootstrap, *letters], input=given, capture_output=True, timeout=60)
        return done.returncode, told(done.stdout), done.stderr.splitlines()

    def test_the_same_letters_say_the_same(self, tool: Tool, broker: BrokerProcess, raw: RawClient, topic: str) -> None:
        times = [NS + each for each in range(40)]
        raw.produce(topic, batch_of([b"%d" % each for each in range(40)], timestamps=times, codec=4))
        tool.run("cat", "-P", "-t", topic, "-K:", "-Z", "-H", "a=1", "-H", "b", given='k:v\n:x\nz:\ny\n"q"é:\\\t\n')
        for letters in (
            ["-L", "-t", topic],
            ["-L", "-J", "-t", topic],
            ["-C", "-t", topic, "-e"],
            ["-C", "-t", topic, "-e", "-J", "-o", "-6"],
            ["-C", "-t", topic, "-e", "-f", r"%t|%p|%o|%k|%K|%s|%S|%R|%T|%h|%%\x41\n"],
            ["-C", "-t", topic, "-e", "-Z", "-K", ":", "-q"],
            ["-C", "-t", topic, "-o", "3", "-c", "2", "-D", ";"],
            ["-C", "-t", topic, "-o", f"s@{NS + 5}", "-o", f"e@{NS + 9}", "-e", "-q"],
            ["-C", "-t", topic, "-p", "5", "-e"],
            ["-Q", "-t", f"{topic}:0:{NS + 7}"],
            ["-Q", "-t", f"{topic}:0:-1"],
        ):
            ran = tool.run("cat", *letters, status=None)
            assert (ran.status, told(ran.out), ran.err.encode().splitlines()) == self.ask(broker, *letters), letters

    def test_keys_go_to_the_same_partitions(self, tool: Tool, broker: BrokerProcess, raw: RawClient) -> None:
        keys = b"".join(b"key-%d:v\n" % number for number in range(200))
        places = []
        for name, send in (("placed-by-kcat", self.ask), ("placed-by-kafpy", None)):
            raw.create(name, 7)
            letters = ["-P", "-t", name, "-K:"]
            if send is None:
                tool.run("cat", *letters, given=keys)
            else:
                assert send(broker, *letters, given=keys)[0] == 0
            places.append(sorted(read(tool, name, r"%k %p\n")))
        assert places[0] == places[1]
