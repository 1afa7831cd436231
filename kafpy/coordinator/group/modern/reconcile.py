"""One step of a member from what it has to its target (Kafka's CurrentAssignmentBuilder).

What it shall not have any more it has to give up first, at the epoch it is at. Then it goes to the epoch of the target
and gets what is free; what others still have it waits for. So no partition ever has two owners.
"""

from collections.abc import Container
from dataclasses import dataclass, replace

from kafpy.coordinator.group.modern.assignment import NOTHING, Held, Owned, Target, at_epoch, merged, overlaps
from kafpy.coordinator.group.modern.member import ModernMember
from kafpy.coordinator.group.modern.refused import Refused
from kafpy.coordinator.group.modern.state import MemberState
from kafpy.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Goal:
    epoch: int
    target: Target
    subscribed: frozenset[bytes]
    """Ids of the topics it wants: what it does not want any more it gives up before any new target says so."""
    owners: Container[tuple[bytes, int]]
    """Partitions that somebody has, the member among them."""


def reconciled(member: ModernMember, goal: Goal, owned: Owned | None, subscription_changed: bool) -> ModernMember:
    """`owned` is what the member says it has; None: it does not say."""
    if member.state is MemberState.STABLE:
        if member.epoch != goal.epoch:
            return _next(member, goal, owned)
        return _narrowed(member, goal, owned) if subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _still_has(owned, member.revoking):
            return _narrowed(member, goal, owned) if subscription_changed else member
        return _next(member, goal, owned)
    if member.state is MemberState.UNKNOWN:
        if owned is None or any(owned.values()):
            raise Refused(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. The member must abandon all its partitions and "
                "rejoin.",
            )
        member = replace(member, epoch=goal.epoch)
    return _next(member, goal, owned)


def _still_has(owned: Owned | None, revoking: Held) -> bool:
    return owned is None or overlaps(owned, revoking)


def _next(member: ModernMember, goal: Goal, owned: Owned | None) -> ModernMember:
    kept: dict[bytes, dict[int, int]] = {}
    surplus: dict[bytes, dict[int, int]] = {}
    free: dict[bytes, frozenset[int]] = {}
    unreleased = False
    for topic_id in {**goal.target, **member.assigned}:
        target = goal.target.get(topic_id, frozenset()) if topic_id in goal.subscribed else frozenset()
        has = member.assigned.get(topic_id, {})
        keeps = {each: epoch for each, epoch in has.items() if each in target}
        gives = {each: epoch for each, epoch in has.items() if each not in target}
        wants = target - has.keys()
        own = member.revoking.get(topic_id, {})
        gets = frozenset(each for each in wants if each in own or (topic_id, each) not in goal.owners)
        unreleased |= len(gets) < len(wants)
        if keeps:
            kept[topic_id] = keeps
        if gives:
            surplus[topic_id] = gives
        if gets:
            free[topic_id] = gets
    if surplus and _still_has(owned, surplus):
        return replace(member.at(member.epoch), state=MemberState.UNREVOKED_PARTITIONS, assigned=kept, revoking=surplus)
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    assigned = merged(kept, at_epoch(free, goal.epoch)) if free else kept
    return replace(member.at(goal.epoch), state=state, assigned=assigned, revoking=NOTHING)


def _narrowed(member: ModernMember, goal: Goal, owned: Owned | None) -> ModernMember:
    """Without the topics it does not want any more, but not a step further."""
    kept = {topic_id: has for topic_id, has in member.assigned.items() if topic_id in goal.subscribed}
    if len(kept) == len(member.assigned):
        return member
    dropped = {topic_id: has for topic_id, has in member.assigned.items() if topic_id not in goal.subscribed}
    revoking = merged(member.revoking, dropped)
    if _still_has(owned, revoking):
        unrevoked = MemberState.UNREVOKED_PARTITIONS
        return replace(member.at(member.epoch), state=unrevoked, assigned=kept, revoking=revoking)
    return replace(member.at(member.epoch), assigned=kept)
