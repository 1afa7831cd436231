"""The committed offsets of one partition of `__consumer_offsets`: by group, topic and partition.

A value stays the bytes of its record until somebody asks for it: loading a million takes a second instead of many, and
a small fraction of the memory. Only `replay` changes them.
"""

from collections.abc import Iterator

from kafpy.coordinator.group.offset_record import (
    KEY,
    LATEST,
    LEGACY_KEY,
    CommittedOffset,
    MalformedRecord,
    read_key,
    read_value,
)


class Offsets:
    __slots__ = ("_by_prefix", "_groups")

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[int, bytes]]] = {}
        self._by_prefix: dict[bytes, dict[int, bytes]] = {}
        """The innermost dicts again, by the bytes of a key before its partition: the way of `replay`."""

    def replay(self, key: bytes, value: bytes | None) -> str | None:
        """The group's id if these are its first offsets."""
        if value is None:
            self._remove(key)
            return None
        if value[0] or value[1] > LATEST:
            raise MalformedRecord(f"an offset's value {value!r}: no such version")
        partitions = self._by_prefix.get(key[:-4])
        if partitions is not None:
            partitions[int.from_bytes(key[-4:], "big", signed=True)] = value
            return None
        group_id, topic, partition = read_key(key)
        topics = self._groups.get(group_id)
        new = topics is None
        if topics is None:
            topics = self._groups[group_id] = {}
        self._by_prefix[key[:-4]] = partitions = topics.setdefault(topic, {})
        partitions[partition] = value
        return group_id if new else None

    def _remove(self, key: bytes) -> None:
        group_id, topic, partition = read_key(key)
        topics = self._groups.get(group_id, {})
        partitions = topics.get(topic)
        if partitions is None:
            return
        partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
            self._by_prefix.pop(KEY + key[2:-4], None)
            self._by_prefix.pop(LEGACY_KEY + key[2:-4], None)
            if not topics:
                del self._groups[group_id]

    def __contains__(self, group_id: object) -> bool:
        return group_id in self._groups

    def __len__(self) -> int:
        return sum(len(partitions) for topics in self._groups.values() for partitions in topics.values())

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        value = self._groups.get(group_id, {}).get(topic, {}).get(partition)
        return None if value is None else read_value(value)

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        return partition in self._groups.get(group_id, {}).get(topic, {})

    def topics(self, group_id: str) -> list[str]:
        return list(self._groups.get(group_id, ()))

    def partitions(self, group_id: str, topic: str) -> Iterator[tuple[int, CommittedOffset]]:
        for partition, value in self._groups.get(group_id, {}).get(topic, {}).items():
            yield partition, read_value(value)

    def values(self, group_id: str) -> dict[str, dict[int, bytes]]:
        """A copy, by topic and partition; read_value() opens them, anywhere and later."""
        return {topic: dict(partitions) for topic, partitions in self._groups.get(group_id, {}).items()}

    def groups(self) -> list[str]:
        return list(self._groups)

    def groups_of(self, topic: str) -> list[str]:
        return [group_id for group_id, topics in self._groups.items() if topic in topics]

    def count(self, group_id: str) -> int:
        return sum(map(len, self._groups.get(group_id, {}).values()))
