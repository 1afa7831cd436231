"""`kafpy produce` and `kafpy consume` in a shell's pipes, against a broker."""

import json
import signal
import time
from collections.abc import Iterator
from itertools import count

import pytest
import yaml

from tests.broker_process import BrokerProcess
from tests.cli.tool import Tool
from tests.clients.raw import RawClient, batch_of, codecs_of

NUMBERS = count()
NS = 1_700_000_000_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("tools") / "data", group_initial_rebalance_delay_ms=0)
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
    name = f"lines-{next(NUMBERS)}"
    raw.create(name, 1)
    return name


@pytest.fixture
def wide(raw: RawClient) -> str:
    """With three partitions; no other test uses it."""
    name = f"wide-{next(NUMBERS)}"
    raw.create(name, 3)
    return name


def read(tool: Tool, topic: str, *more: str) -> list[str]:
    return tool.run("consume", topic, "-o", "start", "-e", *more).out.decode().splitlines()


def test_lines_in_and_out(tool: Tool, topic: str) -> None:
    ran = tool.run("produce", topic, given="one\ntwo\r\n\nlast é")
    assert (ran.out, ran.err) == (b"", "")
    ran = tool.run("consume", topic, "--from-beginning", "-n", "4")
    assert ran.out.decode() == "one\ntwo\n\nlast é\n"
    assert ran.err == "Processed a total of 4 messages\n"
    assert read(tool, topic, "-f", r"%o:%v\n") == ["0:one", "1:two", "2:", "3:last é"]


def test_a_large_pipe_arrives_whole_and_in_order(tool: Tool, topic: str) -> None:
    lines = b"".join(b"%d %s\n" % (number, b"x" * (number % 150)) for number in range(200_000))
    tool.run("produce", topic, "-z", "lz4", given=lines)
    ran = tool.run("consume", topic, "-o", "start", "-e")
    assert ran.out == lines
    assert ran.err == "Processed a total of 200000 messages\n"


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_codecs(tool: Tool, raw: RawClient, topic: str, codec: str) -> None:
    tool.run("produce", topic, "-z", codec, given="a\nb\n" * 100)
    assert codecs_of(raw.fetch(topic).records) == {["none", "gzip", "snappy", "lz4", "zstd"].index(codec)}
    assert read(tool, topic) == ["a", "b"] * 100


def test_console_readers_and_formatters(tool: Tool, topic: str) -> None:
    laid_out = ["parse.key=true", "parse.headers=true", "key.separator=:", "null.marker=NIL"]
    given = [word for each in laid_out for word in ("--reader-property", each)]
    tool.run("produce", "--topic", topic, *given, given="h:1,g:NIL\tk:v\nNIL\tNIL:NIL\n")
    shown = ["timestamp", "partition", "offset", "epoch", "headers", "key"]
    printed = [word for each in shown for word in ("--property", f"print.{each}=true")]
    first, second = read(tool, topic, *printed, "--property", "null.literal=-", "--property", "key.separator=|")
    assert first.split("|")[1:] == ["Partition:0", "Offset:0", "Epoch:0", "h:1,g:-", "k", "v"]
    assert first.startswith("CreateTime:17")
    assert second.split("|")[4:] == ["NO_HEADERS", "-", "-"]


def test_rpk_letters(tool: Tool, wide: str) -> None:
    tool.run("produce", wide, "-k", "key", "-H", "a:1", "-p", "2", "-f", r"%v;", given="x;y;")
    tool.run("produce", wide, "-Z", "-p", "0", given="\n")
    assert read(tool, wide, "-f", r"%p %k=%v %h{%k:%v{hex}} %V\n", "-p", "2") == ["2 key=x a:31 1", "2 key=y a:31 1"]
    assert read(tool, wide, "-p", "0,1", "-f", r"%p/%V{hex16}/%K\n") == ["0/ffff/-1"]
    assert read(tool, wide, "-o", "-1", "-p", "2") == ["y"]


