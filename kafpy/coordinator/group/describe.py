"""ListGroups and DescribeGroups."""

from typing import Any

from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.state import State
from kafpy.protocol.api import DESCRIBE_GROUPS, LIST_GROUPS
from kafpy.protocol.errors import ErrorCode

ERROR_SINCE = 6


def listed(group: ClassicGroup | ModernGroup) -> Any:
    return LIST_GROUPS.response.Group(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=group.type,
    )


def described(group: ClassicGroup) -> Any:
    """What members offer is shown only while they agree on it."""
    stable = group.state is State.STABLE
    response = DESCRIBE_GROUPS.response
    members = [
        response.Member(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata(group.protocol or "") if stable else b"",
            member_assignment=member.assignment,
        )
        for member in group.members.values()
    ]
    return response.Group(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if stable else "",
        members=members,
    )


def not_described(group_id: str, why: str, api_version: int) -> Any:
    """A group that is not there is Dead; an error too since version 6 (KIP-1043)."""
    response = DESCRIBE_GROUPS.response.Group(group_id=group_id, group_state=State.DEAD.value)
    if api_version >= ERROR_SINCE:
        response.error_code, response.error_message = ErrorCode.GROUP_ID_NOT_FOUND, why
    return response
