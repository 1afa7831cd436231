"""Arrow record batches as rows that a producer's Packer takes: the way back of arrow_batches. Nothing is copied."""

from typing import TYPE_CHECKING, Any

from kafpy._core.rows import Headers, Numbers, Rows, Texts
from kafpy.client.arrow_batches import arrow

if TYPE_CHECKING:
    import pyarrow as pa


def rows_of(batch: "pa.RecordBatch") -> Rows:
    """Of the columns value, and where there are such, key, headers and partition; types as in arrow_batches, texts also
    utf8 or large."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    key, headers, partition = columns.get("key"), columns.get("headers"), columns.get("partition")
    return Rows(
        _texts(columns["value"]),
        keys=None if key is None else _texts(key),
        headers=None if headers is None else _headers(headers),
        partitions=None if partition is None else _numbers(partition),
    )


def _texts(column: Any) -> Texts:
    validity, offsets, data = column.buffers()
    return Texts(len(column), offsets, data, validity, first=column.offset, wide=_is_wide(column.type))


def _numbers(column: Any) -> Numbers:
    validity, data = column.buffers()
    return Numbers(len(column), data, validity, first=column.offset)


def _headers(column: Any) -> Headers:
    validity, offsets, *_ = column.buffers()
    entries = column.values
    return Headers(
        len(column),
        offsets,
        _texts(entries.field(0)),
        _texts(entries.field(1)),
        validity,
        first=column.offset,
        wide=_is_wide(column.type),
        entries=entries.buffers()[0],
        first_entry=entries.offset,
    )


def _is_wide(kind: "pa.DataType") -> bool:
    types = arrow().types
    return bool(types.is_large_binary(kind) or types.is_large_string(kind) or types.is_large_list(kind))
