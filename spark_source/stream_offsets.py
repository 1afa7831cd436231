"""The offset of a stream: of each partition the next record's, and the ids of the topics. Pure.

In Spark's checkpoint it is what Spark's own connector writes, {"topic": {"0": 23}}, and beside the topics, under a name
that no topic can have, {"@topicIds": {"topic": …}}: a topic that was deleted and created again has another id. Spark
compares offsets as text, so names and numbers stand in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafpy.client.cluster import TopicPartition

IDS = "@topicIds"


@dataclass(frozen=True)
class StreamOffset:
    at: Mapping[TopicPartition, int]
    ids: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for topic, index in sorted(self.at):
            found.setdefault(topic, {})[str(index)] = self.at[topic, index]
        ids = {topic: self.ids[topic] for topic in sorted(self.ids) if topic in found}
        return {**found, IDS: ids} if ids else found

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "StreamOffset":
        at = {
            (topic, int(index)): int(offset)
            for topic, parts in found.items()
            if topic != IDS
            for index, offset in parts.items()
        }
        return cls(at, dict(found.get(IDS, {})))

    def created_again(self, now: Mapping[str, str]) -> list[str]:
        """Topics that are others by now, though they have the same names."""
        return [topic for topic, known in sorted(self.ids.items()) if now.get(topic, known) != known]
