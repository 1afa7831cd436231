"""The modern groups among the groups of a shard: requests, timers and topics that come to them.

Groups of both kinds are in the same dict, which is the shard's, and get there by replay. A modern group that is to be
a classic one waits in `converted` for the record of the new one to be replayed: what is soft of it, as requests that
wait for a rebalance, is not in the log.
"""

from collections.abc import Mapping
from typing import Any

from kafpy.coordinator.group import replies
from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.departures import Departures
from kafpy.coordinator.group.join import Join
from kafpy.coordinator.group.modern import describe, timers
from kafpy.coordinator.group.modern.check import check
from kafpy.coordinator.group.modern.classic_members import ClassicMembers
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.heartbeat import Heartbeats
from kafpy.coordinator.group.modern.leave import Leave
from kafpy.coordinator.group.modern.migration import Migration
from kafpy.coordinator.group.modern.refused import Refused
from kafpy.coordinator.group.modern.sizes import fit
from kafpy.coordinator.group.modern.state import MemberState
from kafpy.coordinator.group.modern.steps import Steps
from kafpy.coordinator.group.modern.targets import Targets
from kafpy.coordinator.group.rebalance import Rebalance
from kafpy.coordinator.group.records import GROUP_METADATA
from kafpy.coordinator.group.state import State
from kafpy.coordinator.group.topics import EMPTY, Image, KnownTopics
from kafpy.coordinator.result import Record, Result, Ticket
from kafpy.protocol.api import CONSUMER_GROUP_HEARTBEAT
from kafpy.protocol.errors import ErrorCode

Groups = dict[str, ClassicGroup | ModernGroup]


