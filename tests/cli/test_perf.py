"""`kafpy perf`: the lines of Kafka's performance tools, and that their numbers are true."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy.cli.perf_stats import Stats
from tests.broker_process import BrokerProcess
from tests.cli.tool import Tool
from tests.clients.raw import RawClient

NUMBER = r"\d+\.\d"
WINDOW = (
    rf"(\d+) records sent, {NUMBER} records/sec \({NUMBER}\d MB/sec\), "
    rf"{NUMBER} ms avg latency, {NUMBER} ms max latency\."
)
TOTAL = (
    rf"(\d+)( steady state)? records sent, {NUMBER}{{6}} records/sec \({NUMBER}\d MB/sec\), {NUMBER}\d ms avg latency, "
    rf"{NUMBER}\d ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\."
)
HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("perf") / "data", group_initial_rebalance_delay_ms=0)
    yield process
    process.stop()
    assert process.stderr == ""


@pytest.fixture
def tool(broker: BrokerProcess) -> Tool:
    return Tool(broker.bootstrap)


def values(broker: BrokerProcess, topic: str) -> list[bytes]:
    with RawClient(broker.host, broker.port) as client:
        return [value or b"" for value in client.values(topic)]


def test_statistics_are_kafkas_lines() -> None:
    said: list[str] = []
    stats = Stats(1000, 5000, said.append)
    stats.record(3, 600, 60_000, 3000)
    stats.record(7, 400, 40_000, 6000)
    stats.record(100, 1, 100, 6001)
    assert said == ["1000 records sent, 200.0 records/sec (0.02 MB/sec), 4.6 ms avg latency, 7.0 ms max latency."]
    assert stats.total_line(11_000) == (
        "1001 records sent, 100.100000 records/sec (0.01 MB/sec), 4.70 ms avg latency, 100.00 ms max latency, "
        "3 ms 50th, 7 ms 95th, 7 ms 99th, 7 ms 99.9th."
    )
    steady = Stats(0, 10, said.append, steady=True)
    steady.record(0, 5, 0, 10)
    assert said[1] == "In steady state."
    assert steady.total_line(10).startswith("5 steady state records sent, 500.000000 records/sec")
    assert (
        Stats(0, 10, said.append).total_line(10).startswith("0 records sent, 0.000000 records/sec (0.00 MB/sec), 0.00")
    )


def test_produce(tool: Tool, broker: BrokerProcess) -> None:
    count = ["--num-records", "20000", "--record-size", "50", "--throughput", "-1"]
    (line,) = tool.run("perf", "produce", "--topic", "all", *count).out.decode().splitlines()
    match = re.fullmatch(TOTAL, line)
    assert match and match[1] == "20000", line
    found = values(broker, "all")
    assert len(found) == len(set(found)) == 20_000
    assert {len(value) for value in found} == {50}


def test_produce_at_a_rate_with_a_warm_up(tool: Tool) -> None:
    given = ["--num-records", "600", "--record-size", "10", "--throughput", "1000", "--warmup-records", "200"]
    ran = tool.run("perf", "produce", "--topic", "rate", *given, "--reporting-interval", "100")
    first, *windows, total, steady = ran.out.decode().splitlines()
    assert first == "Warmup first 200 records. Steady state results will print after the complete test summary."
    assert all(re.fullmatch(WINDOW, each) for each in windows if each != "In steady state.")
    assert re.fullmatch(TOTAL, total)
    match = re.fullmatch(TOTAL, steady)
    assert match and match.groups() == ("400", " steady state")
    rate = float(total.split(", ")[1].split()[0])
    assert rate < 1100


def test_payloads(tool: Tool, broker: BrokerProcess, tmp_path: Path) -> None:
    path = tmp_path / "payloads"
    path.write_text("one\ntwo\n")
    given = ["--num-records", "100", "--throughput", "-1"]
    ran = tool.run("perf", "produce", "--topic", "file", *given, "--payload-file", str(path))
    lines = ran.out.decode().splitlines()
    assert lines[:2] == [f"Reading payloads from: {path}", "Number of records read: 2"]
    assert set(values(broker, "file")) == {b"one", b"two"}
    properties = ["--command-property", "acks=1", "compression.type=lz4"]
    tool.run("perf", "produce", "--topic", "monotonic", *given, "--payload-monotonic", *properties)
    assert values(broker, "monotonic") == [b"%d" % number for number in range(100)]


def test_consume(tool: Tool) -> None:
    tool.run(
        "perf", "produce", "--topic", "read", "--num-records", "5000", "--record-size", "1000", "--throughput", "-1"
    )
    header, line = tool.run("perf", "consume", "--topic", "read", "--num-records", "5000").out.decode().splitlines()
    assert header == HEADER
    assert re.fullmatch(
        rf"{DATE}, {DATE}, {NUMBER}{{4}}, {NUMBER}+, \d+, {NUMBER}+, \d+, \d+, {NUMBER}+, {NUMBER}+", line
    )
    assert (line.split(", ")[2], line.split(", ")[4]) == ("4.7684", "5000")
    ran = tool.run(
        "perf", "consume", "--include", "rea.", "--messages", "6000", "--timeout", "3000", "--show-detailed-stats",
        "--reporting-interval", "1", "--hide-header",
    )  # fmt: skip
    *details, warning = ran.out.decode().splitlines()
    assert warning.startswith("WARNING: Exiting before consuming the expected number of records: timeout (3000 ms)")
    assert all(len(each.split(", ")) == 10 and each.split(", ")[1] == "0" for each in details)
    assert details


@pytest.mark.parametrize(
    "arguments",
    [
        ["--topic", "e2e", "--num-records", "3", "--producer-acks", "all", "--record-size", "20"],
        ["--topic", "e2e", "--num-records", "3", "--producer-acks", "1", "--record-size", "0", "--record-key-size", "4",
         "--num-headers", "2", "--record-header-key-size", "3", "--record-header-size", "5"],
    ],
)  # fmt: skip
def test_e2e(tool: Tool, arguments: list[str]) -> None:
    lines = tool.run("perf", "e2e", *arguments).out.decode().splitlines()
    made = 'Topic "e2e" does not exist. Will create topic with 1 partition(s) and replication factor = 1'
    assert re.fullmatch(r"0\t\d+\.\d+", lines[-3])
    assert re.fullmatch(r"Avg latency: \d+\.\d{4} ms", lines[-2])
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+", lines[-1])
    assert lines[:-3] in ([], [made])


ENDLESS = ["--num-records", "100000000", "--record-size", "10"]


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        (["produce", *ENDLESS, "--throughput", "1000", "--reporting-interval", "50"], WINDOW, TOTAL),
        (["e2e", *ENDLESS, "--producer-acks", "1"], "(Topic|0\t).*", "Percentiles: 50th = .*"),
    ],
)
def test_interrupted_it_tells_what_it_has(tool: Tool, arguments: list[str], first: str, last: str) -> None:
    verb, *more = arguments
    tool.run("topic", "create", f"interrupted-{verb}")
    with tool.start("perf", verb, "--topic", f"interrupted-{verb}", *more) as running:
        assert running.stdout and running.stderr
        assert re.fullmatch(first, running.stdout.readline().decode().rstrip())
        running.send_signal(signal.SIGINT)
        assert re.fullmatch(last, running.stdout.read().decode().splitlines()[-1])
        assert running.wait(timeout=30) == 130
        assert running.stderr.read() == b""


def test_an_interrupted_consumer_leaves_its_group(tool: Tool) -> None:
    tool.run("topic", "create", "unread")
    tool.run("perf", "produce", "--topic", "unread", "--num-records", "10", "--record-size", "5", "--throughput", "-1")
    given = ["--topic", "unread", "--num-records", "100", "--timeout", "60000", "--group", "interrupted"]
    with tool.start("perf", "consume", *given, "--show-detailed-stats", "--reporting-interval", "1") as running:
        assert running.stdout and running.stderr
        assert running.stdout.readline().startswith(b"time, threadId, ")
        assert len(running.stdout.readline().split(b", ")) == 10
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 130
        assert running.stderr.read() == b""
    groups = [line.split() for line in tool.run("group", "list", "--state").out.splitlines()]
    assert [b"interrupted", b"Empty"] in groups


def test_e2e_by_position(tool: Tool) -> None:
    ran = tool.run("perf", "e2e", tool.bootstrap, "by-position", "2", "1", "8")
    assert len(ran.out.splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["produce", "--topic", "t", "--num-records", "1", "--throughput", "-1"], "choose one of --record-size"),
        (["produce", "--topic", "t", "--num-records", "1", "--throughput", "-1", "--record-size", "1",
          "--transactional-id", "x"], "transactions are not supported"),
        (["consume", "--num-records", "1"], "choose one of --topic and --include"),
        (["e2e", "--topic", "t"], "missing: --num-records, --producer-acks, --record-size"),
        (["e2e", "a", "b"], "five or six positional arguments, not 2"),
    ],
)  # fmt: skip
def test_mistakes(tool: Tool, arguments: list[str], said: str) -> None:
    ran = tool.run("perf", *arguments, status=None)
    assert ran.status != 0
    assert said in ran.err
