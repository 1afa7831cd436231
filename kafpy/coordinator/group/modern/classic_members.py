"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup of classic members in a modern group.

To them an epoch is a generation. Each of them rebalances alone: a heartbeat tells it to rejoin when the group's epoch
is ahead, when it has to give up partitions, or when what it waited for is free; its JoinGroup is answered at once and
says what it still has, and SyncGroup gives it what it may have by now (GroupMetadataManager.classicGroup…ToConsumer…).
"""

from dataclasses import replace
from typing import Any

from kafpy.coordinator.group import replies
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.consumer_protocol import PROTOCOL_TYPE, Malformed, Subscription
from kafpy.coordinator.group.join import MEMBER_ID_REQUIRED_SINCE, Join
from kafpy.coordinator.group.modern import lookup, timers
from kafpy.coordinator.group.modern.assignment import partitions_of
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.leave import Leave
from kafpy.coordinator.group.modern.member import ClassicFace, ModernMember
from kafpy.coordinator.group.modern.migration import Migration, by_id, subscription_of
from kafpy.coordinator.group.modern.refused import Refused
from kafpy.coordinator.group.modern.state import MemberState
from kafpy.coordinator.group.modern.steps import Leavers, Steps
from kafpy.coordinator.group.rebalance import Rebalance
from kafpy.coordinator.group.topics import KnownTopics
from kafpy.coordinator.result import Result
from kafpy.protocol.api import JOIN_GROUP, SYNC_GROUP
from kafpy.protocol.errors import ErrorCode


class ClassicMembers:
    def __init__(
        self,
        config: GroupConfig,
        topics: KnownTopics,
        steps: Steps,
        leave: Leave,
        migration: Migration,
        rebalance: Rebalance,
    ) -> None:
        self._config = config
        self._topics = topics
        self._steps = steps
        self._leave = leave
        self._migration = migration
        self._rebalance = rebalance

    def join(self, draft: Draft, join: Join) -> ClassicGroup | None:
        """The classic group that this makes of it, if the last modern member was the static one before this."""
        group, now_ms, result = draft.group, join.now_ms, join.result
        member_id = join.member_id or join.fresh_id
        lookup.check_room(group, join.member_id, self._config.group_consumer_max_size)
        subscription = self._subscription(group, join)
        if not join.member_id and join.instance_id is None and join.caller.api_version >= MEMBER_ID_REQUIRED_SINCE:
            join.answer(replies.join_error(ErrorCode.MEMBER_ID_REQUIRED, member_id))
            return None
        before, replaced = self._member(draft, join, member_id)
        downgrade = replaced is not None and self._migration.is_downgrade_by(group, replaced)
        after = _updated(before, join, subscription)
        changed = self._steps.take_in(draft, before, after, now_ms)
        group_id, protocol = group.group_id, join.protocols[0][0]
        if downgrade:
            classic = self._migration.downgraded(draft, result, now_ms)
            join.answer(_joined(member_id, classic.generation, classic.protocol or protocol))
            if changed:
                self._rebalance.prepare(classic, result, now_ms)
            return classic
        owned = by_id(self._topics, subscription.owned)
        after = self._steps.advance(draft, member_id, owned, changed, result, now_ms)
        group.rejoining.discard(member_id)
        result.timers += [
            timers.cancel("join", group_id, member_id),
            timers.session(group_id, after, self._config),
            timers.of_classic("sync", group_id, after),
        ]
        join.answer(_joined(member_id, after.epoch, protocol))
        return None

    @staticmethod
    def _subscription(group: ModernGroup, join: Join) -> Subscription:
        try:
            if group.supports(join.protocol_type, {name for name, _ in join.protocols}):
                return subscription_of(join.protocols)
        except Malformed:
            pass
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The protocols are not supported.")

    def _member(self, draft: Draft, join: Join, member_id: str) -> tuple[ModernMember, ModernMember | None]:
        """And the static member that it takes the place of."""
        group, instance_id = draft.group, join.instance_id
        if instance_id is None:
            return group.members.get(member_id) or ModernMember(member_id), None
        if join.member_id:
            return lookup.static(group, member_id, instance_id), None
        holder = group.members.get(group.static_members.get(instance_id, ""))
        if holder is None:
            return ModernMember(member_id), None
        self._steps.gone(draft, holder, f"its instance id went to {member_id}", join.result, join.now_ms)
        return lookup.replace_static(draft, holder, member_id), holder

    def sync(self, group: ModernGroup, body: Any, result: Result) -> Any:
        member, face = _classic(group, body)
        if body.protocol_type not in (None, PROTOCOL_TYPE) or body.protocol_name not in (None, face.protocol):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "It joined with another protocol.")
        if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._ask_to_rejoin(group, member, result)
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "The group's epoch is ahead.")
        result.timers.append(timers.cancel("sync", group.group_id, member.member_id))
        result.timers.append(timers.session(group.group_id, member, self._config))
        assignment = self._migration.assignment(face.metadata, partitions_of(member.assigned))
        return SYNC_GROUP.response(
            protocol_type=body.protocol_type, protocol_name=body.protocol_name, assignment=assignment
        )

    def heartbeat(self, group: ModernGroup, body: Any, result: Result) -> ErrorCode:
        member, _ = _classic(group, body)
        result.timers.append(timers.session(group.group_id, member, self._config))
        unrevoked = member.state is MemberState.UNREVOKED_PARTITIONS
        released = member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member)
        if member.epoch >= group.epoch and not unrevoked and not released:
            return ErrorCode.NONE
        self._ask_to_rejoin(group, member, result)
        return ErrorCode.REBALANCE_IN_PROGRESS

    @staticmethod
    def _ask_to_rejoin(group: ModernGroup, member: ModernMember, result: Result) -> None:
        if member.member_id not in group.rejoining:
            group.rejoining.add(member.member_id)
            result.timers.append(timers.of_classic("join", group.group_id, member))

    def leave(
        self, draft: Draft, members: list[Any], result: Result, now_ms: int
    ) -> tuple[list[Any], ClassicGroup | None]:
        """An answer for each, and the classic group that is left if only such members are."""
        answers: list[Any] = []
        leavers: Leavers = []
        for each in members:
            error, member_id = ErrorCode.NONE, each.member_id
            try:
                member = self._leaving(draft.group, each)
                member_id = member.member_id
                if all(member_id != other.member_id for other, _ in leavers):
                    leavers.append((member, f"left: {each.reason}" if each.reason else "left"))
            except Refused as refused:
                error = refused.error
            answers.append(replies.left(member_id, each.group_instance_id, error))
        return answers, self._leave.remove(draft, leavers, result, now_ms) if leavers else None

    @staticmethod
    def _leaving(group: ModernGroup, each: Any) -> ModernMember:
        if each.group_instance_id is not None and not each.member_id:
            member = lookup.with_instance(group, each.group_instance_id)
        else:
            member = lookup.known(group, each.member_id, each.group_instance_id)
        _face(member)
        return member


def _classic(group: ModernGroup, body: Any) -> tuple[ModernMember, ClassicFace]:
    member = lookup.known(group, body.member_id, body.group_instance_id)
    face = _face(member)
    if body.generation_id != member.epoch:
        raise Refused(ErrorCode.ILLEGAL_GENERATION, "The generation is not the member's epoch.")
    return member, face


def _face(member: ModernMember) -> ClassicFace:
    if member.classic is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol.")
    return member.classic


def _updated(member: ModernMember, join: Join, subscription: Subscription) -> ModernMember:
    return replace(
        member,
        instance_id=join.instance_id if join.instance_id is not None else member.instance_id,
        rack_id=subscription.rack if subscription.rack is not None else member.rack_id,
        rebalance_timeout_ms=join.rebalance_timeout_ms,
        topics=subscription.topics,
        regex="",
        client_id=join.caller.client_id,
        client_host=join.caller.client_host,
        classic=ClassicFace(join.session_timeout_ms, tuple(join.protocols)),
    )


def _joined(member_id: str, generation: int, protocol: str) -> Any:
    return JOIN_GROUP.response(
        member_id=member_id, generation_id=generation, protocol_type=PROTOCOL_TYPE, protocol_name=protocol
    )
