"""spark.read: a snapshot of what is to be read, made when Spark plans, and the tasks that read it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafpy.client.cluster import TopicPartition
from kafpy.client.local_log import TCP, LocalLog
from kafpy.client.range_reader import Range
from spark_source import planning, reading, rows, source_options
from spark_source.places import Places
from spark_source.source_options import EARLIEST, SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._options = source_options.parse(given, streaming=False)
        source_options.warn(self._options)
        self._reading = reading.Reading.of(self._options, rows.columns_of(schema))

    def partitions(self) -> Sequence[InputPartition]:
        """Once for each load(): later actions on the same frame read the same offsets again."""
        with Places(self._options) as places:
            ranges = ranges_between(places, self._options)
            return tasks(places, self._options, self._reading, ranges)

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        return reading.read(partition) if isinstance(partition, reading.Task) else iter(())


def ranges_between(places: Places, options: SourceOptions) -> list[Range]:
    """With failOnDataLoss=false, what is older than the logs is left out; else the tasks that miss it say so."""
    partitions = places.partitions()
    starts = places.resolve(options.starting, partitions, ending=False)
    ends = places.resolve(options.ending, partitions, ending=True)
    if not options.fail_on_data_loss:
        firsts = places.ends(partitions, EARLIEST)
        starts = {each: max(offset, firsts[each]) for each, offset in starts.items()}
    found = [Range(*each, starts[each], ends[each]) for each in partitions]
    return [each for each in found if each.start < each.end]


def tasks(
    places: Places, options: SourceOptions, common: reading.Reading, ranges: Sequence[Range]
) -> list[InputPartition]:
    terms = planning.Terms(
        options.split_bytes, options.min_partitions, options.max_records_per_partition, os.cpu_count() or 1
    )
    planned = planning.tasks(ranges, places.rulers(ranges, options.split_bytes // 8), terms)
    logs = places.local_logs() if options.read != TCP else {}
    return [reading.Task(common, each, _of(logs, each)) for each in planned]


def _of(logs: Mapping[TopicPartition, LocalLog], ranges: Sequence[Range]) -> dict[TopicPartition, LocalLog]:
    partitions = {(each.topic, each.partition) for each in ranges}
    return {each: logs[each] for each in partitions if each in logs}
