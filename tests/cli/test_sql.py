"""`kafpy sql`: topics as tables, by both engines; what is read; errors in one line."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from kafpy.cli import sql_duckdb
from kafpy.cli.main import cli
from kafpy.cli.sql_duckdb import offered, with_offset_quoted
from kafpy.client.scan import scan
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of

START = 1_700_000_000_000  # of every record


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """orders: two partitions of JSON; orders.eu: what is null and what is no text; empty: nothing."""
    process = BrokerProcess(tmp_path_factory.mktemp("broker") / "data")
    with RawClient(process.host, process.port) as client:
        for name, partitions in (("orders", 2), ("orders.eu", 1), ("empty", 1), ("Twin", 1), ("twin", 1)):
            client.create(name, partitions, {"retention.ms": "-1"})
        for partition, count in ((0, 30), (1, 12)):
            values = [json.dumps({"user": f"u{number % 3}", "n": number}).encode() for number in range(count)]
            client.produce("orders", batch_of(values), partition=partition)
        client.produce("orders.eu", batch_of([b"plain", None, b"\xff\xfe"]), partition=0)
        client.produce("twin", batch_of([b"small"]), partition=0)
    yield process
    process.stop()


def ask(cluster: BrokerProcess, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["sql", "-b", cluster.bootstrap, *arguments])


def rows(cluster: BrokerProcess, *arguments: str) -> list[dict[str, object]]:
    done = ask(cluster, "--format", "json", *arguments)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT partition, count(*) c FROM orders GROUP BY 1 ORDER BY 1", [(0, 30), (1, 12)]),
        (
            "SELECT value->>'$.user' u, sum((value->>'$.n')::int) s FROM orders GROUP BY u ORDER BY u",
            [("u0", 153), ("u1", 167), ("u2", 181)],
        ),
        ("SELECT max(offset) FROM orders WHERE partition = 1 AND value LIKE '%u0%'", [(9,)]),
        (
            "SELECT a.offset, b.offset o FROM orders a JOIN orders b USING (value)"
            " WHERE a.partition = 0 AND b.partition = 1 AND a.offset > 9 ORDER BY a.offset",
            [(10, 10), (11, 11)],
        ),
        ("WITH q AS (SELECT offset FROM orders) SELECT min(offset) FROM q", [(0,)]),
        ("SELECT count(*) FROM empty", [(0,)]),
        ("SELECT value FROM twin", [("small",)]),
        ("SELECT DISTINCT timestamp, topic FROM orders", [("2023-11-14T22:13:20Z", "orders")]),
        ("FROM orders SELECT offset ORDER BY offset DESC LIMIT 1 OFFSET 1", [(28,)]),
    ],
)
def test_statements(cluster: BrokerProcess, statement: str, expected: list[tuple[object, ...]]) -> None:
    assert [tuple(row.values()) for row in rows(cluster, statement)] == expected


def test_what_is_no_text_is_hex(cluster: BrokerProcess) -> None:
    statement = 'SELECT value FROM "orders.eu" ORDER BY offset'
    assert [row["value"] for row in rows(cluster, statement)] == ["plain", None, "\\xfffe"]
    counted = rows(cluster, "--bytes", 'SELECT octet_length(value) n FROM "orders.eu" ORDER BY offset')
    assert [row["n"] for row in counted] == [5, None, 2]


@pytest.mark.parametrize(
    ("offset", "expected"), [("28", 2), ("-1", 2), ("+29", 1), ("5:7", 4), (":3", 6), (f"@{START + 1}", 0)]
)
def test_places(cluster: BrokerProcess, offset: str, expected: int) -> None:
    assert rows(cluster, "-o", offset, "SELECT count(*) n FROM orders") == [{"n": expected}]


def test_only_what_is_needed_is_read(cluster: BrokerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def watched(topic: str, **given: object) -> object:
        read.append((topic, given["columns"]))
        return scan(topic, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(sql_duckdb, "scan", watched)
    rows(cluster, "SELECT max(offset) FROM orders WHERE timestampType = 0 -- not twin")
    rows(cluster, "SELECT count(*) FROM orders")
    assert read == [("orders", ["offset", "timestampType"]), ("orders", ["partition"])]


def test_a_limit_ends_the_reading(cluster: BrokerProcess) -> None:
    assert len(rows(cluster, "--limit", "3", "SELECT * FROM orders")) == 3


def test_formats(cluster: BrokerProcess) -> None:
    statement = 'SELECT offset, value, headers FROM "orders.eu" ORDER BY offset'
    assert ask(cluster, statement).stdout == (
        "offset value  headers\n0      plain  null\n1      null   null\n2      \\xfffe null\n"
    )
    assert ask(cluster, statement, "--format", "csv").stdout == "offset,value,headers\n0,plain,\n1,,\n2,\\xfffe,\n"
    yaml = ask(cluster, "SELECT offset FROM orders WHERE false", "--format", "yaml")
    assert yaml.stdout == "[]\n"
    yaml = ask(cluster, statement, "--format", "yaml", "--limit", "1")
    assert yaml.stdout == "- offset: 0\n  value: plain\n  headers: null\n"
    parquet = ask(cluster, statement, "--format", "parquet").stdout_bytes
    assert pyarrow.parquet.read_table(io.BytesIO(parquet)).column("value").to_pylist() == ["plain", None, "\\xfffe"]


def test_values_of_every_kind(cluster: BrokerProcess) -> None:
    statement = "SELECT [1, NULL] l, {'a': 'x'} s, 1.5::decimal(4,2) d, true b, 'a' || chr(10) t, 'nan'::double f, 1 l"
    assert rows(cluster, statement) == [
        {"l": [1, None], "s": {"a": "x"}, "d": 1.5, "b": True, "t": "a\n", "f": None, "l_1": 1}
    ]
    assert ask(cluster, statement).stdout.splitlines()[1].split() == [
        "[1,", "null]", '{"a":', '"x"}', "1.5", "true", "a\\n", "null", "1",
    ]  # fmt: skip


def test_the_statement_from_standard_input(cluster: BrokerProcess) -> None:
    done = CliRunner().invoke(cli, ["sql", "-b", cluster.bootstrap, "-"], input="SELECT count(*) n FROM orders")
    assert done.stdout == "n\n42\n"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT * FROM ordrs", "there is no topic ordrs; the nearest name is orders\n"),
        ("SELECT * FROM zzz", "there is no topic zzz\n"),
        ("SELECT * FROM orders.eu", 'names with dots or dashes stand in double quotes: "orders.eu"\n'),
        ("SELECT nope FROM orders", 'Binder Error: Referenced column "nope" not found'),
        ("SELEC 1", 'Parser Error: syntax error at or near "SELEC"\n'),
        ("SELECT 1 FROM twin, Twin", "Twin and twin are one name for DuckDB"),
        ("SELECT value->>'$.n' + 'x' FROM orders", "Error: "),
    ],
)
def test_errors_are_one_line(cluster: BrokerProcess, statement: str, said: str) -> None:
    done = ask(cluster, statement)
    assert done.exit_code == 1
    assert said in done.output
    assert done.output.startswith("kafpy: ")
    assert done.output.count("\n") == 1


def test_what_a_broker_refuses_is_told_as_it_is(cluster: BrokerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafpy.client.connection import ClientError

    def refused(*_: object, **__: object) -> object:
        raise ClientError("orders [0] has no leader now")

    monkeypatch.setattr(sql_duckdb, "scan", refused)
    assert ask(cluster, "SELECT * FROM orders").output == "kafpy: orders [0] has no leader now\n"


def test_an_interrupt_ends_it(cluster: BrokerProcess) -> None:
    """In the middle of a statement that would go on for hours."""
    statement = "SELECT count(*) FROM orders, range(1000000000) a, range(1000000) b WHERE a.range * b.range = -1"
    command = [sys.executable, "-m", "kafpy.cli.main", "sql", "-b", cluster.bootstrap, "--format", "csv"]
    endless = f"SELECT 1 UNION ALL ({statement})"
    with subprocess.Popen([*command, endless], stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


def test_wrong_options(cluster: BrokerProcess) -> None:
    done = ask(cluster, "SELECT 1", "-o", "soon")
    assert done.exit_code == 2
    assert "--offset: 'soon' is not an offset" in done.output


def test_names_are_offered_by_the_statements_text() -> None:
    assert offered("SELECT * FROM Orders", ["orders", "other", "ord"]) == ["orders", "ord"]
    assert offered('select * from "B"', ["b", "B"]) == ["B"]


@pytest.mark.parametrize(
    ("statement", "quoted"),
    [
        ("SELECT offset FROM t", 'SELECT "offset" FROM t'),
        ("SELECT é, Offset, x.offset FROM t", 'SELECT é, "Offset", x.offset FROM t'),
        ("SELECT * FROM t ORDER BY offset LIMIT 1 OFFSET 2", 'SELECT * FROM t ORDER BY "offset" LIMIT 1 OFFSET 2'),
        ("SELECT 1 OFFSET 2", "SELECT 1 OFFSET 2"),
        ("SELECT offset, nonsense FROM FROM", "SELECT offset, nonsense FROM FROM"),
    ],
)
def test_the_column_offset(statement: str, quoted: str) -> None:
    assert with_offset_quoted(statement) == quoted


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "kafpy: neither DuckDB nor Spark is installed: pip install 'kafpy-broker[sql]'\n"),
        (["--engine", "spark"], "kafpy: --engine spark is not installed: pip install 'kafpy-broker[spark]'\n"),
    ],
)
def test_without_an_engine(given: list[str], said: str) -> None:
    code = (
        "import sys; sys.modules |= {'duckdb': None, 'pyspark': None}; from kafpy.cli.main import main; "
        f"sys.argv = ['kafpy', 'sql', 'SELECT 1', *{given}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.slow
def test_spark_answers_the_same(cluster: BrokerProcess, tmp_path: Path) -> None:
    def spark(statement: str, *given: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kafpy.cli.main", "sql", "-b", cluster.bootstrap, "--engine", "spark"]
        return subprocess.run(
            [*command, "--format", "json", *given, statement],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
        )

    done = spark(
        "SELECT a.offset, b.offset o, e.value v FROM orders a JOIN orders b USING (value), `orders.eu` e"
        " WHERE a.partition = 0 AND b.partition = (SELECT max(partition) FROM orders) AND a.offset = 10"
        " ORDER BY e.offset"
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"offset": 10, "o": 10, "v": "plain"},
        {"offset": 10, "o": 10, "v": None},
        {"offset": 10, "o": 10, "v": "\\xfffe"},
    ], done.stderr
    assert done.stderr == ""
    done = spark("SELECT * FROM ordrs")
    assert (done.returncode, done.stderr) == (1, "kafpy: there is no topic ordrs; the nearest name is orders\n")
