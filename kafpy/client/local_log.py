"""Ranges of offsets read from a broker's own files, by who runs beside it, as record sets. The broker takes no part.

A range is read up to an end that the broker named: its high watermark or last stable offset. All that lies below is in
the files, whole. The segments of a range are opened before its first record is read: retention that deletes them then
takes nothing away, and one that was quicker is noticed (OffsetsGone). Index files are a help; where there is none, as
for a segment that is being written, headers lead the way.
"""

import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from kafpy._core.columns import RecordSet
from kafpy._core.index import Index
from kafpy._core.seek import seek
from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import ClientError
from kafpy.client.nodes import log_dirs_of
from kafpy.client.range_reader import OffsetsGone, Range, RangeReader
from kafpy.protocol import api
from kafpy.storage.partition_folder import PartitionMetadataError, format_name, read_topic_id

AUTO, TCP, LOCAL = "auto", "tcp", "local"
"""Ways to read: from files where they can be seen and over the network elsewhere, or one of the two alone."""
CHUNK_BYTES = 4 << 20
ABORTED = struct.Struct(">hqqqq")


class NotLocal(ClientError):
    """The files of a partition cannot be read from here."""


class LocalLog(NamedTuple):
    """Where the leader of a partition keeps it, and how to know that this is the place."""

    directory: str
    cluster_id: str
    node_id: int
    topic_id: bytes


def local_logs(cluster: Cluster, topics: Iterable[str]) -> dict[TopicPartition, LocalLog]:
    """Of the partitions whose leaders tell where their files are. Whether those can be seen from here is not asked."""
    answer = cluster.metadata(topics)
    leaders = {
        (topic.name, part.partition_index): part.leader_id for topic in answer.topics for part in topic.partitions
    }
    ids = {topic.name: bytes(topic.topic_id) for topic in answer.topics}
    found: dict[TopicPartition, LocalLog] = {}
    for node_id in sorted(set(leaders.values()) - {-1}):
        broker = cluster.broker(node_id)
        if not broker.serves(api.DESCRIBE_LOG_DIRS):
            continue
        for directory in log_dirs_of(broker):
            for replica in directory.replicas:
                each = replica.topic, replica.partition
                if leaders.get(each) == node_id and not replica.is_future and not directory.error_code:
                    found[each] = LocalLog(directory.path, answer.cluster_id or "", node_id, ids[replica.topic])
    return found


def record_sets(
    wanted: Range, local: "LocalReader | None", remote: Callable[[], RangeReader], *, local_only: bool = False
) -> Generator[RecordSet, None, None]:
    """From files where they can be read from here, else from brokers."""
    if local is not None:
        try:
            return (yield from local.read(wanted))
        except NotLocal:
            if local_only:
                raise
    yield from remote().read(wanted)


class Segment(NamedTuple):
    base_offset: int
    descriptor: int
    size: int
    path: Path


