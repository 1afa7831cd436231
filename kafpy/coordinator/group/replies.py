"""The answers that members of a classic group get."""

from typing import Any

from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.member import Member
from kafpy.protocol.api import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from kafpy.protocol.errors import ErrorCode


def join_error(error: ErrorCode, member_id: str = "") -> Any:
    return JOIN_GROUP.response(error_code=error, member_id=member_id)


def joined(group: ClassicGroup, member: Member, *, skip_assignment: bool = False) -> Any:
    """The generation as it stands; the leader is told of everybody."""
    members = []
    if group.leader == member.member_id:
        members = [
            JOIN_GROUP.response.Member(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                metadata=each.metadata(group.protocol or ""),
            )
            for each in group.members.values()
        ]
    return JOIN_GROUP.response(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol or "",
        leader=group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=members,
    )


def sync_error(error: ErrorCode) -> Any:
    return SYNC_GROUP.response(error_code=error)


def synced(group: ClassicGroup, assignment: bytes) -> Any:
    return SYNC_GROUP.response(protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment)


def heartbeat(error: ErrorCode) -> Any:
    return HEARTBEAT.response(error_code=error)


def left(member_id: str, instance_id: str | None, error: ErrorCode) -> Any:
    return LEAVE_GROUP.response.Member(member_id=member_id, group_instance_id=instance_id, error_code=error)
