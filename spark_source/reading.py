"""A task of a read, where it runs: ranges of offsets in, Arrow record batches out.

A worker process keeps its connections from one task to the next. Nothing is kept that a task could find changed but
them.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from kafpy._core.batch import CorruptBatch
from kafpy._core.columns import Gatherer, RecordSet
from kafpy.client import settings
from kafpy.client.arrow_batches import GATHERED, Assembler, schema
from kafpy.client.cluster import TopicPartition
from kafpy.client.connection import ClientError
from kafpy.client.consumer import opened
from kafpy.client.local_log import LOCAL, TCP, LocalLog, LocalReader, record_sets
from kafpy.client.range_reader import OffsetsGone, Range, RangeReader
from spark_source.source_options import SourceOptions
from spark_source.worker import connected, freeze

if TYPE_CHECKING:
    import pyarrow as pa

FEW_ROWS = 1000
"""A record batch costs Spark as much as some hundred rows: smaller ones are put together."""


class ReadError(Exception):
    """Why a task cannot go on: broker, topic, partition and offset are in its one line."""


@dataclass(frozen=True)
class Reading:
    """What all tasks of a query have in common."""

    properties: Mapping[str, str]
    columns: Sequence[str]
    isolation: int
    fetch_bytes: int
    batch_rows: int
    batch_bytes: int
    fail_on_data_loss: bool
    read: str

    @classmethod
    def of(cls, options: SourceOptions, columns: Sequence[str]) -> "Reading":
        return cls(
            dict(options.properties),
            columns,
            int(options.read_committed),
            options.fetch_bytes,
            options.batch_rows,
            options.batch_bytes,
            options.fail_on_data_loss,
            options.read,
        )


class Task(InputPartition):
    def __init__(self, reading: Reading, ranges: Sequence[Range], logs: Mapping[TopicPartition, LocalLog]) -> None:
        super().__init__(None)
        self.reading = reading
        self.ranges = ranges
        self.logs = logs


_readers: dict[Any, RangeReader] = {}


def read(task: Task) -> Iterator["pa.RecordBatch"]:
    freeze()
    local = None if task.reading.read == TCP else LocalReader(task.logs, isolation=task.reading.isolation)
    few: list[pa.RecordBatch] = []
    rows = 0
    for wanted in task.ranges:
        for found in _batches(task.reading, local, wanted):
            if found.num_rows >= FEW_ROWS and not few:
                yield found
                continue
            few.append(found)
            rows += found.num_rows
            if rows >= FEW_ROWS:
                yield _together(few)
                few, rows = [], 0
    if few:
        yield _together(few)


def _together(batches: Sequence["pa.RecordBatch"]) -> "pa.RecordBatch":
    import pyarrow

    return batches[0] if len(batches) == 1 else pyarrow.concat_batches(batches)


def _batches(reading: Reading, local: LocalReader | None, wanted: Range) -> Iterator["pa.RecordBatch"]:
    gatherer = Gatherer(
        GATHERED.intersection(reading.columns), most_rows=reading.batch_rows, most_bytes=reading.batch_bytes
    )
    assembler = Assembler(schema(reading.columns), wanted.topic, wanted.partition)
    left: Range | None = wanted
    try:
        while left is not None:
            try:
                with closing(_record_sets(reading, local, left)) as found:
                    for record_set in found:
                        while gatherer.feed(record_set, left.start, left.end, opened):
                            yield assembler.batch(*gatherer.take())
                break
            except OffsetsGone as gone:
                left = _behind_loss(reading, left, gone)
    except (ClientError, CorruptBatch) as error:
        _forget()
        raise ReadError(f"{wanted}, offsets {wanted.start} to {wanted.end}: {error}") from None
    if gatherer.rows:
        yield assembler.batch(*gatherer.take())


def _record_sets(reading: Reading, local: LocalReader | None, wanted: Range) -> Generator[RecordSet, None, None]:
    return record_sets(wanted, local, lambda: _reader(reading), local_only=reading.read == LOCAL)


def _behind_loss(reading: Reading, wanted: Range, gone: OffsetsGone) -> Range | None:
    """With failOnDataLoss=false, what the log still has of the range."""
    if reading.fail_on_data_loss:
        raise ReadError(f"{gone}; with failOnDataLoss=false the query would go on with what is left")
    if gone.first is None or not wanted.start < gone.first < wanted.end:
        return None
    return wanted._replace(start=gone.first)


def _reader(reading: Reading) -> RangeReader:
    key = tuple(sorted(reading.properties.items())), reading.isolation, reading.fetch_bytes
    if key not in _readers:
        cluster = connected(settings.from_properties(reading.properties))
        _readers[key] = RangeReader(cluster, isolation=reading.isolation, fetch_bytes=reading.fetch_bytes)
    return _readers[key]


def _forget() -> None:
    while _readers:
        _readers.popitem()[1].close()
