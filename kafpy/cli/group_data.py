"""What `kafpy group list` and `describe` say to programs."""

from collections.abc import Sequence
from typing import Any

from kafpy.cli.group_tables import Row
from kafpy.client.cluster import TopicPartition
from kafpy.client.groups import Description, Listed, Member


def listed(groups: Sequence[Listed]) -> list[dict[str, str]]:
    return [{"group": each.group_id, "type": each.type, "state": each.state} for each in groups]


def described(group: Description, rows: Sequence[Row]) -> dict[str, Any]:
    """State, members with what they have, and the offsets of partitions that are assigned or committed."""
    return {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "coordinator": " ".join(group.coordinator.split()),
        "assignor": group.assignor or None,
        "members": [_member(each) for each in group.members],
        "offsets": [_offset(each) for each in rows if each.topic is not None],
        "notes": group.notes or None,
    }


def _member(member: Member) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "assigned": _partitions(member.assigned),
    }


def _partitions(partitions: Sequence[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": index} for topic, index in partitions]


def _offset(row: Row) -> dict[str, Any]:
    return {
        "topic": row.topic,
        "partition": row.partition,
        "leader_epoch": row.leader_epoch,
        "current_offset": row.offset,
        "log_end_offset": row.end,
        "lag": row.lag,
        "lag_ms": row.lag_ms,
        "member_id": None if row.member is None else row.member.member_id,
    }
