"""A small blocking producer: records are packed natively, batches sent ahead to the partitions' leaders.

Records go into the Packer of their topic; pump() takes what is full (all, with flush=True), sends what may be sent, and
reads what was answered. Nothing happens between calls: there is no thread.

Order within a partition is kept. A batch that failed for a passing reason waits until nothing of its partition is under
way and goes out again before what came later. Its successors, which the broker refused as out of order, follow; without
idempotence it may have taken them already, as with Kafka's own producer. An idempotent producer that lost a batch for
good goes on under a new producer id.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafpy._core import batch
from kafpy._core.lines import Packed, Packer, halves
from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import ClientError, Connection, error_name, readable
from kafpy.client.leaders import MOVED, Leaders
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

NO_PRODUCER = (-1, -1)
NAMES_TOPICS = 12
"""The last version of Produce in which topics have names."""

AGAIN = MOVED | {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
LOST_ORDER = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
}


class DeliveryError(ClientError):
    """Records that no broker took."""


@dataclass(frozen=True)
class Policy:
    acks: int = -1
    codec: int = 0
    level: int | None = None
    batch_bytes: int = 16384
    request_bytes: int = 1 << 20
    in_flight: int = 5
    idempotent: bool = False
    retries: int = (1 << 31) - 1
    backoff_s: float = 0.1
    request_timeout_s: float = 30.0
    delivery_timeout_s: float = 120.0
    max_block_s: float = 60.0
    """For a topic to be known."""
    crc_keys: bool = False


@dataclass(eq=False)
class Batch:
    topic: str
    packed: Packed
    payload: bytes
    made: float
    sequence: int | None = None
    attempts: int = 0
    error: int = 0


@dataclass(eq=False)
class Lane:
    """What is on its way to one partition."""

    queue: deque[Batch] = field(default_factory=deque)
    again: list[Batch] = field(default_factory=list)
    under_way: int = 0
    sequence: int = 0
    not_before: float = 0.0


@dataclass(eq=False)
class Request:
    batches: list[Batch]
    sent: float


Done = Callable[[Batch, int], None]
"""What is told of each batch that a broker has taken: its base offset, -1 with acks=0 or where the broker forgot."""


class Producer:
    def __init__(self, cluster: Cluster, policy: Policy | None = None, *, done: Done | None = None) -> None:
        policy = policy or Policy()
        self._cluster = cluster
        self._policy = policy
        self._done = done
        self._leaders = Leaders(cluster)
        self._packers: dict[str, Packer] = {}
        self._lanes: dict[TopicPartition, Lane] = {}
        self._requests: dict[Connection, deque[Request]] = {}
        self._producer = NO_PRODUCER
        self._renew = policy.idempotent
        self._held = 0
        self.delivered = 0
        """Records."""
        self.failed: dict[str, int] = {}
        """Records that no broker took, by reason."""
        self.first_failure = ""
        """Where and why it was."""

    def close(self) -> None:
        self._leaders.close()

    def __enter__(self) -> "Producer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def topic(self, name: str) -> Packer:
        """Where records of a topic go in. Waits until the topic is known; a broker that makes topics may make it."""
        if name not in self._packers:
            self._leaders.learn([name], create=True, timeout_s=self._policy.max_block_s)
            self._packers[name] = Packer(
                self._leaders.counts[name],
                batch_bytes=self._policy.batch_bytes,
                available=self._leaders.led(name),
                crc_keys=self._policy.crc_keys,
                seed=time.time_ns(),
            )
        return self._packers[name]

    @property
    def held(self) -> int:
        """Bytes that no broker has taken yet, packed or not."""
        return self._held + sum(packer.held for packer in self._packers.values())

    @property
    def under_way(self) -> bool:
        return any(self._requests.values())

    def connections(self) -> list[Connection]:
        """That answers may come on: for a select of one's own."""
        return [each for each, requests in self._requests.items() if requests]

    def pump(self, *, flush: bool = False, wait_s: float = 0.0) -> None:
        """Sends what may be sent and reads what is there; waits so long for an answer where any is due."""
        for name, packer in self._packers.items():
            for packed in packer.take(flush):
                self._queue(name, packed)
        self._send_all()
        self._read_all(wait_s)

    def flush(self) -> None:
        """Until a broker has taken everything, or it has failed."""
        self.pump(flush=True)
        while any(lane.queue or lane.again or lane.under_way for lane in self._lanes.values()):
            self.pump(flush=True, wait_s=0.1)

    def _queue(self, topic: str, packed: Packed) -> None:
        payload = packed.records
        if self._policy.codec:
            from kafpy.storage.compression import compress

            payload = compress(self._policy.codec, payload, self._policy.level)
        lane = self._lanes.setdefault((topic, packed.partition), Lane())
        lane.queue.append(Batch(topic, packed, payload, time.monotonic()))
        self._held += len(packed.records)

    def _send_all(self) -> None:
        now = time.monotonic()
        if self._renew and not self._renewed():
            for lane in self._lanes.values():
                self._expire(lane, now)
            return
        ready: dict[Connection, list[TopicPartition]] = {}
        for partition, lane in self._lanes.items():
            if lane.again and not lane.under_way:
                lane.queue.extendleft(reversed(lane.again))
                lane.again.clear()
            if not lane.queue or lane.again or now < lane.not_before:
                continue
            leader = self._leaders.of(partition)
            if leader is None:
                self._leaders.look_again()
                self._expire(lane, now)
            else:
                ready.setdefault(leader, []).append(partition)
        for leader, partitions in ready.items():
            while leader.under_way < self._policy.in_flight and self._send_one(leader, partitions, now):
                pass

    def _expire(self, lane: Lane, now: float) -> None:
        waiting = lane.again or lane.queue
        while waiting and now - waiting[0].made > self._policy.delivery_timeout_s:
            self._fail(waiting[0], waiting[0].error or ErrorCode.LEADER_NOT_AVAILABLE)
            del waiting[0]

    def _send_one(self, leader: Connection, partitions: list[TopicPartition], now: float) -> bool:
        """One batch of each partition, up to a request's size; False when there was none."""
        chosen: list[Batch] = []
        size = 0
        for each in partitions:
            lane = self._lanes[each]
            if lane.queue and (not chosen or size + len(lane.queue[0].payload) <= self._policy.request_bytes):
                taken = lane.queue.popleft()
                size += len(taken.payload)
                if taken.sequence is None and self._producer != NO_PRODUCER:
                    taken.sequence = lane.sequence
                    lane.sequence = (lane.sequence + taken.packed.record_count) & 0x7FFFFFFF
                lane.under_way += 1
                chosen.append(taken)
        if not chosen:
            return False
        partitions.append(partitions.pop(0))  # who came first is last next time
        request = Request(chosen, now)
        requests = self._requests.setdefault(leader, deque())
        requests.append(request)
        acks = self._policy.acks
        try:
            version = min(NAMES_TOPICS, leader.version(api.PRODUCE))
            leader.send(api.PRODUCE, self._produce(chosen), version=version, answered=acks != 0)
        except ClientError:
            self._broke(leader)
            return False
        if acks == 0:
            requests.pop()
            for each_batch in chosen:
                self._finish(each_batch, -1)
        return True

    def _produce(self, chosen: list[Batch]) -> Any:
        request = api.PRODUCE.request
        topics: dict[str, list[Any]] = {}
        for each in chosen:
            part = request.Partition(index=each.packed.partition, records=self._bytes_of(each))
            topics.setdefault(each.topic, []).append(part)
        return request(
            acks=self._policy.acks,
            timeout_ms=int(self._policy.request_timeout_s * 1000),
            topic_data=[request.Topic(name=name, partition_data=parts) for name, parts in topics.items()],
        )

    def _bytes_of(self, each: Batch) -> bytes:
        packed = each.packed
        producer_id, epoch = self._producer
        sequence = -1 if each.sequence is None else each.sequence
        header = batch.BatchHeader(
            base_offset=0,
            batch_length=0,
            leader_epoch=-1,
            magic=2,
            crc=0,
            attributes=0,
            last_offset_delta=packed.record_count - 1,
            base_timestamp=packed.base_timestamp,
            max_timestamp=packed.max_timestamp,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            record_count=packed.record_count,
        )
        return batch.rebuild(header, self._policy.codec, each.payload)

    def _read_all(self, wait_s: float) -> None:
        waiting = self.connections()
        if not waiting:
            if wait_s and self._lanes:
                time.sleep(min(wait_s, self._policy.backoff_s))  # everything waits for its next attempt
            return
        for leader in readable(waiting, wait_s):
            request = self._requests[leader].popleft()
            try:
                answer = leader.receive()
            except ClientError:
                self._requests[leader].appendleft(request)
                self._broke(leader)
                continue
            self._judge(request, answer)
        now = time.monotonic()
        for leader in waiting:
            requests = self._requests.get(leader)
            if requests and now - requests[0].sent > self._policy.request_timeout_s + 1:
                self._broke(leader)

    def _judge(self, request: Request, answer: Any) -> None:
        codes = {(topic.name, part.index): part for topic in answer.responses for part in topic.partition_responses}
        for each in request.batches:
            part = codes.get((each.topic, each.packed.partition))
            code = ErrorCode.NETWORK_EXCEPTION if part is None else part.error_code
            if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self._finish(each, -1 if part is None else part.base_offset)
            else:
                self._refused(each, code)

    def _lane(self, each: Batch) -> Lane:
        return self._lanes[each.topic, each.packed.partition]

    def _finish(self, each: Batch, base_offset: int) -> None:
        self._lane(each).under_way -= 1
        self._held -= len(each.packed.records)
        self.delivered += each.packed.record_count
        if self._done is not None:
            self._done(each, base_offset)

    def _refused(self, each: Batch, code: int) -> None:
        lane = self._lane(each)
        if code == ErrorCode.MESSAGE_TOO_LARGE and each.packed.record_count > 1:
            lane.under_way -= 1
            lane.again += self._split(each)
            return
        if code in LOST_ORDER and self._producer != NO_PRODUCER:
            self._renew = self._renew or not lane.again
            self._retry(each, code)
        elif code in AGAIN:
            self._retry(each, code)
            if code in MOVED:
                self._leaders.look_again()
        else:
            lane.under_way -= 1
            self._fail(each, code)

    def _split(self, each: Batch) -> list[Batch]:
        """Kafka's producer does so too when a batch, but not each record, is too large for the topic."""
        parts = []
        sequence = each.sequence
        for packed in halves(each.packed):
            payload = packed.records
            if self._policy.codec:
                from kafpy.storage.compression import compress

                payload = compress(self._policy.codec, payload, self._policy.level)
            parts.append(Batch(each.topic, packed, payload, each.made, sequence))
            sequence = None if sequence is None else (sequence + packed.record_count) & 0x7FFFFFFF
        return parts

    def _retry(self, each: Batch, code: int) -> None:
        lane = self._lane(each)
        lane.under_way -= 1
        each.attempts += 1
        each.error = code
        now = time.monotonic()
        if each.attempts > self._policy.retries or now - each.made > self._policy.delivery_timeout_s:
            self._fail(each, code)
            return
        lane.not_before = now + self._policy.backoff_s
        lane.again.append(each)

    def _fail(self, each: Batch, code: int) -> None:
        self._held -= len(each.packed.records)
        reason = error_name(code)
        if not self.failed:
            address = self._leaders.last_known((each.topic, each.packed.partition))
            self.first_failure = f"{each.topic} [{each.packed.partition}] on {address}: {reason}"
        self.failed[reason] = self.failed.get(reason, 0) + each.packed.record_count
        self._renew = self._policy.idempotent

    def _broke(self, leader: Connection) -> None:
        for request in self._requests.pop(leader, deque()):
            for each in request.batches:
                self._retry(each, ErrorCode.NETWORK_EXCEPTION)
        self._leaders.drop(leader)
        self._leaders.look_again()

    def _renewed(self) -> bool:
        """A producer id, once nothing under the old one is under way."""
        if any(lane.under_way for lane in self._lanes.values()):
            return False
        if not any(lane.queue or lane.again for lane in self._lanes.values()):
            return True
        if not self._cluster.first.serves(api.INIT_PRODUCER_ID):
            raise DeliveryError(f"{self._cluster.first.address} gives no producer ids: enable.idempotence=false")
        request = api.INIT_PRODUCER_ID.request(transactional_id=None, transaction_timeout_ms=60_000)
        try:
            self._cluster.metadata([])  # a first broker that is gone is replaced
            answer = self._cluster.first.call(api.INIT_PRODUCER_ID, request)
        except ClientError:
            return False  # none is there now; batches wait for one as long as for a leader
        if answer.error_code:
            if answer.error_code in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                return False
            raise DeliveryError(f"no producer id from {self._cluster.first.address}: {error_name(answer.error_code)}")
        self._producer = answer.producer_id, answer.producer_epoch
        for lane in self._lanes.values():
            lane.sequence = 0
            for each in [*lane.again, *lane.queue]:
                each.sequence = None
        self._renew = False
        return True
