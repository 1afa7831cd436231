"""A task of a write, where it runs: Arrow record batches in, everything acknowledged at the end.

A worker process keeps its producer from one task to the next, so that a stream of small batches does not ask for a
producer id each time, which brokers remember for a day. A task that fails leaves none behind: what it had sent is in
the topic, and Spark runs it again from its first row.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from kafpy._core.rows import RowError, Rows
from kafpy.client import settings
from kafpy.client.arrow_rows import rows_of
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.producer import Policy, Producer
from spark_source import worker
from spark_source.sink_options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa

PIECE_BYTES = 1 << 20
"""Packed between two looks at what can be sent."""


class WriteError(Exception):
    """Why a task cannot go on: broker, topic and partition are in its one line."""


@dataclass(frozen=True)
class Writing:
    """What all tasks of a query have in common."""

    properties: Mapping[str, str]
    policy: Policy
    topic: str | None
    columns: Sequence[str]
    held_bytes: int
    keep_s: float

    @classmethod
    def of(cls, options: SinkOptions, columns: Sequence[str]) -> "Writing":
        return cls(dict(options.properties), options.policy, options.topic, columns, options.held_bytes, options.keep_s)


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    rows: int


@dataclass(frozen=True)
class Kept:
    properties: Mapping[str, str]
    made: float
    cluster: Cluster
    producer: Producer

    def close(self) -> None:
        self.producer.close()
        self.cluster.close()


_kept: Kept | None = None


def write(writing: Writing, batches: Iterable["pa.RecordBatch"]) -> Written:
    """Returns when brokers have taken every row. WriteError otherwise; some of the rows may have been taken."""
    worker.freeze()
    rows = 0
    try:
        producer = _producer(writing)
        for batch in batches:
            for topic, part in _by_topic(writing, batch):
                _put(writing, producer, topic, rows_of(part))
            rows += batch.num_rows
        producer.flush()
        _check(producer)
    except ClientError as error:
        _forget()
        raise WriteError(str(error)) from None
    except BaseException:
        _forget()
        raise
    return Written(rows)


def _put(writing: Writing, producer: Producer, topic: str, rows: Rows) -> None:
    packer = producer.topic(topic)
    now_ms = time.time_ns() // 1_000_000
    left = True
    while left:
        try:
            left = not rows.pack(packer, timestamp=now_ms, most_bytes=PIECE_BYTES)
        except RowError as error:
            raise WriteError(f"topic {topic}: {error}") from None
        producer.pump()
        while producer.held > writing.held_bytes:
            producer.pump(flush=not producer.under_way, wait_s=0.1)
        _check(producer)


def _check(producer: Producer) -> None:
    if producer.failed:
        lost = sum(producer.failed.values())
        raise WriteError(f"{producer.first_failure}; {lost} records were not taken")


def _by_topic(writing: Writing, batch: "pa.RecordBatch") -> Iterator[tuple[str, "pa.RecordBatch"]]:
    """The columns that are written, apart for each topic and in their order there."""
    if writing.topic is not None:
        yield writing.topic, batch.select(writing.columns)
        return
    import pyarrow.compute as pc

    names = batch.column("topic")
    if names.null_count:
        raise WriteError("a row whose column topic is null; the option topic names one for all rows")
    rows = batch.select([name for name in writing.columns if name != "topic"])
    encoded: Any = names.dictionary_encode()
    topics = encoded.dictionary.to_pylist()
    for code, topic in enumerate(topics):
        yield topic, rows if len(topics) == 1 else rows.filter(pc.equal(encoded.indices, code))


def _producer(writing: Writing) -> Producer:
    global _kept
    if _kept is not None and (_kept.properties != writing.properties or time.monotonic() - _kept.made > writing.keep_s):
        _forget()
    if _kept is None:
        cluster = worker.connected(settings.from_properties(writing.properties))
        _kept = Kept(writing.properties, time.monotonic(), cluster, Producer(cluster, writing.policy))
    return _kept.producer


def _forget() -> None:
    global _kept
    kept, _kept = _kept, None
    if kept is not None:
        kept.close()
