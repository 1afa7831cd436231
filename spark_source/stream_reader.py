"""spark.readStream: micro-batches over the partitions of topics, exactly once with Spark's checkpoint.

Spark runs one of these for a query, on the driver, and calls it for offsets, plans and commits; the tasks are those of
batch queries. Nothing is connected before it is needed, for every task unpickles a reader as well.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from kafpy.client.cluster import TopicPartition
from kafpy.client.connection import ClientError
from kafpy.client.range_reader import Range
from kafpy.storage.partition_folder import format_id
from spark_source import admission, reading, rows, source_options
from spark_source.batch_reader import tasks
from spark_source.places import Places
from spark_source.source_options import EARLIEST, LATEST
from spark_source.stream_offsets import StreamOffset

if TYPE_CHECKING:
    import pyarrow as pa

At = dict[TopicPartition, int]


class DataLoss(Exception):
    """What a query has not read yet is gone. failOnDataLoss=false goes on without it."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._options = source_options.parse(given, streaming=True)
        source_options.warn(self._options)
        self._reading = reading.Reading.of(self._options, rows.columns_of(schema))
        self._places = Places(self._options)
        self._pid = os.getpid()
        self._available_now = False
        self._target: At | None = None
        self._last_batch = time.monotonic()

    # ---- offsets

    def initialOffset(self) -> dict[str, Any]:
        self._places.refresh()
        partitions = self._places.partitions()
        found = self._places.resolve(self._options.starting, partitions, ending=False)
        return StreamOffset(found, self._ids()).to_json()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """`start` itself where there is nothing to read, or not enough yet."""
        self._places.refresh()
        known = StreamOffset.from_json(start)
        ids = self._ids()
        begin = self._begin(known, ids)
        end = self._end(begin)
        if not isinstance(limit, ReadAllAvailable):
            waited_ms = (time.monotonic() - self._last_batch) * 1000
            least = None if self._available_now else self._options.min_offsets
            if not admission.enough(begin, end, least, waited_ms, self._options.max_delay_ms):
                return start
            end = admission.limited(begin, end, self._options.max_offsets)
        found = StreamOffset(end, ids)
        if dict(found.at) == dict(known.at) and not known.created_again(ids):
            if self._available_now:
                self.commit(start)  # Spark does not commit the last batch of such a query
            return start
        self._last_batch = time.monotonic()
        return found.to_json()

    def _ids(self) -> dict[str, str]:
        return {topic: format_id(each) for topic, each in self._places.topic_ids().items()}

    def _begin(self, known: StreamOffset, ids: Mapping[str, str]) -> At:
        """Where each partition that is there goes on: a new one at its beginning."""
        partitions = self._places.partitions()
        again = known.created_again(ids)
        if again:
            self._lost(f"topic {', '.join(again)} was deleted and created again since the last batch")
        gone = sorted(set(known.at) - set(partitions))
        if gone:
            named = ", ".join(f"{topic} [{index}]" for topic, index in gone)
            self._lost(f"{named}: not there any more, or not read any more")
        going_on = {each: known.at[each] for each in partitions if each in known.at and each[0] not in again}
        fresh = [each for each in partitions if each not in going_on]
        return {**going_on, **self._places.ends(fresh, EARLIEST)}

    def _end(self, begin: At) -> At:
        """What there is now, or with Trigger.AvailableNow was when the query began."""
        end = self._places.ends(begin, LATEST)
        if self._available_now:
            if self._target is None:
                self._target = end
            end = {each: min(at, self._target.get(each, begin[each])) for each, at in end.items()}
        for (topic, index), at in end.items():
            if at < begin[topic, index] and not self._available_now:
                self._lost(
                    f"{topic} [{index}] ends at offset {at}, but {begin[topic, index]} was next: the log was truncated"
                )
        return {each: max(at, begin[each]) if self._available_now else at for each, at in end.items()}

    def _lost(self, what: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{what}; with failOnDataLoss=false the query would go on with what there is")

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.max_offsets is not None:
            return ReadMaxRows(self._options.max_offsets)
        if self._options.min_offsets is not None:
            return ReadMinRows(self._options.min_offsets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """The target is fixed when it is first asked for: partitions may still change before (SPARK-53560)."""
        self._available_now = True

    def reportLatestOffset(self) -> dict[str, Any] | None:
        try:
            self._places.refresh()
            found = self._places.ends(self._places.partitions(), LATEST)
        except ClientError:
            return None  # it is for a progress line alone
        return StreamOffset(found).to_json()

    # ---- batches

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The same ranges whenever a batch is planned again, after a failure or a restart."""
        first, last = StreamOffset.from_json(start), StreamOffset.from_json(end)
        again = set(first.created_again(last.ids))
        fresh = [each for each in last.at if each not in first.at or each[0] in again]
        begin = {**first.at, **self._places.ends(fresh, EARLIEST)}
        ranges = [Range(*each, begin[each], at) for each, at in sorted(last.at.items()) if begin[each] < at]
        return tasks(self._places, self._options, self._reading, ranges)

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        return reading.read(partition) if isinstance(partition, reading.Task) else iter(())

    def commit(self, end: dict[str, Any]) -> None:
        """To kafpy.commit.group, for the eyes of others: the query itself goes by its checkpoint."""
        group = self._options.commit_group
        if group is not None:
            self._places.commit(group, dict(StreamOffset.from_json(end).at))

    def stop(self) -> None:
        if self._pid == os.getpid():
            self._places.close()
