"""Gathered columns as Arrow record batches, with the names, types and order of Spark's Kafka source. Takes pyarrow."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafpy.client.connection import ClientError

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
GATHERED = frozenset(COLUMNS) - {"topic", "partition"}
"""What differs from record to record."""


def arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ClientError("this needs pyarrow: pip install 'kafpy-broker[arrow]'") from None
    return pyarrow


def data_type(column: str) -> "pa.DataType":
    pa = arrow()
    types = {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        "headers": pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    }
    return types[column]


def schema(columns: Sequence[str]) -> "pa.Schema":
    return arrow().schema([(name, data_type(name)) for name in columns])


class Assembler:
    """Record batches of one partition."""

    def __init__(self, schema: "pa.Schema", topic: str, partition: int) -> None:
        self._pa = arrow()
        self._schema = schema
        self._same: dict[str, Any] = {"topic": topic, "partition": partition}
        self._repeated: dict[str, Any] = {}

    def batch(self, rows: int, gathered: Mapping[str, Any]) -> "pa.RecordBatch":
        """Of what Gatherer.take() gave; nothing is copied."""
        arrays = [self._array(field.name, field.type, rows, gathered) for field in self._schema]
        return self._pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, name: str, kind: "pa.DataType", rows: int, gathered: Mapping[str, Any]) -> Any:
        if name in self._same:
            return self._constant(name, kind, rows)
        if name == "headers":
            return self._headers(kind, rows, gathered[name])
        if name in ("key", "value"):
            return self._texts(kind, gathered[name])
        return self._pa.Array.from_buffers(kind, rows, [None, self._pa.py_buffer(gathered[name])], 0)

    def _constant(self, name: str, kind: "pa.DataType", rows: int) -> Any:
        kept = self._repeated.get(name)
        if kept is None or len(kept) < rows:
            kept = self._repeated[name] = self._pa.repeat(self._pa.scalar(self._same[name], kind), rows)
        return kept.slice(0, rows)

    def _texts(self, kind: "pa.DataType", texts: Any) -> Any:
        count, nulls, *buffers = texts
        return self._pa.Array.from_buffers(kind, count, [self._buffer(each) for each in buffers], nulls)

    def _headers(self, kind: "pa.DataType", rows: int, headers: Any) -> Any:
        nulls, validity, starts, keys, values = headers
        entry = kind.value_type
        entries = self._pa.StructArray.from_arrays(
            [self._texts(entry[0].type, keys), self._texts(entry[1].type, values)], fields=list(entry)
        )
        buffers = [self._buffer(validity), self._buffer(starts)]
        return self._pa.Array.from_buffers(kind, rows, buffers, nulls, children=[entries])

    def _buffer(self, memory: Any) -> Any:
        return None if memory is None else self._pa.py_buffer(memory)
