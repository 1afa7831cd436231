"""New targets for all members of a group (Kafka's TargetAssignmentBuilder)."""

from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern.assignor import Assignor, Problem, Subscriber, TopicLayout, targets
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.racks import prefer_racks
from kafpy.coordinator.group.modern.range import range_
from kafpy.coordinator.group.modern.uniform import uniform
from kafpy.coordinator.group.topics import KnownTopics

ASSIGNORS: dict[str, Assignor] = {"uniform": uniform, "range": range_}
CLASSES = "org.apache.kafka.coordinator.group.assignor."
"""`group.consumer.assignors` may also have Kafka's classes: UniformAssignor and RangeAssignor in this package."""


def short_name(assignor: str) -> str:
    if assignor.startswith(CLASSES):
        return assignor.removeprefix(CLASSES).removesuffix("Assignor").lower()
    return assignor


class Targets:
    def __init__(self, config: GroupConfig, topics: KnownTopics) -> None:
        named = (short_name(each) for each in config.group_consumer_assignors)
        self.names = tuple(dict.fromkeys(name for name in named if name in ASSIGNORS)) or ("uniform",)
        self._topics = topics

    def update(self, draft: Draft, now_ms: int) -> None:
        """Writes what is other than before, then the epoch that makes it valid."""
        group = draft.group
        problem = self._problem(group)
        draw = ASSIGNORS[group.assignor(self.names)](problem)
        prefer_racks(problem, draw)
        for member_id, target in targets(draw).items():
            if target != group.targets.get(member_id):
                draft.target(member_id, target)
        draft.assignment_epoch(group.epoch, now_ms)

    def _problem(self, group: ModernGroup) -> Problem:
        ids: dict[frozenset[str], frozenset[bytes]] = {}
        members = {}
        for member_id in sorted(group.members):
            member = group.members[member_id]
            names = group.topics_of(member)
            if names not in ids:
                ids[names] = self._topics.ids(names)
            members[member_id] = Subscriber(ids[names], group.target_of(member_id), member.rack_id)
        layouts = {}
        for topic_id in sorted(frozenset().union(*ids.values())):
            topic = self._topics.image.topic_by_id(topic_id)
            assert topic is not None
            layouts[topic_id] = TopicLayout(len(topic.partitions), self._topics.racks(topic))
        return Problem(members, layouts)
