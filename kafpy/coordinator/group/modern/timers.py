"""The deadlines of a modern group's members.

session     no sign of life came
rebalance   a member had its time to give up partitions
join, sync  a classic member had its time to rejoin, or to ask for its assignment
"""

from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.member import ModernMember
from kafpy.coordinator.group.modern.state import MemberState
from kafpy.coordinator.result import Timer

KINDS = ("session", "rebalance", "join", "sync")


def session(group_id: str, member: ModernMember, config: GroupConfig) -> Timer:
    after = config.group_consumer_session_timeout_ms if member.classic is None else member.classic.session_timeout_ms
    return Timer(("session", group_id, member.member_id), after)


def rebalance(group_id: str, member: ModernMember) -> Timer:
    """Classic members have the other two instead."""
    waits = member.classic is None and member.state is MemberState.UNREVOKED_PARTITIONS
    return Timer(("rebalance", group_id, member.member_id), max(member.rebalance_timeout_ms, 0) if waits else None)


def of_classic(kind: str, group_id: str, member: ModernMember) -> Timer:
    return Timer((kind, group_id, member.member_id), max(member.rebalance_timeout_ms, 0))


def cancel(kind: str, group_id: str, member_id: str) -> Timer:
    return Timer((kind, group_id, member_id), None)


def cancel_all(group_id: str, member_id: str) -> list[Timer]:
    return [cancel(kind, group_id, member_id) for kind in KINDS]


def loaded(group: ModernGroup, config: GroupConfig) -> list[Timer]:
    timers = [session(group.group_id, member, config) for member in group.members.values()]
    revoking = (each for each in group.members.values() if each.state is MemberState.UNREVOKED_PARTITIONS)
    return timers + [rebalance(group.group_id, member) for member in revoking if member.epoch >= 0]
