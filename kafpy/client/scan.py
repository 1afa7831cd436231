"""kafpy.scan: topics as Arrow record batches, in bulk and in parallel, for pandas, Polars, DuckDB and the like.

    import kafpy
    kafpy.scan("events").read_pandas()

What a scan covers is fixed when it begins: ends are looked up once. Each partition's records come in order; where
several threads read, batches of several partitions come in between each other.
"""

import os
import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kafpy._core.batch import CorruptBatch
from kafpy._core.columns import Gatherer, RecordSet
from kafpy.client import settings as client_settings
from kafpy.client.arrow_batches import COLUMNS, GATHERED, Assembler, arrow, schema
from kafpy.client.cluster import EARLIEST, LATEST, Cluster, TopicPartition
from kafpy.client.connection import ClientError
from kafpy.client.consumer import READ_COMMITTED, READ_UNCOMMITTED, opened
from kafpy.client.local_log import AUTO, LOCAL, TCP, LocalLog, LocalReader, local_logs, record_sets
from kafpy.client.range_reader import Range, RangeReader
from kafpy.client.settings import ClientSettings

if TYPE_CHECKING:
    import pyarrow as pa

Place = int | str | datetime
Places = Place | Mapping[int, Place]
ISOLATION = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}
BATCH_ROWS, BATCH_BYTES = 65_536, 8 << 20


def scan(
    topic: str | Sequence[str],
    *,
    bootstrap_servers: str | None = None,
    partitions: Iterable[int] | None = None,
    start: Places = "earliest",
    end: Places = "latest",
    columns: Sequence[str] = COLUMNS,
    isolation_level: str = "read_uncommitted",
    read: str = AUTO,
    threads: int | None = None,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    properties: Mapping[str, str] | None = None,
) -> "pa.RecordBatchReader":
    """The records of one topic or several, from `start` up to, not including, `end`.

    Both are "earliest", "latest", an offset or a datetime, or a dict of these by partition. `columns`: any of key,
    value, topic, partition, offset, timestamp, timestampType, headers. `threads`: how many partitions are read at once;
    by default as many as there are CPUs. `read`: "auto" reads the files of a broker on this machine where they can be
    seen and asks the brokers elsewhere, "tcp" always asks, "local" never. `properties`: the Java client's, for TLS,
    SASL and time-outs. Batches end behind `batch_rows` rows or `batch_bytes` bytes. ClientError, from here or the
    reader, says what is wrong.
    """
    if isolation_level not in ISOLATION:
        raise ValueError(f"isolation_level is one of {', '.join(ISOLATION)}, not {isolation_level!r}")
    if read not in (AUTO, TCP, LOCAL):
        raise ValueError(f"read is one of {AUTO}, {TCP}, {LOCAL}, not {read!r}")
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown or not columns:
        raise ValueError(f"columns are some of {', '.join(COLUMNS)}, not {', '.join(unknown) or 'none'}")
    given = dict(properties or {})
    if bootstrap_servers is not None:
        given["bootstrap.servers"] = bootstrap_servers
    where = client_settings.from_properties(given)
    isolation = ISOLATION[isolation_level]
    topics = [topic] if isinstance(topic, str) else list(topic)
    wanted = schema(columns)
    with Cluster(where) as cluster:
        ranges = plan(cluster, topics, partitions, start, end, isolation)
        logs = {} if read == TCP else local_logs(cluster, topics)
    job = Job(where, wanted, isolation, batch_rows, batch_bytes, read, logs)
    count = min(threads or os.cpu_count() or 1, len(ranges))
    batches = job.one_by_one(ranges) if count < 2 else job.side_by_side(ranges, count)
    return arrow().RecordBatchReader.from_batches(job.schema, batches)


def plan(
    cluster: Cluster,
    topics: Sequence[str],
    partitions: Iterable[int] | None,
    start: Places,
    end: Places,
    isolation: int,
) -> list[Range]:
    wanted = None if partitions is None else set(partitions)
    there = list(cluster.partitions(topics))
    missing = set() if wanted is None else wanted - {index for _, index in there}
    if missing:
        raise ClientError(f"{', '.join(topics)}: there is no partition {', '.join(map(str, sorted(missing)))}")
    chosen = [each for each in there if wanted is None or each[1] in wanted]
    firsts = _resolved(cluster, chosen, EARLIEST, isolation)
    lasts = _resolved(cluster, chosen, LATEST, isolation)
    begins = _placed(cluster, chosen, start, firsts, lasts, isolation)
    ends = _placed(cluster, chosen, end, firsts, lasts, isolation)
    found = [Range(*each, max(begins[each], firsts[each]), min(ends[each], lasts[each])) for each in chosen]
    return [each for each in found if each.start < each.end]


