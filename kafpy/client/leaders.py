"""Who leads which partition, and connections to them that nobody else uses: producers and consumers send ahead on them.

What goes wrong is not final here: a leader that cannot be reached or has moved is looked up again, with pauses between.
"""

import time
from collections.abc import Iterable

from kafpy.client.cluster import Cluster, TopicPartition
from kafpy.client.connection import ClientError, Connection, error_name
from kafpy.protocol.errors import ErrorCode

COMING = {
    ErrorCode.NONE,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REPLICA_NOT_AVAILABLE,
}
"""Of a topic: what a broker says that is just making it, or electing its leaders."""

MOVED = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
}
"""Of a partition: somebody else may lead it by now, or soon."""

PAUSE_S = 0.1


class Leaders:
    def __init__(self, cluster: Cluster, *, client_id: str = "kafpy") -> None:
        self._cluster = cluster
        self._client_id = client_id
        self._addresses: dict[TopicPartition, tuple[int, str, int] | None] = {}
        self._connections: dict[tuple[int, str, int], Connection] = {}
        self._last_known: dict[TopicPartition, str] = {}
        self._looked_up: float = 0.0
        self.counts: dict[str, int] = {}
        """How many partitions each topic has."""

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def learn(self, topics: Iterable[str], *, create: bool = False, timeout_s: float = 60.0) -> None:
        """Waits until every topic is known. ClientError for one that stays unknown, at once unless it may be made."""
        wanted = set(topics)
        deadline = time.monotonic() + timeout_s
        while True:
            errors = self._look_up(wanted, create)
            for name, code in errors.items():
                if code not in COMING or not create or time.monotonic() > deadline:
                    raise ClientError(unknown_topic(name, code))
            if not errors:
                return
            time.sleep(PAUSE_S)

    def look_again(self) -> None:
        """After something failed; not more often than every PAUSE_S. No broker answers: all stays as it was."""
        if time.monotonic() - self._looked_up >= PAUSE_S:
            try:
                self._look_up(set(self.counts), create=False)
            except ClientError:
                self._looked_up = time.monotonic()

    def _look_up(self, topics: set[str], create: bool) -> dict[str, int]:
        answer = self._cluster.metadata(topics, create=create)
        self._looked_up = time.monotonic()
        brokers = {each.node_id: (each.node_id, each.host, each.port) for each in answer.brokers}
        for topic in answer.topics:
            if not topic.error_code:
                self.counts[topic.name] = len(topic.partitions)
                for each in topic.partitions:
                    address = brokers.get(each.leader_id)
                    self._addresses[topic.name, each.partition_index] = address
                    if address is not None:
                        self._last_known[topic.name, each.partition_index] = f"{address[1]}:{address[2]}"
        return {topic.name: topic.error_code for topic in answer.topics if topic.error_code}

    def led(self, topic: str) -> list[int]:
        """The partitions that have a leader."""
        return [index for index in range(self.counts[topic]) if self._addresses.get((topic, index)) is not None]

    def last_known(self, partition: TopicPartition) -> str:
        """The address of its leader, or of the one it had, for people to read."""
        return self._last_known.get(partition, "no broker")

    def of(self, partition: TopicPartition) -> Connection | None:
        """None while nobody leads it, or its leader cannot be reached."""
        address = self._addresses.get(partition)
        if address is None:
            return None
        if address not in self._connections:
            node_id, host, port = address
            try:
                opened = self._cluster.connect_to(host, port, client_id=self._client_id)
            except ClientError:
                self._addresses[partition] = None
                return None
            opened.node_id = node_id
            self._connections[address] = opened
        return self._connections[address]

    def drop(self, connection: Connection) -> None:
        """One that broke; whoever it led to is looked up again."""
        connection.close()
        self._connections = {address: each for address, each in self._connections.items() if each is not connection}


def unknown_topic(name: str, code: int) -> str:
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"there is no topic {name}; make it with `kafpy topic create {name}`"
    return f"topic {name}: {error_name(code)}"