class ModernGroups:
    def __init__(
        self, config: GroupConfig, groups: Groups, topics: KnownTopics, departures: Departures, rebalance: Rebalance
    ) -> None:
        self._config = config
        self._groups = groups
        self.converted: dict[str, ClassicGroup] = {}
        self._topics = topics
        self._departures = departures
        self._targets = Targets(config, topics)
        self._migration = Migration(config, topics)
        self._steps = Steps(topics, self._targets)
        self._leave = Leave(config, self._steps, self._migration, rebalance)
        self._heartbeats = Heartbeats(config, self._steps)
        self._classic_members = ClassicMembers(config, topics, self._steps, self._leave, self._migration, rebalance)

    def heartbeat(self, ticket: Ticket, body: Any, caller: Caller, now_ms: int, fresh_id: str) -> Result:
        try:
            check(body, caller.api_version, self._targets.names)
            result, response, draft, classic = self._heartbeat(body, caller, now_ms, fresh_id)
            self._close(draft, classic, result)
        except Refused as refused:
            result = Result()
            response = CONSUMER_GROUP_HEARTBEAT.response(error_code=refused.error, error_message=refused.message)
        result.replies.append((ticket, response))
        return result

    def _heartbeat(
        self, body: Any, caller: Caller, now_ms: int, fresh_id: str
    ) -> tuple[Result, Any, Draft, ClassicGroup | None]:
        result = Result()
        if body.member_epoch < 0:
            draft = Draft(self.find(body.group_id), result.records)
            response, classic = self._leave.by_heartbeat(draft, body, result, now_ms)
            return result, response, draft, classic
        group = self._groups.get(body.group_id)
        if group is None and body.member_epoch > 0:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {body.group_id} not found.")
        if body.member_epoch > 0 or isinstance(group, ModernGroup):
            draft = Draft(self.find(body.group_id), result.records)
        else:
            draft = self._begun(group, body.group_id, result.records, now_ms)
        response = self._heartbeats.report(draft, body, caller, now_ms, fresh_id, result)
        self._check_sizes(result.records)
        if isinstance(group, ClassicGroup):
            self._migration.close(group, draft, result)
        return result, response, draft, None

    def _check_sizes(self, records: list[Record]) -> None:
        if not fit(records, self._config):
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "The request makes a record that is too large.")

    def _begun(self, classic: ClassicGroup | None, group_id: str, records: list[Record], now_ms: int) -> Draft:
        """A modern group where there was none: from nothing, or from a classic one."""
        if classic is not None and classic.state is not State.EMPTY:
            return self._migration.upgraded(classic, records, now_ms)
        if classic is not None:
            records.append(GROUP_METADATA.record(None, group=group_id))
        return Draft(ModernGroup(group_id), records)

    def find(self, group_id: str) -> ModernGroup:
        group = self._groups.get(group_id)
        if group is None:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        if not isinstance(group, ModernGroup):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return group

    def _close(self, draft: Draft, classic: ClassicGroup | None, result: Result) -> None:
        """Nothing refuses any more."""
        group_id = draft.group.group_id
        if classic is not None:
            self.converted[classic.group_id] = classic
        for departure in draft.departed:
            self._departures.add(group_id, departure)
            result.notes.append(departure.note(group_id))
        if draft.has_new_epoch:
            members = len(draft.group.members)
            result.notes.append(f"group {group_id}: epoch {draft.group.epoch} begins, members: {members}")

    def join(self, group: ModernGroup, join: Join) -> None:
        draft = Draft(group, join.result.records)
        try:
            classic = self._classic_members.join(draft, join)
            self._check_sizes(join.result.records)
            self._close(draft, classic, join.result)
        except Refused as refused:
            join.result = Result()
            join.refuse(refused.error)

    def emptied(self, group: ModernGroup) -> list[Record]:
        """What deletes it, for a classic group of the same name or none."""
        records: list[Record] = []
        Draft(group, records).delete()
        return records

    def sync(self, group: ModernGroup, body: Any, result: Result) -> Any:
        try:
            return self._classic_members.sync(group, body, result)
        except Refused as refused:
            return replies.sync_error(refused.error)

    def classic_heartbeat(self, group: ModernGroup, body: Any, result: Result) -> ErrorCode:
        try:
            return self._classic_members.heartbeat(group, body, result)
        except Refused as refused:
            return refused.error

    def classic_leave(self, group: ModernGroup, members: list[Any], result: Result, now_ms: int) -> list[Any]:
        draft = Draft(group, result.records)
        answers, classic = self._classic_members.leave(draft, members, result, now_ms)
        self._close(draft, classic, result)
        return answers

    def expired(self, group: ModernGroup, kind: str, member_id: str, now_ms: int) -> Result:
        result = Result()
        member = group.members.get(member_id)
        if member is None:
            return result
        if kind == "rebalance" and member.state is not MemberState.UNREVOKED_PARTITIONS:
            return result
        if kind == "join" and member_id not in group.rejoining:
            return result
        draft = Draft(group, result.records)
        self._close(draft, self._leave.remove(draft, [(member, REASONS[kind])], result, now_ms), result)
        return result

    def loaded(self, now_ms: int) -> Result:
        result = Result()
        for group in self._of_this_kind():
            result.timers += timers.loaded(group, self._config)
            if self._topics.image is not EMPTY:
                self._steps.loaded(group, result, now_ms)
        return result

    def image_changed(self, image: Image, racks: Mapping[int, str], now_ms: int) -> Result:
        """Of many groups, perhaps. Records that are cut off anywhere do no harm: a group's epoch comes before its
        targets, whose own epoch comes after them, and what is between is made again.
        """
        result = Result(atomic=False)
        groups = self._of_this_kind()
        if not groups:
            self._topics.replace(image, racks)
            return result
        changes = self._topics.change(image, racks)
        if changes.names:
            for group in groups:
                self._steps.topics_changed(group, changes, result, now_ms)
        return result

    def _of_this_kind(self) -> list[ModernGroup]:
        return [group for group in self._groups.values() if isinstance(group, ModernGroup)]

    def describe(self, group_id: str) -> Any:
        try:
            group = self.find(group_id)
        except Refused as refused:
            return describe.not_described(group_id, refused.message)
        return describe.described(group, self._topics, group.assignor(self._targets.names))


REASONS = {
    "session": "its session timed out",
    "rebalance": "did not give up its partitions in time for a rebalance",
    "join": "did not rejoin in time for a rebalance",
    "sync": "did not sync in time",
}
