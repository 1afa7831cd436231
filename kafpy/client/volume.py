"""How much lies in a partition between two times, from the headers of its batches: no record is looked at."""

from itertools import pairwise
from typing import NamedTuple

from kafpy._core import batch
from kafpy.client.cluster import EARLIEST, LATEST, Cluster, TopicPartition
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.protocol import api

FETCH_BYTES = 8 << 20
WAIT_MS = 500


class Volume(NamedTuple):
    """records: by offsets in the batches' headers, so records that compaction took are not in it."""

    records: int = 0
    size: int = 0
    batches: int = 0
    largest_batch: int = 0
    compressed: int = 0
    """Of the batches."""
    first_ms: int = 0
    last_ms: int = 0

    @property
    def seconds(self) -> float:
        return max(self.last_ms - self.first_ms, 1) / 1000 if self.records else 0.0


def measure(
    cluster: Cluster, partitions: list[TopicPartition], from_ms: int, to_ms: int
) -> dict[TopicPartition, Volume]:
    """Of the batches whose newest record lies between the times."""
    leaders = cluster.partitions({topic for topic, _ in partitions})
    earliest, latest = (cluster.offsets(dict.fromkeys(partitions, at)) for at in (EARLIEST, LATEST))
    found = cluster.offsets(dict.fromkeys(partitions, from_ms)) if from_ms > 0 else earliest
    measured = {}
    for each in partitions:
        leader = leaders.get(each)
        if leader is None:
            raise ClientError(f"partition {each[0]}-{each[1]} has no leader")
        start = found.get(each, -1)
        measured[each] = Volume() if start < 0 else _walk(leader, each, start, latest.get(each, 0), from_ms, to_ms)
    return measured


def _walk(leader: Connection, partition: TopicPartition, start: int, end: int, from_ms: int, to_ms: int) -> Volume:
    at, total = start, Volume()
    while at < end:
        records = _fetched(leader, partition, at)
        bounds = batch.split(records)
        if len(bounds) < 2:
            break
        view = memoryview(records)
        for low, high in pairwise(bounds):
            header = batch.header(view[low:high])
            at = header.base_offset + header.last_offset_delta + 1
            if header.base_offset >= end:
                break
            if from_ms <= header.max_timestamp <= to_ms:
                total = _with(total, header)
    return total


def _with(total: Volume, header: batch.BatchHeader) -> Volume:
    return Volume(
        records=total.records + header.record_count,
        size=total.size + header.size,
        batches=total.batches + 1,
        largest_batch=max(total.largest_batch, header.size),
        compressed=total.compressed + (header.codec != 0),
        first_ms=min(total.first_ms or header.base_timestamp, header.base_timestamp),
        last_ms=max(total.last_ms, header.max_timestamp),
    )


def _fetched(leader: Connection, partition: TopicPartition, offset: int) -> bytes:
    request = api.FETCH.request
    part = request.Partition(partition=partition[1], fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    topics = [request.Topic(topic=partition[0], partitions=[part])]
    version = min(12, leader.version(api.FETCH))  # 13 names topics by id
    asked = request(replica_id=-1, topics=topics, max_bytes=FETCH_BYTES, max_wait_ms=WAIT_MS, min_bytes=1)
    for topic in leader.call(api.FETCH, asked, version=version).responses:
        for each in topic.partitions:
            if each.error_code:
                raise ClientError(f"cannot read {partition[0]}-{partition[1]}: {error_name(each.error_code)}")
            return bytes(each.records or b"")
    return b""
