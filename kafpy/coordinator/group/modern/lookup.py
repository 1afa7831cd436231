"""Who a request to a modern group is from, and whether it may be (GroupMetadataManager's throwIf…)."""

from dataclasses import replace

from kafpy.coordinator.group.modern.assignment import Owned, is_within
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.member import RELEASED, ModernMember
from kafpy.coordinator.group.modern.refused import Refused
from kafpy.protocol.errors import ErrorCode


def known(group: ModernGroup, member_id: str, instance_id: str | None) -> ModernMember:
    if instance_id is not None:
        return static(group, member_id, instance_id)
    member = group.members.get(member_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def static(group: ModernGroup, member_id: str, instance_id: str) -> ModernMember:
    holder = with_instance(group, instance_id)
    if holder.member_id != member_id:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder.member_id}.",
        )
    return holder


def with_instance(group: ModernGroup, instance_id: str) -> ModernMember:
    member = group.members.get(group.static_members.get(instance_id, ""))
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    return member


def check_epoch(member: ModernMember, epoch: int, owned: Owned | None) -> None:
    """The epoch before is fine while its answer may be lost: when the member claims nothing that is not its own."""
    if epoch in (0, member.epoch):
        return
    word = "greater"
    if epoch < member.epoch:
        if epoch == member.previous_epoch and owned is not None and is_within(owned, member.assigned):
            return
        word = "smaller"
    raise Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def check_room(group: ModernGroup, member_id: str, limit: int) -> None:
    if len(group.members) >= limit and member_id not in group.members:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {limit} members.",
        )


def check_released(holder: ModernMember, member_id: str, instance_id: str) -> None:
    if holder.epoch != RELEASED:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
            f"is owned by {holder.member_id} member.",
        )


def replace_static(draft: Draft, holder: ModernMember, member_id: str) -> ModernMember:
    """Everything the one before had, its target too, under another id; it begins at epoch 0."""
    target = draft.group.target_of(holder.member_id)
    member = replace(holder, member_id=member_id, epoch=0, previous_epoch=0)
    draft.remove(holder.member_id)
    draft.metadata(member)
    draft.target(member_id, target)
    draft.assignment(member)
    return draft.group.members[member_id]