class LocalReader:
    def __init__(
        self, logs: Mapping[TopicPartition, LocalLog], *, isolation: int = 0, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self._logs = logs
        self._isolation = isolation
        self._buffer = bytearray(chunk_bytes)

    def read(self, wanted: Range) -> Generator[RecordSet, None, None]:
        """As RangeReader.read(). NotLocal, before there is a record set: the files cannot be read from here."""
        folder = self._folder(wanted)
        where = (
            f"{wanted} at offset {wanted.start}, broker {self._logs[wanted.topic, wanted.partition].node_id}, {folder}"
        )
        with ExitStack() as files:
            segments, newest = _opened(folder, wanted, files)
            if not segments or segments[0].base_offset > wanted.start:
                raise OffsetsGone(where, segments[0].base_offset if segments else None, None)
            position = wanted.start
            for record_set in self._record_sets(segments, wanted):
                position = record_set.next_offset
                yield record_set
            if position < wanted.end and newest:
                raise OffsetsGone(where, None, position)

    def _folder(self, wanted: Range) -> Path:
        log = self._logs.get((wanted.topic, wanted.partition))
        if log is None:
            raise NotLocal(f"{wanted}: its leader does not tell where its files are")
        directory = Path(log.directory)
        told = _properties(directory / "meta.properties")
        node_id = told.get("node.id", told.get("broker.id"))
        if (told.get("cluster.id"), node_id) != (log.cluster_id, str(log.node_id)):
            raise NotLocal(f"{wanted}: there is no {directory} of broker {log.node_id} on this machine")
        folder = directory / format_name(wanted.topic, wanted.partition)
        topic_id = _topic_id(folder)
        if topic_id not in (log.topic_id, None):
            raise NotLocal(f"{folder} belongs to another topic of that name")
        return folder

    def _record_sets(self, segments: Iterable[Segment], wanted: Range) -> Iterator[RecordSet]:
        for segment in segments:
            aborted = _aborted(segment) if self._isolation else []
            position = _start(segment, wanted.start)
            while position < segment.size:
                record_set = self._record_set(segment, position, aborted)
                position += record_set.size
                yield record_set
                if record_set.next_offset >= wanted.end:
                    return

    def _record_set(self, segment: Segment, position: int, aborted: Iterable[tuple[int, int, int]]) -> RecordSet:
        while True:
            size = min(os.preadv(segment.descriptor, [self._buffer], position), segment.size - position)
            first = int.from_bytes(self._buffer[:8], "big")
            open_here = [(producer_id, since) for producer_id, since, last in aborted if last >= first]
            record_set = RecordSet(memoryview(self._buffer)[:size], open_here)
            if record_set.size:
                return record_set
            if position + record_set.wanted > segment.size:
                raise ClientError(f"{segment.path} ends within a batch, at byte {position}")
            self._buffer = bytearray(record_set.wanted)


def _properties(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return dict(line.strip().split("=", 1) for line in lines if "=" in line)


def _topic_id(folder: Path) -> bytes | None:
    """None where the broker keeps none, as Kafka before 2.8."""
    try:
        return read_topic_id(folder)
    except (OSError, PartitionMetadataError) as error:
        raise NotLocal(f"{folder}: {error}") from None


def _opened(folder: Path, wanted: Range, files: ExitStack) -> tuple[list[Segment], bool]:
    """The segments that hold a range, and whether the last one of the log is among them. Opened newest first, so that
    what retention takes away meanwhile is missing at the front."""
    try:
        bases = sorted(int(each.stem) for each in folder.glob("*.log") if each.stem.isdecimal())
    except OSError as error:
        raise NotLocal(f"{folder}: {error.strerror}") from None
    first = max(bisect_right(bases, wanted.start) - 1, 0)
    beyond = bisect_left(bases, wanted.end)
    found: list[Segment] = []
    for base in reversed(bases[first:beyond]):
        path = folder / f"{base:020}.log"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            break
        except OSError as error:
            raise NotLocal(f"{path}: {error.strerror}") from None
        files.callback(os.close, descriptor)
        found.insert(0, Segment(base, descriptor, os.fstat(descriptor).st_size, path))
    return found, beyond == len(bases)


def _start(segment: Segment, offset: int) -> int:
    """Where the batch begins that reaches an offset."""
    if offset <= segment.base_offset:
        return 0
    index = Index.read(
        str(segment.path.with_suffix(".index")), str(segment.path.with_suffix(".timeindex")), segment.size
    )
    floor = None if index is None else index.floor(offset - 1 - segment.base_offset)
    return seek(segment.descriptor, 0 if floor is None else floor[1], segment.size, offset)


def _aborted(segment: Segment) -> list[tuple[int, int, int]]:
    """Aborted transactions: producer id, first offset, offset of the marker."""
    try:
        data = segment.path.with_suffix(".txnindex").read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: len(data) - len(data) % ABORTED.size]
    return [(producer_id, first, last) for _, producer_id, first, last, _ in ABORTED.iter_unpack(whole)]
