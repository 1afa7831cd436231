"""A topic's part of a Metadata reply in wire form, kept until the topic changes.

Topics of an image are frozen, so the very same object means the same bytes. One cache per broker and per form of the
reply (version, with authorized operations or without); a new image drops what is no longer in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kafpy.metadata import Topic, topic_name
from kafpy.protocol import Encoded, api, codec
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

TOPIC_OPERATIONS = 0x0DF8
"""What anyone may do without an authorizer, as a bit field of AclOperation (AclEntry.supportedOperations)."""
NO_LEADER = int(ErrorCode.LEADER_NOT_AVAILABLE)

_caches: WeakKeyDictionary[BrokerState, dict[tuple[int, bool], Fragments]] = WeakKeyDictionary()


def fragments_of(broker: BrokerState, version: int, operations: bool) -> Fragments:
    forms = _caches.setdefault(broker, {})
    found = forms.get((version, operations))
    if found is None:
        found = forms[version, operations] = Fragments(version, operations)
    found.follow(broker)
    return found


class Fragments:
    def __init__(self, version: int, operations: bool) -> None:
        self._version = version
        self._operations = operations
        self._epoch = -1
        self._kept: dict[str, tuple[Topic, Encoded]] = {}

    def follow(self, broker: BrokerState) -> None:
        image = broker.image
        if image.epoch != self._epoch:
            self._epoch = image.epoch
            self._kept = {name: kept for name, kept in self._kept.items() if image.topic(name) is kept[0]}

    def of(self, topic: Topic) -> Encoded:
        kept = self._kept.get(topic.name)
        if kept is None or kept[0] is not topic:
            fragment = codec.response_fragment(api.METADATA, self._version, self._entry(topic))
            kept = self._kept[topic.name] = (topic, fragment)
        return kept[1]

    def _entry(self, topic: Topic) -> Any:
        response = api.METADATA.response
        make = response.Partition
        entry = response.Topic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.name in topic_name.INTERNAL,
            partitions=[
                make(
                    error_code=NO_LEADER if partition.leader < 0 else 0,
                    partition_index=partition.index,
                    leader_id=partition.leader,
                    leader_epoch=partition.leader_epoch,
                    replica_nodes=partition.replicas,
                    isr_nodes=partition.isr,
                    # the replicas of a partition without a leader are all offline, or one of them would lead
                    offline_replicas=partition.replicas if partition.leader < 0 else (),
                )
                for partition in topic.partitions
            ],
        )
        if self._operations:
            entry.topic_authorized_operations = TOPIC_OPERATIONS
        return entry
