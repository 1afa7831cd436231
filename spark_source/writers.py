"""df.write and writeStream: what Spark calls on the driver and in its tasks. The work is in writing.py.

There is nothing to commit: rows are in their topics when a task ends, and stay there when another one fails.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType

from spark_source import sink_columns, sink_options, writing
from spark_source.options import refuse

if TYPE_CHECKING:
    import pyarrow as pa


def _of(given: Mapping[str, str], schema: StructType) -> writing.Writing:
    options = sink_options.parse(given)
    return writing.Writing.of(options, sink_columns.columns_of(schema, options.topic))


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, given: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        if overwrite:
            refuse('a topic is appended to, not overwritten: mode("append")')
        self._writing = _of(given, schema)

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> writing.Written:
        return writing.write(self._writing, iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """Output mode complete appends as well: every batch brings the whole result."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._writing = _of(given, schema)

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> writing.Written:
        return writing.write(self._writing, iterator)
