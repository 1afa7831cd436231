"""What is wrong with a ConsumerGroupHeartbeat whatever the group (GroupCoordinatorService's checks, in its order)."""

from collections.abc import Iterable
from typing import Any

from kafpy.coordinator.group.modern.member import LEFT, RELEASED
from kafpy.coordinator.group.modern.refused import Refused
from kafpy.protocol.errors import ErrorCode

MEMBER_MAKES_ITS_ID_SINCE = 1


def check(body: Any, api_version: int, assignors: Iterable[str]) -> None:
    epoch = body.member_epoch
    if api_version >= MEMBER_MAKES_ITS_ID_SINCE or epoch > 0 or epoch == LEFT:
        _not_empty(body.member_id, "MemberId")
    _not_empty(body.group_id, "GroupId")
    _not_empty(body.instance_id, "InstanceId")
    _not_empty(body.rack_id, "RackId")
    if epoch == 0:
        _check_join(body)
    elif epoch == RELEASED:
        if body.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif epoch < RELEASED:
        raise _invalid("MemberEpoch is invalid.")
    if body.server_assignor is not None and body.server_assignor not in assignors:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {body.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def _check_join(body: Any) -> None:
    if body.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if body.topic_partitions is None or body.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if body.subscribed_topic_names is None and body.subscribed_topic_regex is None:
        raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _not_empty(value: str | None, name: str) -> None:
    if value is not None and not value.strip():
        raise _invalid(f"{name} can't be empty.")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
