"""`kafpy offsets` against a broker; the lines are kafka-get-offsets'."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from kafpy.cli.main import cli
from tests.broker_process import BrokerProcess
from tests.clients import raw_groups
from tests.clients.raw import RawClient, batch_of

NS = 1_700_000_000_000
EVERYTHING = ["apples:0:0", "apples:1:0", "apples:2:0", "pears:0:5", "pears:1:0"]


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = BrokerProcess(tmp_path_factory.mktemp("offsets") / "data", offsets_topic_num_partitions=1)
    with RawClient(process.host, process.port) as client:
        client.create("pears", 2)
        client.create("apples", 3)
        times = [NS + each for each in (0, 10, 40, 20, 30)]
        client.produce("pears", batch_of([b"v"] * 5, timestamps=times))
        raw_groups.find_coordinator(client, "g")
    yield process.bootstrap
    process.stop()


def run(bootstrap: str, *arguments: str) -> tuple[int, list[str]]:
    done = CliRunner().invoke(cli, ["offsets", "-b", bootstrap, *arguments])
    return done.exit_code, done.output.splitlines()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["__consumer_offsets:0:0", *EVERYTHING]),
        (["--exclude-internal-topics"], EVERYTHING),
        (["--topic", "pea.*"], EVERYTHING[3:]),
        (["pears"], EVERYTHING[3:]),
        (["--topic", "pear"], None),
        (["pears", "--partitions", "0,7"], ["pears:0:5"]),
        (["--topic-partitions", "pears:0,apples:1-"], ["apples:1:0", "apples:2:0", "pears:0:5"]),
        (["--topic-partitions", "apples:-2"], ["apples:0:0", "apples:1:0"]),
        (["--topic-partitions", ".*es:0-1"], ["apples:0:0"]),
        (["pears", "--time", "earliest"], ["pears:0:0", "pears:1:0"]),
        (["pears", "--time", "-2"], ["pears:0:0", "pears:1:0"]),
        (["pears", "--time", "-3"], ["pears:0:2"]),
        (["pears", "--time", "earliest-local"], ["pears:0:0", "pears:1:0"]),
        (["pears", "--time", "-5"], []),
        (["pears", "--time", "earliest-pending-upload"], []),
        (["pears", "--time", str(NS + 1)], ["pears:0:1"]),
        (["pears", "--time", "@2023-11-14"], ["pears:0:0"]),
        (["pears", "--time", "@-1h"], []),
    ],
)
def test_which_and_where(bootstrap: str, arguments: list[str], expected: list[str] | None) -> None:
    if expected is None:
        nothing = "Error occurred: Could not match any topic-partitions with the specified filters"
        assert run(bootstrap, *arguments) == (1, [nothing])
    else:
        assert run(bootstrap, *arguments) == (0, expected)


def test_json(bootstrap: str) -> None:
    code, lines = run(bootstrap, "pears", "--time", "max-timestamp", "--format", "json")
    assert code == 0
    assert json.loads("".join(lines)) == [{"topic": "pears", "partition": 0, "offset": 2, "timestamp": NS + 40}]
    assert run(bootstrap, "pears", "--format", "yaml")[1][:2] == ["- topic: pears", "  partition: 0"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--topic-partitions", "a:0", "--topic", "a"], "cannot be used with --topic or --partitions"),
        (["--time", "noon"], "Malformed time argument noon. Please use -1 or latest / -2 or earliest"),
        (["--time", "@noon"], "'noon' is not a time like"),
        (["--partitions", "x"], "expects a list of numeric partition ids"),
        (["--topic-partitions", "a:x"], "Invalid rule specification: a:x"),
    ],
)
def test_mistakes(bootstrap: str, arguments: list[str], said: str) -> None:
    code, lines = run(bootstrap, *arguments)
    assert code == 1
    assert said in lines[0]
