"""Ranges of offsets, read one after the other over connections of the reader's own, as record sets.

The next Fetch is on its way while the caller uses what the last one brought. All record sets of a reader are views of
one buffer: each has to be done with before the next is asked for.
"""

import time
from collections.abc import Generator
from typing import Any, NamedTuple

from kafpy._core.batch import CorruptBatch
from kafpy._core.columns import RecordSet
from kafpy.client.cluster import EARLIEST, LATEST, Cluster
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.client.leaders import MOVED, PAUSE_S, Leaders
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

NAMES_TOPICS = 12
"""The last version of Fetch in which topics have names."""
FETCH_BYTES = 4 << 20
MAX_WAIT_MS = 500
HEADROOM = 1 << 20
"""For a batch that is larger than what was asked for, and for the reply around it."""


class Range(NamedTuple):
    topic: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic} [{self.partition}]"


class OffsetsGone(ClientError):
    """The log begins behind an offset that was asked for, or ends before it."""

    def __init__(self, where: str, first: int | None, last: int | None) -> None:
        there = [f"begins at {first}"] if first is not None else []
        there += [f"ends at {last}"] if last is not None else []
        super().__init__(f"{where}: there is no such offset; the log {' and '.join(there) or 'is empty'} now")
        self.first = first
        self.last = last


class RangeReader:
    def __init__(self, cluster: Cluster, *, isolation: int = 0, fetch_bytes: int = FETCH_BYTES) -> None:
        self._cluster = cluster
        self._isolation = isolation
        self._fetch_bytes = fetch_bytes
        self._buffer = bytearray(fetch_bytes + HEADROOM)
        self._leaders = Leaders(cluster)

    def close(self) -> None:
        self._leaders.close()

    def __enter__(self) -> "RangeReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, wanted: Range) -> Generator[RecordSet, None, None]:
        """Until its end; the first and the last record set may hold more than the range. OffsetsGone, ClientError."""
        if wanted.topic not in self._leaders.counts:
            self._leaders.learn([wanted.topic])
        position, leader = wanted.start, None
        deadline = self._deadline()
        try:
            while position < wanted.end:
                if time.monotonic() > deadline:
                    raise ClientError(
                        f"{wanted}: nothing came from offset {position} on for {self._cluster.timeout_s:g} s"
                    )
                leader = leader or self._asked(wanted, position)
                if leader is None:
                    time.sleep(PAUSE_S)
                    self._leaders.look_again()
                    continue
                record_set = self._answer(leader, wanted, position)
                if record_set is None or record_set.next_offset <= position:
                    leader = None
                    continue
                position = record_set.next_offset
                deadline = self._deadline()
                leader = self._asked(wanted, position) if position < wanted.end else None
                yield record_set
        finally:
            if leader is not None and leader.under_way:
                self._leaders.drop(leader)

    def _deadline(self) -> float:
        return time.monotonic() + self._cluster.timeout_s

    def _asked(self, wanted: Range, position: int) -> Connection | None:
        """The leader, with a Fetch from there under way."""
        leader = self._leaders.of((wanted.topic, wanted.partition))
        if leader is None:
            return None
        request = api.FETCH.request
        part = request.Partition(
            partition=wanted.partition, fetch_offset=position, partition_max_bytes=self._fetch_bytes
        )
        body = request(
            replica_id=-1,
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=self._fetch_bytes,
            isolation_level=self._isolation,
            topics=[request.Topic(topic=wanted.topic, partitions=[part])],
        )
        try:
            leader.send(api.FETCH, body, version=min(NAMES_TOPICS, leader.version(api.FETCH)))
        except ClientError:
            self._leaders.drop(leader)
            return None
        return leader

    def _answer(self, leader: Connection, wanted: Range, position: int) -> RecordSet | None:
        """None: to be asked for again, perhaps of another broker."""
        try:
            answer = leader.receive(self._buffer)
        except ClientError:
            self._leaders.drop(leader)
            self._leaders.look_again()
            return None
        where = f"{wanted} at offset {position}, broker {leader.node_id} ({leader.address})"
        if answer.error_code:
            raise ClientError(f"{where}: {error_name(answer.error_code)}")
        part = answer.responses[0].partitions[0]
        if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetsGone(where, *self._extent(wanted))
        if part.error_code in MOVED:
            self._leaders.look_again()
            time.sleep(PAUSE_S / 10)
            return None
        if part.error_code:
            raise ClientError(f"{where}: {error_name(part.error_code)}")
        try:
            return RecordSet(part.records or b"", _aborted(part) if self._isolation else ())
        except CorruptBatch as error:
            raise ClientError(f"{where}: {error}") from None

    def _extent(self, wanted: Range) -> tuple[int | None, int | None]:
        each = wanted.topic, wanted.partition
        return self._cluster.offsets({each: EARLIEST}).get(each), self._cluster.offsets({each: LATEST}).get(each)


def _aborted(part: Any) -> list[tuple[int, int]]:
    return [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
