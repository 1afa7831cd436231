"""`kafpy sql`: topics as tables, each by its name.

DuckDB runs the statement where it is installed, Spark where only that is: a JVM takes ten seconds to start, and what
one machine reads of a topic DuckDB has counted by then.
"""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import click

from kafpy.cli import offset_spec
from kafpy.cli.main import fail
from kafpy.cli.offset_spec import Place, Spec
from kafpy.cli.options import bootstrap_option
from kafpy.client.connection import ClientError
from kafpy.client.settings import ClientSettings

ENGINES = {"duckdb": ("duckdb", "kafpy.cli.sql_duckdb", "sql"), "spark": ("pyspark", "kafpy.cli.sql_spark", "spark")}
"""By name: the package it takes, the module with its `run`, the extra that brings the package."""

COLUMNS = ("partition", "offset", "timestamp", "key", "value", "headers", "topic", "timestampType")
"""In the order of `SELECT *`. The first costs nothing to read, and is what engines read to count rows."""
TEXTS = ("key", "value")


class SqlError(Exception):
    """What is wrong with a statement, in one line."""


@dataclass(frozen=True)
class Question:
    statement: str
    where: ClientSettings
    spec: Spec
    """What of each topic the table holds."""
    read_committed: bool = False
    as_bytes: bool = False
    """Keys and values as bytes, not as text."""
    limit: int | None = None


@click.command("sql")
@click.argument("statement")
@bootstrap_option
@click.option(
    "--offset", "-o", default="start:end", show_default=True, metavar="OFFSET",
    help="What a table holds: start, N, +N, -N, N:M, :end, @TIME, @TIME:TIME.",
)  # fmt: skip
@click.option("--read-committed", is_flag=True, help="Leave out what transactions have not committed.")
@click.option("--bytes", "as_bytes", is_flag=True, help="Keys and values are bytes, not text.")
@click.option("--limit", "-n", type=click.IntRange(min=0), metavar="N", help="At most so many rows.")
@click.option(
    "--format", "-f", "format_", type=click.Choice(["text", "json", "yaml", "csv", "parquet"]), default="text",
    show_default=True, help="json: a line each.",
)  # fmt: skip
@click.option("--engine", type=click.Choice([*ENGINES]), help="[default: duckdb where it is installed, else spark]")
def command(
    statement: str, bootstrap: ClientSettings, offset: str, format_: str, engine: str | None, **given: Any
) -> None:
    """Query topics with SQL; `-` reads the statement from standard input.

    Every topic is a table with its name and the columns partition, offset, timestamp, key, value, headers, topic
    and timestampType. Only topics that the statement names are read, and of them only the columns it needs.
    Keys and values are text; one that is not UTF-8 is \\x and hex digits. Names with dots or dashes stand in double
    quotes for DuckDB, in backquotes for Spark. Times are in UTC.

    \b
    kafpy sql "SELECT partition, count(*), max(offset) FROM orders GROUP BY partition"
    kafpy sql "SELECT value->>'$.user' AS who, count(*) FROM clicks GROUP BY who" -o @-1h --format json
    kafpy sql 'SELECT * FROM "orders.eu" WHERE key = $$17$$' --format parquet > orders.parquet
    """
    if format_ == "parquet" and sys.stdout.isatty():
        raise click.UsageError("--format parquet is not for a terminal; send it to a file: > rows.parquet")
    text = sys.stdin.read() if statement == "-" else statement
    question = Question(text, bootstrap, _spec(offset), **given)
    from kafpy.cli.sql_rows import write

    with _one_line_of_failure(), _chosen(engine).run(question) as rows:
        write(rows, format_)


@contextmanager
def _one_line_of_failure() -> Iterator[None]:
    try:
        yield
    except (ClientError, SqlError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _spec(text: str) -> Spec:
    try:
        found = offset_spec.parse(text, time.time_ns() // 1_000_000)
    except ValueError as error:
        raise click.UsageError(f"--offset: {error}") from None
    return Spec(found.start or Place("start"), found.stop or Place("end"))


def _chosen(wanted: str | None) -> Any:
    there = [name for name, (package, _, _) in ENGINES.items() if find_spec(package) and find_spec("pyarrow")]
    if wanted is None and not there:
        _missing("neither DuckDB nor Spark is installed", "sql")
    name = wanted or there[0]
    if name not in there:
        _missing(f"--engine {name} is not installed", ENGINES[name][2])
    return import_module(ENGINES[name][1])


def _missing(what: str, extra: str) -> NoReturn:
    fail(f"{what}: pip install 'kafpy-broker[{extra}]'")


class Tables:
    """The topics of a cluster, and which offsets of each a question is about: looked up once, when it is asked for."""

    def __init__(self, question: Question) -> None:
        from kafpy.client.cluster import Cluster

        self._question = question
        self._cluster = Cluster(question.where)
        self._known: dict[str, tuple[Mapping[int, int], Mapping[int, int]]] = {}
        self.names = [each.name for each in self._cluster.metadata().topics]

    def close(self) -> None:
        self._cluster.close()

    def span(self, topic: str) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """By partition, the first offset and the one behind the last. Not for two threads at once."""
        if topic not in self._known:
            self._known[topic] = self._looked_up(topic)
        return self._known[topic]

    def _looked_up(self, topic: str) -> tuple[Mapping[int, int], Mapping[int, int]]:
        partitions = list(self._cluster.partitions([topic]))
        isolation = int(self._question.read_committed)
        bounds = offset_spec.Bounds(self._cluster, partitions, isolation)
        firsts, lasts = bounds.at(Place("start"), {}), bounds.at(Place("end"), {})
        for each in partitions:
            if each not in firsts or each not in lasts:
                raise ClientError(f"{topic} [{each[1]}] has no leader now")
        starts, stops = (bounds.at(place or Place("end"), {}) for place in self._question.spec)
        begins = {each: min(max(starts[each], firsts[each]), lasts[each]) for each in partitions}
        ends = {each: min(max(stops[each], begins[each]), lasts[each]) for each in partitions}
        return {index: begins[topic, index] for _, index in partitions}, {
            index: ends[topic, index] for _, index in partitions
        }

    def unknown(self, name: str) -> SqlError:
        from difflib import get_close_matches

        close = get_close_matches(name, self.names, n=1)
        nearest = f"; the nearest name is {close[0]}" if close else ""
        return SqlError(f"there is no topic {name}{nearest}")


def text_of(value: bytes) -> str:
    """What stands for bytes in text; those that are not UTF-8 as Postgres writes them."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "\\x" + value.hex()


__all__ = ["COLUMNS", "TEXTS", "Question", "SqlError", "Tables", "command", "text_of"]
