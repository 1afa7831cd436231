"""Rows of an answer on standard output, as they come: a table, JSON lines, YAML, CSV or Parquet."""

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import click
import pyarrow as pa

from kafpy.cli.output import emit
from kafpy.cli.sql import text_of

CONTROLS = {number: repr(chr(number))[1:-1] for number in (*range(32), 127)}
NULL = "null"


def write(rows: pa.RecordBatchReader, format_: str) -> None:
    """Nothing where there are no columns: the statement was no query."""
    if rows.schema.names:
        WRITERS[format_](rows)


def _table(rows: pa.RecordBatchReader) -> None:
    """The first batch says how wide columns are; wider cells of later ones push their line out."""
    header = [name.translate(CONTROLS) for name in rows.schema.names]
    widths: list[int] = []
    for batch in _batches(rows):
        lines = [[_cell(value) for value in row] for row in batch]
        if not widths:
            lines.insert(0, header)
            widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
            widths[-1] = 0
        click.echo("\n".join(" ".join(map(str.ljust, line, widths)) for line in lines))
    if not widths:
        click.echo(" ".join(header))


def _cell(value: object) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    text = NULL if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text.translate(CONTROLS)


def _json(rows: pa.RecordBatchReader) -> None:
    for each in _named(rows):
        click.echo(json.dumps(each, ensure_ascii=False))


def _yaml(rows: pa.RecordBatchReader) -> None:
    found = False
    for each in _named(rows):
        emit([each], "yaml")
        found = True
    if not found:
        emit([], "yaml")


def _csv(rows: pa.RecordBatchReader) -> None:
    def lines(given: list[list[Any]]) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(given)
        return text.getvalue()

    click.echo(lines([rows.schema.names]), nl=False)
    for batch in _batches(rows):
        cells = [[json.dumps(each, ensure_ascii=False) if isinstance(each, dict | list) else each for each in row]
                 for row in batch]  # fmt: skip
        click.echo(lines(cells), nl=False)


def _parquet(rows: pa.RecordBatchReader) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(pa.PythonFile(sys.stdout.buffer, "w"), rows.schema) as out:
        for batch in rows:
            out.write_batch(batch)


WRITERS: Mapping[str, Callable[[pa.RecordBatchReader], None]] = {
    "text": _table,
    "json": _json,
    "yaml": _yaml,
    "csv": _csv,
    "parquet": _parquet,
}


def _named(rows: pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
    names = _distinct(rows.schema.names)
    for batch in _batches(rows):
        for row in batch:
            yield dict(zip(names, row, strict=True))


def _distinct(names: list[str]) -> list[str]:
    """Of columns with the same name, the later ones with numbers behind."""
    return [name if name not in names[:at] else f"{name}_{names[:at].count(name)}" for at, name in enumerate(names)]


def _batches(rows: pa.RecordBatchReader) -> Iterator[list[list[Any]]]:
    for batch in rows:
        columns = [[_plain(value) for value in column.to_pylist()] for column in batch.columns]
        if batch.num_rows:
            yield [list(row) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        return utc.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value)