def test_json_round_trip(tool: Tool, raw: RawClient, wide: str) -> None:
    raw.produce(wide, batch_of([b"v", None, b"\xff\x00", '"é\n"'.encode()], timestamps=NS), partition=1)
    tool.run("produce", wide, "-k", "k", "-H", "a:1", "-H", "null", "-p", "2", given="with key\n")
    lines = read(tool, wide, "--format", "json")
    by_place = {(each["partition"], each["offset"]): each for each in map(json.loads, lines)}
    assert by_place[1, 0] == {
        "topic": wide, "partition": 1, "offset": 0, "timestamp": NS, "headers": [], "key": None, "value": "v",
    }  # fmt: skip
    assert by_place[1, 2]["value_base64"] == "/wA="
    assert by_place[2, 0]["headers"] == [{"key": "a", "value": "1"}, {"key": "null", "value": None}]
    copy = f"{wide}-copy"
    raw.create(copy, 3)
    tool.run("produce", copy, "--format", "json", given="\n".join(lines) + "\n")
    copied = [line.replace(copy, wide) for line in read(tool, copy, "--format", "json")]
    assert sorted(copied) == sorted(lines)
    assert yaml.safe_load("\n".join(read(tool, wide, "--format", "yaml"))) == list(map(json.loads, lines))
    tool.run("produce", "--format", "json", given=json.dumps({"topic": copy, "value": {"a": [1]}, "partition": 0}))
    assert read(tool, copy, "-p", "0") == ['{"a":[1]}']


def test_where_reading_starts_and_ends(tool: Tool, raw: RawClient, topic: str) -> None:
    raw.produce(
        topic, batch_of([b"%d" % each for each in range(10)], timestamps=[NS + each * 1000 for each in range(10)])
    )
    for offset, expected in {
        "start": range(10), "end": [], "7": [7, 8, 9], "-2": [8, 9], "+8": [8, 9], "3:5": [3, 4], ":2": [0, 1],
        f"@{NS + 4000}": range(4, 10), f"@{NS + 4000}:{NS + 6000}": [4, 5], f"@{NS}:2s": [0, 1],
        "@2023-11-14T22:13:21Z:2023-11-14T22:13:23Z": [1, 2], "@-1h": [],
    }.items():  # fmt: skip
        ran = tool.run("consume", topic, "-o", offset, "-e")
        assert ran.out.split() == [b"%d" % each for each in expected], offset


def test_a_live_tail_sees_lines_at_once(tool: Tool, topic: str) -> None:
    with tool.start("produce", topic) as producer, tool.start("consume", topic, "-o", "start") as consumer:
        assert producer.stdin and consumer.stdout and consumer.stderr
        for line in (b"first\n", b"second\n"):
            producer.stdin.write(line)
            assert consumer.stdout.readline() == line
        producer.stdin.close()
        assert producer.wait(timeout=30) == 0
        consumer.send_signal(signal.SIGINT)
        assert consumer.wait(timeout=30) == 130
        assert consumer.stderr.read() == b"Processed a total of 2 messages\n"


def test_an_interrupted_producer_delivers_what_it_has_read(tool: Tool, topic: str) -> None:
    with tool.start("produce", topic) as producer, tool.start("consume", topic, "-o", "start", "-n", "1") as consumer:
        assert producer.stdin and producer.stderr
        producer.stdin.write(b"one\n")
        consumer.wait(timeout=30)
        producer.send_signal(signal.SIGINT)
        assert producer.wait(timeout=30) == 130
        assert producer.stderr.read() == b"Sent a total of 1 messages\n"


def test_a_reader_that_leaves_is_no_error(tool: Tool, topic: str) -> None:
    tool.run("produce", topic, given="x" * 99 + "\n" + "y\n" * 200_000)
    with tool.start("consume", topic, "-o", "start") as consumer:
        assert consumer.stdout and consumer.stderr
        assert consumer.stdout.read(99) == b"x" * 99
        consumer.stdout.close()
        assert consumer.wait(timeout=30) == 0
        assert consumer.stderr.read() == b""


