"""The metadata interface: what a broker asks of a store, whichever one it has.

Every call may block (a disk, a network) and is made from a helper thread, never on the loop. A call that returns has
made its change durable; one that raises has changed nothing, and raises MetadataError 56 where the store itself failed.
Each change gives back the epoch of the image that contains it.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafpy.metadata.client_quota import Entity
from kafpy.metadata.image import Image, Partition, Topic


class Store(Protocol):
    def cluster_id(self) -> str: ...

    def load(self) -> Image: ...

    def create_topic(self, topic: Topic) -> int:
        """MetadataError 36 when the name is taken."""

    def delete_topic(self, name: str) -> int:
        """MetadataError 3 when there is none. The id stays listed in deleted_topic_ids()."""

    def add_partitions(self, name: str, partitions: Iterable[Partition]) -> int: ...

    def set_topic_configs(self, name: str, configs: Mapping[str, str]) -> int:
        """These and no others."""

    def set_broker_configs(self, broker: str, configs: Mapping[str, str]) -> int:
        """These and no others; `broker` is an id, or "" for all brokers."""

    def set_client_quotas(self, changed: Mapping[Entity, Mapping[str, float]]) -> int:
        """Of each entity these and no others, all at once."""

    def deleted_topic_ids(self) -> frozenset[bytes]:
        """Topics whose folders may still lie on a disk: deleted since the last forget_deleted_topics()."""

    def forget_deleted_topics(self) -> None: ...

    def allocate_producer_ids(self, count: int) -> int:
        """The first of `count` ids that nobody else is given, ever."""

    def close(self) -> None: ...
