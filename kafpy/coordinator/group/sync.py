"""SyncGroup, Heartbeat and LeaveGroup to a classic group, and sessions that end (Kafka's GroupMetadataManager)."""

from typing import Any

from kafpy.coordinator.group import replies
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.rebalance import Rebalance, session_timer
from kafpy.coordinator.group.state import State
from kafpy.coordinator.result import Result, Ticket, Timer
from kafpy.protocol.errors import ErrorCode

RECORD_OVERHEAD = 128


class Sync:
    def __init__(self, config: GroupConfig, rebalance: Rebalance) -> None:
        self._config = config
        self._rebalance = rebalance

    def sync(self, group: ClassicGroup, ticket: Ticket, body: Any, result: Result, now_ms: int) -> None:
        error = self._check(group, body)
        if error is not ErrorCode.NONE:
            result.replies.append((ticket, replies.sync_error(error)))
            return
        member = group.members[body.member_id]
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            result.timers.append(Timer(("sync", group.group_id), None))
        if group.state is State.STABLE:
            result.replies.append((ticket, replies.synced(group, member.assignment)))
            return
        if member.awaiting_sync is not None:  # the client gave up on that one
            result.replies.append((member.awaiting_sync, replies.sync_error(ErrorCode.REBALANCE_IN_PROGRESS)))
        member.awaiting_sync = ticket
        if group.leader == member.member_id:
            self._assign(group, {each.member_id: each.assignment for each in body.assignments}, result, now_ms)

    @staticmethod
    def _check(group: ClassicGroup, body: Any) -> ErrorCode:
        if group.state is State.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.check_member(body.member_id, body.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if body.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if body.protocol_type not in (None, group.protocol_type) or body.protocol_name not in (None, group.protocol):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is State.PREPARING_REBALANCE else ErrorCode.NONE

    def _assign(self, group: ClassicGroup, assignments: dict[str, bytes], result: Result, now_ms: int) -> None:
        """Stores the leader's word; the replay makes the group Stable. Strangers in it are passed over."""
        record = group.record(assignments, now_ms)
        if len(record.key) + len(record.value or b"") + RECORD_OVERHEAD > self._config.message_max_bytes:
            self._rebalance.fail_syncs(group, ErrorCode.UNKNOWN_SERVER_ERROR, result)
            self._rebalance.prepare(group, result, now_ms)
            return
        result.records.append(record)
        for member in group.members.values():
            if member.awaiting_sync is not None:
                assignment = assignments.get(member.member_id, b"")
                result.replies.append((member.awaiting_sync, replies.synced(group, assignment)))
                member.awaiting_sync = None
                result.timers.append(session_timer(group, member))

    def heartbeat(self, group: ClassicGroup, body: Any, result: Result) -> ErrorCode:
        error = group.check_member(body.member_id, body.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if body.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        result.timers.append(session_timer(group, group.members[body.member_id]))
        preparing = group.state is State.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE

    def leave(self, group: ClassicGroup, members: list[Any], result: Result, now_ms: int) -> list[Any]:
        """Members by id, or by instance id alone (an administrator's way); an answer for each."""
        answers = [self._leave(group, each, result, now_ms) for each in members]
        if any(each.error_code == ErrorCode.NONE for each in answers) and group.state is not State.EMPTY:
            if group.state is State.PREPARING_REBALANCE:
                self._rebalance.complete_if_joined(group, result, now_ms)
            else:
                self._rebalance.prepare_or_complete(group, result, now_ms)
        return answers

    def _leave(self, group: ClassicGroup, each: Any, result: Result, now_ms: int) -> Any:
        member_id, instance_id = each.member_id, each.group_instance_id
        error = ErrorCode.NONE
        if not member_id:
            found = group.static_members.get(instance_id) if instance_id is not None else None
            error = ErrorCode.UNKNOWN_MEMBER_ID if found is None else ErrorCode.NONE
            target = found or ""
        elif member_id in group.pending_join:
            group.pending_join.discard(member_id)
            result.timers.append(Timer(("session", group.group_id, member_id), None))
            return replies.left(member_id, instance_id, ErrorCode.NONE)
        else:
            error = group.check_member(member_id, instance_id)
            target = member_id
        if error is ErrorCode.NONE:
            reason = f"left: {each.reason}" if each.reason else "left"
            self._rebalance.remove(group, group.members[target], reason, result, now_ms)
        return replies.left(member_id, instance_id, error)

    def session_expired(self, group: ClassicGroup, member_id: str, result: Result, now_ms: int) -> None:
        if member_id in group.pending_join:
            group.pending_join.discard(member_id)
        else:
            member = group.members.get(member_id)
            if member is None or member.is_waiting:
                return
            if member.beat is not None and member.beat.idle_ms < member.session_timeout_ms:
                left_ms = member.session_timeout_ms - member.beat.idle_ms
                result.timers.append(Timer(("session", group.group_id, member_id), left_ms))
                return
            self._rebalance.remove(group, member, "its session timed out", result, now_ms)
            if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
                self._rebalance.prepare(group, result, now_ms)
                return
        if group.state is State.PREPARING_REBALANCE and group.all_joined:
            self._rebalance.complete(group, result, now_ms)
