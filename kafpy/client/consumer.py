"""A small blocking consumer: fetches ahead from all leaders at once and hands out record sets as they came.

The next Fetch goes to a leader as soon as its answer is read, before what it brought is handed out, so broker and
reader work side by side. Nothing is decoded here: a record set is printed by a template, decoded into columns, or
counted. Of a committed reader's record sets the batches of aborted transactions are taken out.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from kafpy._core import batch
from kafpy.client.cluster import EARLIEST, LATEST, Cluster, TopicPartition
from kafpy.client.connection import ClientError, Connection, error_name, readable
from kafpy.client.leaders import MOVED, Leaders
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
NAMES_TOPICS = 12
"""The last version of Fetch in which topics have names."""
CONTROL, TRANSACTIONAL = 32, 16


class Fetched(NamedTuple):
    """Batches of one partition. The first one may begin before `start`, the offset that was asked for."""

    topic: str
    partition: int
    records: bytes
    start: int
    end: int
    """The offset to go on from."""
    high_watermark: int
    leader: int


class OutOfRange(ClientError):
    """There is no such offset, and no rule for where to go on."""


@dataclass(frozen=True)
class Terms:
    isolation: int = READ_UNCOMMITTED
    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 50 << 20
    partition_bytes: int = 1 << 20
    reset: int | None = LATEST
    """LATEST or EARLIEST: where to go on from an offset that is not there; None: not at all."""


class Consumer:
    def __init__(self, cluster: Cluster, terms: Terms | None = None) -> None:
        self._cluster = cluster
        self._terms = terms or Terms()
        self._leaders = Leaders(cluster)
        self._asked: dict[Connection, dict[TopicPartition, int]] = {}
        self._sent: dict[Connection, float] = {}
        self.positions: dict[TopicPartition, int] = {}
        """The next offset of each assigned partition."""
        self.ends: dict[TopicPartition, int] = {}
        """Offsets not to go beyond; a partition that is there is not asked for any more."""

    def close(self) -> None:
        self._leaders.close()

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def assign(self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int] | None = None) -> None:
        """In place of what was assigned before; answers that are under way to other positions are passed over."""
        if positions:
            self._leaders.learn({topic for topic, _ in positions})
        self.positions = dict(positions)
        self.ends = dict(ends or {})

    @property
    def finished(self) -> bool:
        """Whether every assigned partition is at its end. False where one has none."""
        return all(each in self.ends and at >= self.ends[each] for each, at in self.positions.items())

    def poll(self, timeout_s: float = 0.5) -> list[Fetched]:
        """What has come within the time; nothing at all if nothing has."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._ask()
            left = max(0.0, deadline - time.monotonic())
            waiting = [each for each in self._asked if each.under_way]
            if not waiting:
                time.sleep(min(left, 0.05))
            else:
                found = self._read(waiting, left)
                if found:
                    return found
            if time.monotonic() >= deadline:
                return []

    def _ask(self) -> None:
        """One Fetch to every leader that has none under way."""
        wanted: dict[Connection, dict[TopicPartition, int]] = {}
        for each, position in self.positions.items():
            if position < self.ends.get(each, position + 1):
                leader = self._leaders.of(each)
                if leader is None:
                    self._leaders.look_again()
                elif not leader.under_way:
                    wanted.setdefault(leader, {})[each] = position
        for leader, positions in wanted.items():
            try:
                version = min(NAMES_TOPICS, leader.version(api.FETCH))
                leader.send(api.FETCH, self._fetch(positions), version=version)
            except ClientError:
                self._leaders.drop(leader)
                continue
            self._asked[leader] = positions
            self._sent[leader] = time.monotonic()

    def _fetch(self, positions: dict[TopicPartition, int]) -> Any:
        terms, request = self._terms, api.FETCH.request
        topics: dict[str, list[Any]] = {}
        for (topic, index), offset in positions.items():
            part = request.Partition(partition=index, fetch_offset=offset, partition_max_bytes=terms.partition_bytes)
            topics.setdefault(topic, []).append(part)
        return request(
            replica_id=-1,
            max_wait_ms=terms.max_wait_ms,
            min_bytes=terms.min_bytes,
            max_bytes=terms.max_bytes,
            isolation_level=terms.isolation,
            topics=[request.Topic(topic=name, partitions=parts) for name, parts in topics.items()],
        )

    def _read(self, waiting: list[Connection], timeout_s: float) -> list[Fetched]:
        answered = readable(waiting, timeout_s)
        found: list[Fetched] = []
        for leader in answered:
            asked = self._asked.pop(leader)
            try:
                answer = leader.receive()
            except ClientError:
                self._leaders.drop(leader)
                self._leaders.look_again()
                continue
            found += self._taken(leader, asked, answer)
        patience = self._cluster.timeout_s + self._terms.max_wait_ms / 1000
        for leader in set(waiting) - set(answered):
            if time.monotonic() - self._sent[leader] > patience:
                del self._asked[leader]
                self._leaders.drop(leader)
        if answered:
            self._ask()  # the next answers are on their way while these are looked at
        return found

    def _taken(self, leader: Connection, asked: dict[TopicPartition, int], answer: Any) -> list[Fetched]:
        if answer.error_code:
            raise ClientError(f"{leader.address} refuses Fetch: {error_name(answer.error_code)}")
        found = []
        for topic in answer.responses:
            for part in topic.partitions:
                each = topic.topic, part.partition_index
                start = self.positions.get(each)
                if start is None or start != asked.get(each):
                    continue  # assigned anew in between
                if part.error_code:
                    self._failed(each, part.error_code)
                elif part.records:
                    end = end_of(part.records)
                    if end <= start:
                        continue
                    self.positions[each] = end
                    records = part.records
                    if self._terms.isolation and part.aborted_transactions:
                        records = without_aborted(records, part.aborted_transactions)
                    found.append(Fetched(*each, records, start, end, part.high_watermark, leader.node_id))
        return found

    def _failed(self, each: TopicPartition, code: int) -> None:
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if self._terms.reset is None:
                raise OutOfRange(f"{each[0]} [{each[1]}] has no offset {self.positions[each]}")
            found = self._cluster.offsets({each: self._terms.reset}, isolation=self._terms.isolation)
            self.positions.update(found)
        elif code in MOVED:
            self._leaders.look_again()
            time.sleep(0.01)  # a leader that does not know it yet answers at once, again and again
        else:
            raise ClientError(f"{each[0]} [{each[1]}]: {error_name(code)}")


