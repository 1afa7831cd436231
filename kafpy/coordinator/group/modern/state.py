"""The states of a modern group and of its members, and what leads from one to another.

A group's state is not stored; it follows from its epochs and members (Kafka's ConsumerGroup.maybeUpdateGroupState):

    Empty        nobody is in it
    Assigning    the group's epoch is ahead of its assignment's: the next heartbeat makes new targets
    Reconciling  a member has not come to its target yet
    Stable       everybody has what the assignment gives them

A member's is stored with its assignment (Kafka's MemberState). It gives up before it gets: only without partitions to
revoke does it go to the epoch of its target, and a partition that somebody else still has is waited for.
"""

from enum import Enum, IntEnum


class GroupState(Enum):
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class MemberState(IntEnum):
    """The numbers are those of the records."""

    STABLE = 0
    """At its epoch it has all of its target."""
    UNREVOKED_PARTITIONS = 1
    """It stays at its epoch until it has given up what is not in its target any more."""
    UNRELEASED_PARTITIONS = 2
    """It is at the epoch of its target, a part of which others have not given up."""
    UNKNOWN = 127
    """Of a version to come; such a member has to begin again."""

    @classmethod
    def _missing_(cls, value: object) -> "MemberState":
        return cls.UNKNOWN


GROUP_TRANSITIONS: dict[tuple[GroupState, GroupState], str] = {
    (GroupState.EMPTY, GroupState.STABLE): "first member joins",
    (GroupState.EMPTY, GroupState.RECONCILING): "classic group is converted",
    (GroupState.STABLE, GroupState.RECONCILING): "join, subscription or topics change",
    (GroupState.STABLE, GroupState.ASSIGNING): "member leaves or is fenced",
    (GroupState.STABLE, GroupState.EMPTY): "last member leaves",
    (GroupState.ASSIGNING, GroupState.RECONCILING): "heartbeat makes new targets",
    (GroupState.ASSIGNING, GroupState.STABLE): "heartbeat makes new targets, and they are reached",
    (GroupState.ASSIGNING, GroupState.EMPTY): "last member leaves",
    (GroupState.RECONCILING, GroupState.STABLE): "last member reaches its target",
    (GroupState.RECONCILING, GroupState.ASSIGNING): "member leaves or is fenced",
    (GroupState.RECONCILING, GroupState.EMPTY): "last member leaves",
}

MEMBER_TRANSITIONS: dict[tuple[MemberState, MemberState], str] = {
    (MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS): "target without some of its partitions",
    (MemberState.STABLE, MemberState.UNRELEASED_PARTITIONS): "target with partitions of others",
    (MemberState.UNREVOKED_PARTITIONS, MemberState.STABLE): "revoked, all of the target is free",
    (MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS): "revoked, others have some of the target",
    (MemberState.UNRELEASED_PARTITIONS, MemberState.STABLE): "others gave up the rest",
    (MemberState.UNRELEASED_PARTITIONS, MemberState.UNREVOKED_PARTITIONS): "target without some of its partitions",
    (MemberState.UNKNOWN, MemberState.STABLE): "begins again, all of the target is free",
    (MemberState.UNKNOWN, MemberState.UNRELEASED_PARTITIONS): "begins again, others have some of the target",
}
