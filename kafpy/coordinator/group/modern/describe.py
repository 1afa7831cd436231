"""ConsumerGroupDescribe (KIP-848)."""

from typing import Any

from kafpy.coordinator.group.modern.assignment import Target, partitions_of
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.member import ModernMember
from kafpy.coordinator.group.topics import KnownTopics
from kafpy.protocol.api import CONSUMER_GROUP_DESCRIBE
from kafpy.protocol.errors import ErrorCode

CLASSIC, MODERN = 0, 1


def described(group: ModernGroup, topics: KnownTopics, assignor: str) -> Any:
    return CONSUMER_GROUP_DESCRIBE.response.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor,
        members=[_member(group, member, topics) for member in group.members.values()],
    )


def not_described(group_id: str, why: str) -> Any:
    return CONSUMER_GROUP_DESCRIBE.response.DescribedGroup(
        group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=why
    )


def _member(group: ModernGroup, member: ModernMember, topics: KnownTopics) -> Any:
    return CONSUMER_GROUP_DESCRIBE.response.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(partitions_of(member.assigned), topics),
        target_assignment=_assignment(group.target_of(member.member_id), topics),
        member_type=MODERN if member.classic is None else CLASSIC,
    )


def _assignment(target: Target, topics: KnownTopics) -> Any:
    """Topics that are gone have no name to be shown by."""
    response = CONSUMER_GROUP_DESCRIBE.response
    named = sorted((topics.name(topic_id) or "", topic_id) for topic_id in target)
    return response.Assignment(
        topic_partitions=[
            response.TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(target[topic_id]))
            for name, topic_id in named
            if name
        ]
    )