def end_of(records: bytes) -> int:
    """The offset after the last whole batch; -1 without one."""
    bounds = batch.split(records)
    if len(bounds) < 2:
        return -1
    last = batch.header(memoryview(records)[bounds[-2] :])
    return last.base_offset + last.last_offset_delta + 1


def without_aborted(records: bytes, aborted: Iterable[Any]) -> bytes:
    """The batches that are not part of one of these transactions: each goes from its first offset to its marker."""
    coming = sorted(aborted, key=lambda each: int(each.first_offset), reverse=True)
    dropping: set[int] = set()
    kept = []
    bounds = batch.split(records)
    view = memoryview(records)
    for start, end in pairwise(bounds):
        header = batch.header(view[start:end])
        while coming and coming[-1].first_offset <= header.base_offset + header.last_offset_delta:
            dropping.add(coming.pop().producer_id)
        if header.attributes & CONTROL:
            dropping.discard(header.producer_id)
        elif header.attributes & TRANSACTIONAL and header.producer_id in dropping:
            continue
        kept.append(view[start:end])
    return b"".join(kept)


def opened(codec: int, payload: memoryview) -> bytes:
    """decompress for templates and columns, bounded as a broker bounds it."""
    from kafpy.storage.compression import decompress

    return decompress(codec, bytes(payload), 1 << 30)


__all__ = [
    "EARLIEST",
    "LATEST",
    "READ_COMMITTED",
    "READ_UNCOMMITTED",
    "Consumer",
    "Fetched",
    "OutOfRange",
    "Terms",
    "end_of",
    "opened",
    "without_aborted",
]