def _placed(
    cluster: Cluster,
    chosen: Sequence[TopicPartition],
    places: Places,
    firsts: Mapping[TopicPartition, int],
    lasts: Mapping[TopicPartition, int],
    isolation: int,
) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    times: dict[TopicPartition, int] = {}
    for each in chosen:
        if isinstance(places, Mapping):
            if each[1] not in places:
                raise ValueError(f"start and end name every partition that is read, but not {each[1]}")
            place = places[each[1]]
        else:
            place = places
        if isinstance(place, datetime):
            times[each] = int(place.timestamp() * 1000)
        elif isinstance(place, int) and place >= 0:
            found[each] = place
        elif place in ("earliest", "latest"):
            found[each] = firsts[each] if place == "earliest" else lasts[each]
        else:
            raise ValueError(f"an offset, a datetime, 'earliest' or 'latest', not {place!r}")
    for each, offset in cluster.offsets(times, isolation=isolation).items() if times else ():
        found[each] = lasts[each] if offset < 0 else offset
    _complete(chosen, found)
    return found


def _resolved(
    cluster: Cluster, chosen: Sequence[TopicPartition], time_: int, isolation: int
) -> dict[TopicPartition, int]:
    found = cluster.offsets(dict.fromkeys(chosen, time_), isolation=isolation)
    _complete(chosen, found)
    return found


def _complete(chosen: Sequence[TopicPartition], found: Mapping[TopicPartition, int]) -> None:
    for each in chosen:
        if each not in found:
            raise ClientError(f"{each[0]} [{each[1]}] has no leader now; try again, or name partitions that have one")


class Job:
    """One scan: how its ranges become batches."""

    def __init__(
        self,
        where: ClientSettings,
        schema: "pa.Schema",
        isolation: int,
        batch_rows: int,
        batch_bytes: int,
        read: str,
        logs: Mapping[TopicPartition, LocalLog],
    ) -> None:
        self.schema = schema
        self._where = where
        self._isolation = isolation
        self._read = read
        self._logs = logs
        self._most = {"most_rows": batch_rows, "most_bytes": batch_bytes}

    def one_by_one(self, ranges: Iterable[Range]) -> Iterator["pa.RecordBatch"]:
        local = None if self._read == TCP else LocalReader(self._logs, isolation=self._isolation)
        with Cluster(self._where) as cluster, RangeReader(cluster, isolation=self._isolation) as reader:
            for each in ranges:
                found = record_sets(each, local, lambda: reader, local_only=self._read == LOCAL)
                yield from self.batches(found, each)

    def batches(self, found: Generator[RecordSet, None, None], wanted: Range) -> Iterator["pa.RecordBatch"]:
        gatherer = Gatherer(GATHERED.intersection(self.schema.names), **self._most)
        assembler = Assembler(self.schema, wanted.topic, wanted.partition)
        try:
            with closing(found):
                for record_set in found:
                    while gatherer.feed(record_set, wanted.start, wanted.end, opened):
                        yield assembler.batch(*gatherer.take())
        except CorruptBatch as error:
            raise ClientError(f"{wanted}: {error}") from None
        if gatherer.rows:
            yield assembler.batch(*gatherer.take())

    def side_by_side(self, ranges: Sequence[Range], count: int) -> Iterator["pa.RecordBatch"]:
        """As many threads, each with connections of its own; the largest ranges first."""
        todo: queue.SimpleQueue[Range | None] = queue.SimpleQueue()
        for each in sorted(ranges, key=lambda each: each.start - each.end):
            todo.put(each)
        done: queue.Queue[Any] = queue.Queue(2 * count)
        stopped = threading.Event()
        workers = [threading.Thread(target=self._work, args=(todo, done, stopped), daemon=True) for _ in range(count)]
        for worker in workers:
            todo.put(None)
            worker.start()
        try:
            left = count
            while left:
                found = done.get()
                if found is None:
                    left -= 1
                elif isinstance(found, BaseException):
                    raise found
                else:
                    yield found
        finally:
            stopped.set()
            for worker in workers:
                while worker.is_alive():
                    _empty(done)
                    worker.join(0.01)

    def _work(
        self, todo: "queue.SimpleQueue[Range | None]", done: "queue.Queue[Any]", stopped: threading.Event
    ) -> None:
        try:
            for each in self.one_by_one(iter(todo.get, None)):
                done.put(each)
                if stopped.is_set():
                    break
        except BaseException as error:
            done.put(error)
        finally:
            done.put(None)


def _empty(done: "queue.Queue[Any]") -> None:
    while not done.empty():
        done.get_nowait()


__all__ = ["Job", "plan", "scan"]
