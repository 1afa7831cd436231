"""JoinGroup to a classic group (GroupMetadataManager.classicGroupJoin…).

A new dynamic member is first given an id and asked to come again with it, since version 4 (KIP-394). Static members
keep their place across restarts (KIP-345): the newest to come with an instance id has it, and in a Stable group whose
protocol stays the same nobody else notices; its leader is told to skip the assignment since version 9 (KIP-814).
"""

from typing import Any

from kafpy.coordinator.group import replies
from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.member import Member
from kafpy.coordinator.group.rebalance import Rebalance, session_timer
from kafpy.coordinator.group.state import State
from kafpy.coordinator.result import Result, Ticket, Timer
from kafpy.protocol.errors import ErrorCode

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""A new member does not know its id and cannot send heartbeats: it has this long until its first answer."""
MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9


class Join:
    """One JoinGroup request; `result` gathers what comes of it."""

    def __init__(self, ticket: Ticket, body: Any, caller: Caller, now_ms: int, fresh_id: str) -> None:
        self.ticket = ticket
        self.group_id: str = body.group_id
        self.member_id: str = body.member_id
        self.instance_id: str | None = body.group_instance_id
        self.protocol_type: str = body.protocol_type
        self.protocols = [(each.name, each.metadata) for each in body.protocols]
        self.session_timeout_ms: int = body.session_timeout_ms
        timeout = body.session_timeout_ms if caller.api_version == 0 else body.rebalance_timeout_ms
        self.rebalance_timeout_ms = max(timeout, 0)
        self.caller = caller
        self.now_ms = now_ms
        self.fresh_id = fresh_id
        self.new_id = f"{caller.client_id if self.instance_id is None else self.instance_id}-{fresh_id}"
        self.result = Result()

    def answer(self, response: Any) -> None:
        self.result.replies.append((self.ticket, response))

    def refuse(self, error: ErrorCode) -> None:
        self.answer(replies.join_error(error, self.member_id))


class Joins:
    def __init__(self, config: GroupConfig, rebalance: Rebalance) -> None:
        self._config = config
        self._rebalance = rebalance

    def check(self, join: Join) -> ErrorCode:
        """What is wrong with the request whatever the group."""
        if not join.group_id:
            return ErrorCode.INVALID_GROUP_ID
        config = self._config
        if not config.group_min_session_timeout_ms <= join.session_timeout_ms <= config.group_max_session_timeout_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if sum(len(name) + len(metadata) for name, metadata in join.protocols) > config.message_max_bytes:
            return ErrorCode.INVALID_REQUEST  # the group could never be stored
        return ErrorCode.NONE

    def join(self, group: ClassicGroup, join: Join) -> bool:
        """Whether the group has got a member, or an id that it waits for."""
        if not self._accepts(group, join.member_id):
            member = group.members.get(join.member_id)
            if member is not None:
                self._rebalance.remove(group, member, "the group was full", join.result, join.now_ms)
            group.pending_join.discard(join.member_id)
            join.answer(replies.join_error(ErrorCode.GROUP_MAX_SIZE_REACHED))
            self._rebalance.complete_if_joined(group, join.result, join.now_ms)
            return False
        if not group.supports(join.protocol_type, {name for name, _ in join.protocols}):
            join.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            return False
        if join.member_id:
            self._join_known(group, join)
        elif join.instance_id is not None:
            self._join_static(group, join)
        elif join.caller.api_version >= MEMBER_ID_REQUIRED_SINCE:
            group.pending_join.add(join.new_id)
            join.result.timers.append(Timer(("session", group.group_id, join.new_id), join.session_timeout_ms))
            join.answer(replies.join_error(ErrorCode.MEMBER_ID_REQUIRED, join.new_id))
        else:
            self._add(group, join, join.new_id)
        return True

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        member = group.members.get(member_id)
        if group.state is State.EMPTY:
            return True
        if group.state is State.PREPARING_REBALANCE:
            # By those that wait: the group may be too large since the limit was lowered, and the last to rejoin go
            waits = member is not None and member.awaiting_join is not None
            return waits or group.waiting < self._config.group_max_size
        return member is not None or len(group.members) < self._config.group_max_size

    def _add(self, group: ClassicGroup, join: Join, member_id: str) -> None:
        member = Member(
            member_id,
            join.instance_id,
            join.caller.client_id,
            join.caller.client_host,
            join.rebalance_timeout_ms,
            join.session_timeout_ms,
            join.protocols,
            is_new=True,
        )
        if group.initial_delay is not None:
            group.new_member_added = True
        group.add(member, join.protocol_type)
        group.await_join(member, join.ticket)
        join.result.timers.append(Timer(("session", group.group_id, member_id), NEW_MEMBER_JOIN_TIMEOUT_MS))
        self._rebalance.prepare_or_complete(group, join.result, join.now_ms)

    def _update(self, group: ClassicGroup, member: Member, join: Join) -> None:
        group.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        replaced = group.await_join(member, join.ticket)
        if replaced is not None:  # the client gave up on that one
            join.result.replies.append(
                (replaced, replies.join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
            )

    def _join_known(self, group: ClassicGroup, join: Join) -> None:
        if join.member_id in group.pending_join and join.instance_id is None:
            self._add(group, join, join.member_id)
            return
        error = group.check_member(join.member_id, join.instance_id)
        if error is not ErrorCode.NONE:
            join.refuse(error)
            return
        member = group.members[join.member_id]
        same = member.protocols == join.protocols
        if (group.state is State.COMPLETING_REBALANCE and same) or (
            group.state is State.STABLE and same and group.leader != member.member_id
        ):
            join.answer(replies.joined(group, member))  # it missed the answer, and can go on to sync
        else:
            # A Stable group's leader comes when something else has changed that its assignment depends on
            self._update(group, member, join)
            self._rebalance.prepare_or_complete(group, join.result, join.now_ms)

    def _join_static(self, group: ClassicGroup, join: Join) -> None:
        old_id = group.static_members.get(join.instance_id or "")
        if old_id is None:
            self._add(group, join, join.new_id)
            return
        previous_leader = group.leader
        member = self._replace(group, old_id, join)
        if group.state is State.STABLE and group.protocol == group.select_protocol():
            self._resume(group, member, previous_leader, join)
        else:
            group.await_join(member, join.ticket)
            if group.state is State.PREPARING_REBALANCE:
                self._rebalance.complete_if_joined(group, join.result, join.now_ms)
            else:
                # What was sent to the leader, or assigned, has the old id in it
                self._rebalance.prepare(group, join.result, join.now_ms)

    def _replace(self, group: ClassicGroup, old_id: str, join: Join) -> Member:
        old, member = group.replace_static(old_id, join.new_id)
        fenced = ErrorCode.FENCED_INSTANCE_ID
        if old.awaiting_join is not None:
            join.result.replies.append((old.awaiting_join, replies.join_error(fenced, old_id)))
        if old.awaiting_sync is not None:
            join.result.replies.append((old.awaiting_sync, replies.sync_error(fenced)))
        reason = "fenced by another member with its instance id"
        self._rebalance.note_departure(group, old, reason, join.result, join.now_ms)
        group.update(member, join.protocols, join.rebalance_timeout_ms, join.session_timeout_ms)
        join.result.timers += (Timer(("session", group.group_id, old_id), None), session_timer(group, member))
        return member

    def _resume(self, group: ClassicGroup, member: Member, previous_leader: str | None, join: Join) -> None:
        """In the generation of the one before it, without a rebalance."""
        assignments = {each.member_id: each.assignment for each in group.members.values()}
        join.result.records.append(group.record(assignments, group.current_state_timestamp))
        response = replies.joined(group, member, skip_assignment=group.leader == member.member_id)
        if join.caller.api_version < SKIP_ASSIGNMENT_SINCE:
            # Under its old id the leader is somebody else: a client that cannot skip must not assign again
            response.leader, response.members, response.skip_assignment = previous_leader or "", [], False
        join.answer(response)
