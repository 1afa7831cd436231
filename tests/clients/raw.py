"""A client that sends exactly what a test says: any version, any bytes, as many requests in flight as it likes."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from select import select
from typing import Any

from kafpy._core import batch
from kafpy.protocol import Struct, api, codec
from kafpy.storage import compression

TIMEOUT_S = 20


class RawClient:
    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sent = 0
        self._awaited: list[tuple[int, api.Api, int]] = []

    def send(self, *requests: tuple[api.Api, int, Struct], silent: bool = False) -> None:
        """All of them in one write. `silent`: no answers will come (acks=0)."""
        frames = []
        for asked, version, request in requests:
            self._sent += 1
            frame = codec.write_request(asked.key, version, self._sent, "raw", request)
            frames.append(len(frame).to_bytes(4, "big") + frame)
            if not silent:
                self._awaited.append((self._sent, asked, version))
        self._socket.sendall(b"".join(frames))

    def receive(self) -> Any:
        """The answer to the oldest request that has none."""
        correlation_id, asked, version = self._awaited.pop(0)
        answered, body = codec.read_response(asked.key, version, self._read(int.from_bytes(self._read(4), "big")))
        assert answered == correlation_id
        return body

    def call(self, asked: api.Api, version: int, request: Struct) -> Any:
        self.send((asked, version, request))
        return self.receive()

    def quiet(self, seconds: float) -> bool:
        """Whether nothing came for so long."""
        return not select([self._socket], [], [], seconds)[0]

    def closed(self) -> bool:
        """Whether the broker hung up; waits for it to do so or to say something."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            got = self._socket.recv(min(size - len(data), 1 << 20))
            if not got:
                raise ConnectionResetError("closed by the broker")
            data += got
        return bytes(data)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what most tests ask

    def create(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
        """A topic; its id."""
        request = api.CREATE_TOPICS.request
        listed = [request.Config(name=key, value=value) for key, value in (configs or {}).items()]
        topic = request.Topic(name=name, num_partitions=partitions, replication_factor=1, configs=listed)
        answer = self.call(api.CREATE_TOPICS, 7, request(topics=[topic], timeout_ms=10_000)).topics[0]
        assert answer.error_code == 0, answer.error_message
        return bytes(answer.topic_id)

    def produce(
        self, topic: str | bytes, records: bytes, *, partition: int = 0, version: int | None = None, acks: int = -1
    ) -> Any:
        """One batch to one partition; a topic given by its id takes version 13."""
        version = (13 if isinstance(topic, bytes) else 9) if version is None else version
        request = produce_request(topic, {partition: records}, acks=acks)
        answer = self.call(api.PRODUCE, version, request)
        return answer.responses[0].partition_responses[0]

    def fetch(
        self, topic: str | bytes, offset: int = 0, *, partition: int = 0, version: int | None = None, **fields: Any
    ) -> Any:
        """One partition, without a session."""
        version = (13 if isinstance(topic, bytes) else 12) if version is None else version
        request = fetch_request({topic: {partition: offset}}, **fields)
        return self.call(api.FETCH, version, request).responses[0].partitions[0]

    def offset(self, topic: str, timestamp: int, *, partition: int = 0, version: int = 10) -> Any:
        request = api.LIST_OFFSETS.request
        part = request.Partition(partition_index=partition, timestamp=timestamp)
        body = request(replica_id=-1, topics=[request.Topic(name=topic, partitions=[part])])
        return self.call(api.LIST_OFFSETS, version, body).topics[0].partitions[0]

    def metadata(self, *topics: str, create: bool = False) -> Any:
        request = api.METADATA.request
        listed = [request.Topic(name=name) for name in topics]
        return self.call(api.METADATA, 12, request(topics=listed, allow_auto_topic_creation=create))

    def producer_id(self) -> tuple[int, int]:
        answer = self.call(api.INIT_PRODUCER_ID, 4, api.INIT_PRODUCER_ID.request(transactional_id=None))
        assert answer.error_code == 0
        return answer.producer_id, answer.producer_epoch

    def values(self, topic: str, *, partition: int = 0) -> list[bytes | None]:
        """Everything in the partition, from its start."""
        found: list[bytes | None] = []
        offset = 0
        while True:
            part = self.fetch(topic, offset, partition=partition)
            assert part.error_code == 0
            if not part.records:
                return found
            columns = opened(part.records)
            found += column(columns.values)
            offset = columns.next_offset


def produce_request(topic: str | bytes, records: Mapping[int, bytes | None], *, acks: int = -1) -> Struct:
    request = api.PRODUCE.request
    named = {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
    partitions = [request.Partition(index=index, records=data) for index, data in records.items()]
    return request(acks=acks, timeout_ms=10_000, topic_data=[request.Topic(**named, partition_data=partitions)])


def fetch_request(
    offsets: Mapping[str | bytes, Mapping[int, int]],
    *,
    wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 64 << 20,
    partition_max_bytes: int = 8 << 20,
    leader_epoch: int = -1,
    session: tuple[int, int] = (0, -1),
    forgotten: Mapping[str | bytes, Iterable[int]] | None = None,
    isolation_level: int = 0,
) -> Struct:
    request = api.FETCH.request
    topics = [
        request.Topic(
            **_named(topic),
            partitions=[
                request.Partition(
                    partition=index,
                    fetch_offset=offset,
                    partition_max_bytes=partition_max_bytes,
                    current_leader_epoch=leader_epoch,
                )
                for index, offset in parts.items()
            ],
        )
        for topic, parts in offsets.items()
    ]
    return request(
        replica_id=-1,
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session[0],
        session_epoch=session[1],
        topics=topics,
        forgotten_topics_data=[
            request.Forgotten(**_named(topic), partitions=list(parts)) for topic, parts in (forgotten or {}).items()
        ],
    )


def _named(topic: str | bytes) -> dict[str, Any]:
    return {"topic_id": topic} if isinstance(topic, bytes) else {"topic": topic}


def batch_of(
    values: Sequence[bytes | None], *, codec: int = 0, timestamps: Any = 1_700_000_000_000, **fields: Any
) -> bytes:
    def packed(data: bytes) -> bytes:
        return compression.compress(codec, data)

    return batch.encode(values, timestamps=timestamps, codec=codec, compress=packed if codec else None, **fields)


def opened(records: bytes) -> batch.Columns:
    return batch.decode_columns(records, lambda codec, data: compression.decompress(codec, bytes(data), 64 << 20))


def codecs_of(records: bytes) -> set[int]:
    """Of its batches. A client may leave one that is too small to gain from it uncompressed."""
    bounds = batch.split(records)
    return {batch.header(records[start:end]).codec for start, end in pairwise(bounds)}


def column(values: batch.BytesColumn) -> list[bytes | None]:
    bounds, data = values.offsets, memoryview(values.data)
    return [
        None if values.validity is not None and not values.validity[i >> 3] >> (i & 7) & 1 else bytes(data[start:end])
        for i, (start, end) in enumerate(pairwise(bounds))
    ]