def test_a_group_goes_on_where_it_was(tool: Tool, wide: str) -> None:
    tool.run("produce", wide, "-f", r"%k %v\n", given="".join(f"{number} {number}\n" for number in range(30)))
    group = ["consume", wide, "-g", f"of-{wide}", "--from-beginning"]
    first = tool.run(*group, "-n", "10").out.split()
    rest = tool.run(*group, "-n", "20").out.split()
    assert sorted(map(int, first + rest)) == list(range(30))
    ran = tool.run(*group, "--timeout-ms", "200")
    assert (ran.out, ran.err.splitlines()[-1]) == (b"", "Processed a total of 0 messages")


def test_two_members_share(tool: Tool, wide: str) -> None:
    members = [tool.start("consume", wide, "-g", f"shared-{wide}", "--from-beginning", "-f", r"%p\n") for _ in range(2)]
    deadline = time.monotonic() + 30
    described = ""
    while len(owners(described, wide)) < 2:
        assert time.monotonic() < deadline, described
        described = tool.run("group", "describe", f"shared-{wide}", status=None).out.decode()
    for partition in range(3):
        tool.run("produce", wide, "-p", str(partition), given="v\n")
    for member in members:
        assert member.stdout
        assert member.stdout.readline() in (b"0\n", b"1\n", b"2\n")
        member.send_signal(signal.SIGINT)
    for member in members:
        assert member.wait(timeout=30) == 130
        member.communicate()


def owners(described: str, topic: str) -> set[str]:
    return {row.split()[6] for row in described.splitlines() if f" {topic} " in row}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["produce"], "name the topic"),
        (["produce", "t", "--acks", "2"], "acks can be 0, 1 or all, not 2"),
        (["produce", "t", "-f", "%x"], "%x is not known in an input format"),
        (["produce", "t", "--line-reader", "com.example.Mine"], "Java classes do not run here"),
        (["produce", "t", "--reader-property", "parse.key"], "not KEY=VALUE"),
        (["consume"], "name a topic"),
        (["consume", "no-such-topic"], "there is no topic no-such-topic; make it with `kafpy topic create"),
        (["consume", "t", "-o", "soon"], "'soon' is not an offset"),
        (["consume", "t", "-f", "%q"], "%q is not known"),
        (["consume", "t", "-g", "g", "-e"], "--group goes neither with"),
        (["consume", "t", "--command-property", "security.protocol=TLS"], "one of PLAINTEXT, SSL"),
    ],
)
def test_mistakes(tool: Tool, arguments: list[str], said: str) -> None:
    ran = tool.run(*arguments, status=None)
    assert ran.status != 0
    assert said in ran.err


def test_lines_that_do_not_fit_their_layout(tool: Tool, topic: str) -> None:
    keyed = ["produce", topic, "--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    ran = tool.run(*keyed, given="a:1\nb\n", status=1)
    assert ran.err == "kafpy: No key separator found on line number 2: 'b'\n"
    tool.run(*keyed, "--reader-property", "ignore.error=true", given="b\n")
    assert read(tool, topic) == ["1", "b"]


def test_records_that_are_too_large_are_named_and_the_others_arrive(tool: Tool, topic: str) -> None:
    ran = tool.run("produce", topic, given=b"small\n" + b"x" * 2_000_000 + b"\nalso small\n", status=1)
    assert ran.err == "kafpy: 1 messages were not delivered: MESSAGE_TOO_LARGE\n"
    assert read(tool, topic) == ["small", "also small"]


def test_nobody_listens(free_port: int) -> None:
    for verb in ("produce", "consume"):
        ran = Tool(f"localhost:{free_port}").run(verb, "t", status=1)
        assert ran.err == (
            f"kafpy: cannot reach localhost:{free_port}: connection refused; "
            "is a broker running? start one with `kafpy serve`\n"
        )
