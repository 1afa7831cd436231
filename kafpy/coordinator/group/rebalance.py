"""The way of a classic group from one generation to the next (GroupMetadataManager's prepareRebalance and
completeClassicGroupJoin), and members that leave on it.

The first rebalance of an empty group waits `group.initial.rebalance.delay.ms` for more members, and as long again for
every delay in which one came, up to the longest rebalance time-out (KIP-134).
"""

from kafpy.coordinator.group import replies
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.departures import Departure, Departures
from kafpy.coordinator.group.member import Member
from kafpy.coordinator.group.state import ENTERED_FROM, State
from kafpy.coordinator.result import Result, Timer
from kafpy.protocol.errors import ErrorCode


def session_timer(group: ClassicGroup, member: Member) -> Timer:
    return Timer(("session", group.group_id, member.member_id), member.session_timeout_ms)


class Rebalance:
    def __init__(self, config: GroupConfig, departures: Departures) -> None:
        self._config = config
        self._departures = departures

    def prepare_or_complete(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        if group.state in ENTERED_FROM[State.PREPARING_REBALANCE]:
            self.prepare(group, result, now_ms)
        else:
            self.complete_if_joined(group, result, now_ms)

    def prepare(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        if group.state is State.COMPLETING_REBALANCE:
            self.fail_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, result)
        group.pending_sync.clear()
        result.timers.append(Timer(("sync", group.group_id), None))
        if group.state is State.EMPTY:
            delay = self._config.group_initial_rebalance_delay_ms
            group.initial_delay = delay, max(group.rebalance_timeout_ms - delay, 0)
            group.new_member_added = False
            result.timers.append(Timer(("join", group.group_id), delay))
            group.transition(State.PREPARING_REBALANCE)
            return
        group.transition(State.PREPARING_REBALANCE)
        if group.all_joined:
            self.complete(group, result, now_ms)
        else:
            result.timers.append(Timer(("join", group.group_id), group.rebalance_timeout_ms))

    def complete_if_joined(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        """Unless it is a first rebalance, which waits for its delay."""
        if group.state is State.PREPARING_REBALANCE and group.initial_delay is None and group.all_joined:
            self.complete(group, result, now_ms)

    def join_expired(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        if group.state is not State.PREPARING_REBALANCE:
            return
        if group.initial_delay is not None:
            delay, remaining = group.initial_delay
            if group.new_member_added and remaining:
                group.new_member_added = False
                longer = min(self._config.group_initial_rebalance_delay_ms, remaining)
                group.initial_delay = longer, max(remaining - delay, 0)
                result.timers.append(Timer(("join", group.group_id), longer))
                return
        self.complete(group, result, now_ms)

    def complete(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        """Who has not rejoined is out, but for static members, which may come back; the others begin a generation."""
        group.initial_delay = None
        result.timers.append(Timer(("join", group.group_id), None))
        missing = [each for each in group.members.values() if each.awaiting_join is None and not each.is_static]
        for member in missing:
            self.remove(group, member, "did not rejoin in time for a rebalance", result, now_ms)
        if not group.members:
            result.records.append(group.emptied(now_ms))
            result.notes.append(f"group {group.group_id}: empty")
        elif not group.elect_joined_leader():
            result.timers.append(Timer(("join", group.group_id), group.rebalance_timeout_ms))
        else:
            group.next_generation()
            members, generation = len(group.members), group.generation
            result.notes.append(f"group {group.group_id}: generation {generation} begins, members: {members}")
            for member in group.members.values():
                ticket = group.take_join(member)
                if ticket is not None:
                    result.replies.append((ticket, replies.joined(group, member)))
                result.timers.append(session_timer(group, member))
                member.is_new = False
            result.timers.append(Timer(("sync", group.group_id), group.rebalance_timeout_ms))

    def sync_expired(self, group: ClassicGroup, result: Result, now_ms: int) -> None:
        if group.state not in (State.COMPLETING_REBALANCE, State.STABLE) or not group.pending_sync:
            return
        for member_id in sorted(group.pending_sync):
            self.remove(group, group.members[member_id], "did not sync in time", result, now_ms)
        self.prepare(group, result, now_ms)

    def fail_syncs(self, group: ClassicGroup, error: ErrorCode, result: Result) -> None:
        for member in group.members.values():
            if member.awaiting_sync is not None:
                result.replies.append((member.awaiting_sync, replies.sync_error(error)))
                member.awaiting_sync = None
                result.timers.append(session_timer(group, member))

    def remove(self, group: ClassicGroup, member: Member, reason: str, result: Result, now_ms: int) -> None:
        """A member that still waits is told that it is not known, so that it joins again if it is alive."""
        join = group.take_join(member)
        if join is not None:
            result.replies.append((join, replies.join_error(ErrorCode.UNKNOWN_MEMBER_ID)))
        if member.awaiting_sync is not None:
            result.replies.append((member.awaiting_sync, replies.sync_error(ErrorCode.UNKNOWN_MEMBER_ID)))
            member.awaiting_sync = None
        group.remove(member.member_id)
        result.timers.append(Timer(("session", group.group_id, member.member_id), None))
        self.note_departure(group, member, reason, result, now_ms)

    def note_departure(self, group: ClassicGroup, member: Member, reason: str, result: Result, now_ms: int) -> None:
        departure = Departure(
            member.member_id, member.group_instance_id, member.client_id, member.client_host, reason, now_ms
        )
        self._departures.add(group.group_id, departure)
        result.notes.append(departure.note(group.group_id))
