"""SQL over topics by DuckDB: a topic is a data set that DuckDB asks for what it needs, as often as it needs it.

Nothing is parsed here: every topic whose name occurs in the statement's text is offered, and only those that DuckDB
then asks for are read.
"""

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from kafpy.cli.sql import COLUMNS, TEXTS, Question, SqlError, Tables, text_of
from kafpy.client.arrow_batches import schema
from kafpy.client.connection import ClientError
from kafpy.client.scan import scan

ROWS = 10_000
_NO_TABLE = re.compile(r"Table with name (.+?) does not exist")


@contextmanager
def run(question: Question) -> Iterator[pa.RecordBatchReader]:
    tables = Tables(question)
    failures: list[BaseException] = []
    try:
        with _ended_by_interrupts(), duckdb.connect() as connection:
            connection.execute("SET python_enable_replacements = false; SET TimeZone = 'UTC'")
            for name in offered(question.statement, tables.names):
                connection.register(name, Topic(name, tables, question, failures))
            answer = connection.sql(with_offset_quoted(question.statement))
            if answer is not None and question.limit is not None:
                answer = answer.limit(question.limit)
            yield _nothing() if answer is None else answer.to_arrow_reader(ROWS)
    except (duckdb.Error, OSError) as error:
        if isinstance(error, OSError) and not failures:
            raise
        raise failures[0] if failures else _explained(error, question.statement, tables) from None
    finally:
        tables.close()


@contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    """DuckDB does not come back to Python while it looks for the next rows: Ctrl-C ends the process."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _nothing() -> pa.RecordBatchReader:
    """What a statement that is no query returns."""
    return pa.RecordBatchReader.from_batches(pa.schema([]), [])


class Topic(ds.Dataset):  # type: ignore[misc]
    """What DuckDB takes for a data set of pyarrow's: a schema, and scanner() for some of its columns and rows."""

    def __init__(self, name: str, tables: Tables, question: Question, failures: list[BaseException]) -> None:
        self._name = name
        self._tables = tables
        self._question = question
        self._failures = failures
        """DuckDB hides what was raised in its words."""

    @property
    def schema(self) -> pa.Schema:
        found = schema(COLUMNS)
        return found if self._question.as_bytes else _with_texts(found)

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> "Scanner":
        wanted = list(columns or COLUMNS)
        selected = pa.schema([self.schema.field(name) for name in wanted])
        return Scanner(pa.RecordBatchReader.from_batches(selected, self._batches(wanted, filter)))

    def _batches(self, wanted: Sequence[str], condition: Any) -> Iterator[pa.RecordBatch]:
        """A condition names columns that need not be wanted; one name too many in its text does no harm."""
        words = set(re.findall(r"\w+", str(condition))) if condition is not None else set()
        read = [*wanted, *(name for name in COLUMNS if name in words and name not in wanted)]
        try:
            starts, ends = self._tables.span(self._name)
            found = scan(
                self._name,
                bootstrap_servers=self._question.where.bootstrap,
                properties=self._question.where.properties,
                start=starts,
                end=ends,
                columns=read,
                isolation_level="read_committed" if self._question.read_committed else "read_uncommitted",
            )
            for batch in found:
                shown = batch if self._question.as_bytes else _as_texts(batch)
                kept = shown if condition is None else shown.filter(condition)
                if kept.num_rows:
                    yield kept.select(wanted)
        except (ClientError, ValueError) as error:
            self._failures.append(error)
            raise


class Scanner:
    """As much of pyarrow's as DuckDB asks for."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader
        self.projected_schema = reader.schema

    def to_reader(self) -> pa.RecordBatchReader:
        return self._reader


def _with_texts(found: pa.Schema) -> pa.Schema:
    for name in TEXTS:
        at = found.get_field_index(name)
        if at >= 0:
            found = found.set(at, pa.field(name, pa.string()))
    return found


def _as_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays = [_text(array) if name in TEXTS else array for name, array in zip(batch.schema.names, batch, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_with_texts(batch.schema))


def _text(array: pa.Array) -> pa.Array:
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if each is None else text_of(each) for each in array.to_pylist()], pa.string())


def offered(statement: str, names: Sequence[str]) -> list[str]:
    """Topics whose names occur in the statement. DuckDB's names have no case: one of those that only differ in it."""
    lower = statement.lower()
    found: dict[str, list[str]] = {}
    for name in names:
        if name.lower() in lower:
            found.setdefault(name.lower(), []).append(name)
    for twins in found.values():
        twins.sort(key=lambda name: name not in statement)
        if len(twins) > 1 and twins[1] in statement:
            raise SqlError(f"{twins[0]} and {twins[1]} are one name for DuckDB; --engine spark can tell them apart")
    return [twins[0] for twins in found.values()]


def with_offset_quoted(statement: str) -> str:
    """The column offset needs double quotes, for SQL has a word OFFSET; where a statement can only be read with them,
    they are put there."""
    try:
        duckdb.extract_statements(statement)
    except duckdb.ParserException:
        quoted = _offset_quoted(statement)
        try:
            duckdb.extract_statements(quoted)
        except duckdb.ParserException:
            return statement
        return quoted
    return statement


def _offset_quoted(statement: str) -> str:
    """OFFSET n stays: a number, a name or a parenthesis is behind that one, and never behind a column."""
    encoded = statement.encode()
    tokens = [(at, kind) for at, kind in duckdb.tokenize(statement) if kind != duckdb.token_type.comment]
    for place in range(len(tokens) - 1, -1, -1):
        at, kind = tokens[place]
        if kind != duckdb.token_type.keyword or encoded[at : at + 6].lower() != b"offset":
            continue
        after, kind_after = tokens[place + 1] if place + 1 < len(tokens) else (len(encoded), None)
        ends_clause = kind_after in (None, duckdb.token_type.keyword, duckdb.token_type.operator)
        if ends_clause and encoded[after : after + 1] != b"(" and encoded[max(at - 1, 0) : at] != b".":
            encoded = encoded[:at] + b'"' + encoded[at : at + 6] + b'"' + encoded[at + 6 :]
    return encoded.decode()


def _explained(error: Exception, statement: str, tables: Tables) -> SqlError:
    unquoted = [
        name
        for name in offered(statement, tables.names)
        if not re.fullmatch(r"[A-Za-z_]\w*", name) and f'"{name.lower()}"' not in statement.lower()
    ]
    if unquoted:
        return SqlError(f'names with dots or dashes stand in double quotes: "{unquoted[0]}"')
    no_table = _NO_TABLE.search(str(error))
    if no_table is not None:
        return tables.unknown(no_table[1])
    return SqlError(" ".join(re.split(r"\n\s*LINE \d+:", str(error))[0].split()))
