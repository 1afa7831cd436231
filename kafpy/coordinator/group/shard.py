"""The groups of one partition of `__consumer_offsets`: what requests, records and timers find here.

Requests come as `op(ticket, body, caller, now_ms)`; what they lead to is in the files this one puts together. Timers:

    ("session", group, member)  no heartbeat came, or a new member's id was never used
    ("join", group)             members had their time to rejoin
    ("sync", group)             members had their time to ask for their assignment
    (…, group, member)          the same and ("rebalance", …) for one member of a modern group: `modern.timers`
    ("offsets",)                look for offsets whose retention is over
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from kafpy.coordinator.group import describe, replies
from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.departures import Departure, Departures
from kafpy.coordinator.group.join import Join, Joins
from kafpy.coordinator.group.modern.group import APPLY, ModernGroup
from kafpy.coordinator.group.modern.groups import Groups, ModernGroups
from kafpy.coordinator.group.offset_record import offset_tombstone
from kafpy.coordinator.group.offset_requests import OffsetRequests
from kafpy.coordinator.group.offsets import Offsets
from kafpy.coordinator.group.rebalance import Rebalance, session_timer
from kafpy.coordinator.group.records import CONSUMER_GROUP_METADATA, GROUP_METADATA, TYPES
from kafpy.coordinator.group.retention import TIMER as RETENTION_TIMER
from kafpy.coordinator.group.retention import Retention
from kafpy.coordinator.group.state import State
from kafpy.coordinator.group.sync import Sync
from kafpy.coordinator.group.topics import EMPTY, NO_RACKS, Image, KnownTopics
from kafpy.coordinator.result import Beat, Record, Result, Ticket
from kafpy.protocol.api import LEAVE_GROUP, OFFSET_DELETE
from kafpy.protocol.errors import ErrorCode


class Overview(NamedTuple):
    group_id: str
    state: str
    members: int
    offsets: dict[str, dict[int, bytes]]


class GroupShard:
    def __init__(self, config: GroupConfig, image: Image = EMPTY, racks: Mapping[int, str] = NO_RACKS) -> None:
        self._config = config
        self._groups: Groups = {}
        self._offsets = Offsets()
        self._departures = Departures()
        self._rebalance = Rebalance(config, self._departures)
        self._joins = Joins(config, self._rebalance)
        self._sync = Sync(config, self._rebalance)
        topics = KnownTopics(image, racks)
        self._modern = ModernGroups(config, self._groups, topics, self._departures, self._rebalance)
        self._offset_requests = OffsetRequests(config, self._offsets)
        self._retention = Retention(config, self._offsets)

    def replay(self, record: Record, offset: int) -> None:
        key, value = record
        if len(key) < 2:
            raise ValueError("a key without a type")
        if key[1] <= 1 and not key[0]:
            group_id = self._offsets.replay(key, value)
            if group_id is not None and group_id not in self._groups:
                self._groups[group_id] = ClassicGroup(group_id)  # a simple group, known by its offsets alone
        elif key[1] == GROUP_METADATA.number and not key[0]:
            self._replay_classic(GROUP_METADATA.read_key(key).group, value)
        elif key[1] in APPLY and not key[0]:
            self._replay_modern(key, value)

    def _replay_classic(self, group_id: str, value: bytes | None) -> None:
        group = self._groups.get(group_id)
        if value is None:
            if isinstance(group, ClassicGroup):
                self._gone(group_id)
            return
        converted = self._modern.converted.pop(group_id, None)
        if converted is not None or not isinstance(group, ClassicGroup):
            group = self._groups[group_id] = converted or ClassicGroup(group_id)
        group.settle(GROUP_METADATA.read_value(value))

    def _replay_modern(self, key: bytes, value: bytes | None) -> None:
        kind = TYPES[key[1]]
        where = kind.read_key(key)
        group = self._groups.get(where.group_id)
        if not isinstance(group, ModernGroup):
            if value is None:
                return  # of a group that is a classic one by now, or gone
            group = self._groups[where.group_id] = ModernGroup(where.group_id)
        if kind is CONSUMER_GROUP_METADATA and value is None:
            self._gone(where.group_id)
            return
        name = getattr(where, "member_id", "") or getattr(where, "regular_expression", "")
        group.apply(kind.number, name, None if value is None else kind.read_value(value))

    def _gone(self, group_id: str) -> None:
        """Its offsets make a group of their own, as long as there are any."""
        group = self._groups[group_id]
        if isinstance(group, ClassicGroup):
            group.disturb()
        if group_id in self._offsets:
            self._groups[group_id] = ClassicGroup(group_id)
        else:
            del self._groups[group_id]
            if group_id not in self._modern.converted:
                self._departures.forget(group_id)

    def loaded(self, now_ms: int) -> Result:
        result = Result(timers=[self._retention.start()], atomic=False)
        for group in self._classic_groups():
            result.timers += [session_timer(group, member) for member in group.members.values()]
            if len(group.members) > self._config.group_max_size:
                self._rebalance.prepare(group, result, now_ms)  # the limit was lowered: the last to rejoin have to go
        result.add(self._modern.loaded(now_ms))
        return result

    def _classic_groups(self) -> list[ClassicGroup]:
        return [group for group in self._groups.values() if isinstance(group, ClassicGroup)]

    def image_changed(self, image: Image, racks: Mapping[int, str], now_ms: int) -> Result:
        """Topics, or the racks of brokers, are other than they were."""
        return self._modern.image_changed(image, racks, now_ms)

    def unloaded(self) -> Result:
        """The partition goes elsewhere: whoever waits is told to look for its coordinator again."""
        result = Result()
        for group in self._classic_groups():
            group.disturb()
            for member in group.members.values():
                join = group.take_join(member)
                if join is not None:
                    result.replies.append((join, replies.join_error(ErrorCode.NOT_COORDINATOR, member.member_id)))
            self._rebalance.fail_syncs(group, ErrorCode.NOT_COORDINATOR, result)
        result.timers.clear()
        return result

    def expired(self, key: Hashable, now_ms: int) -> Result:
        assert isinstance(key, tuple)
        if key == RETENTION_TIMER:
            return self._check_retention(now_ms)
        result = Result()
        group = self._groups.get(key[1])
        if group is None:
            return result
        if isinstance(group, ModernGroup):
            return self._modern.expired(group, key[0], key[2], now_ms) if len(key) == 3 else result
        if key[0] == "session":
            self._sync.session_expired(group, key[2], result, now_ms)
        elif key[0] == "join":
            self._rebalance.join_expired(group, result, now_ms)
        elif key[0] == "sync":
            self._rebalance.sync_expired(group, result, now_ms)
        return result

    def join_group(self, ticket: Ticket, body: Any, caller: Caller, now_ms: int, fresh_id: str) -> Result:
        join = Join(ticket, body, caller, now_ms, fresh_id)
        error = self._joins.check(join)
        group = self._groups.get(join.group_id)
        if error is not ErrorCode.NONE:
            join.refuse(error)
        elif isinstance(group, ModernGroup) and group.members:
            self._modern.join(group, join)
        elif isinstance(group, ClassicGroup):
            self._joins.join(group, join)
        elif join.member_id:
            join.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
        else:
            self._begin(join, group)
        return join.result

    def _begin(self, join: Join, before: ModernGroup | None) -> None:
        """A classic group where there was none, or a modern one that nobody is in any more."""
        group = ClassicGroup(join.group_id)
        if self._joins.join(group, join):
            if before is None:
                self._groups[join.group_id] = group
            else:
                self._modern.converted[join.group_id] = group
                join.result.records += self._modern.emptied(before)
            join.result.records.append(new_group(join.group_id, join.now_ms))

    def sync_group(self, ticket: Ticket, body: Any, caller: Caller, now_ms: int) -> Result:
        result = Result()
        group = self._groups.get(body.group_id)
        if not body.group_id:
            result.replies.append((ticket, replies.sync_error(ErrorCode.INVALID_GROUP_ID)))
        elif group is None:
            result.replies.append((ticket, replies.sync_error(ErrorCode.UNKNOWN_MEMBER_ID)))
        elif isinstance(group, ModernGroup):
            result.replies.append((ticket, self._modern.sync(group, body, result)))
        else:
            self._sync.sync(group, ticket, body, result, now_ms)
        return result

    def heartbeat(
        self,
        ticket: Ticket,
        body: Any,
        caller: Caller,
        now_ms: int,
        remember: Callable[[Any], Beat | None] | None = None,
    ) -> Result:
        """`remember` has answers given again without asking, as long as the group is not disturbed."""
        result = Result()
        group = self._groups.get(body.group_id)
        if not body.group_id:
            error = ErrorCode.INVALID_GROUP_ID
        elif group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        elif isinstance(group, ModernGroup):
            error = self._modern.classic_heartbeat(group, body, result)
        else:
            error = self._sync.heartbeat(group, body, result)
        reply = replies.heartbeat(error)
        if error is ErrorCode.NONE and remember is not None and isinstance(group, ClassicGroup):
            beat = remember(reply) if group.state is State.STABLE else None
            if beat is not None:
                group.expect(group.members[body.member_id], beat)
        result.replies.append((ticket, reply))
        return result

    def leave_group(self, ticket: Ticket, body: Any, caller: Caller, now_ms: int) -> Result:
        result, response = Result(), LEAVE_GROUP.response()
        group = self._groups.get(body.group_id)
        members = body.members
        if caller.api_version < 3:
            members = [LEAVE_GROUP.request.Member(member_id=body.member_id)]
        if not body.group_id:
            response.error_code = ErrorCode.INVALID_GROUP_ID
        elif group is None:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            response.members = [replies.left(each.member_id, each.group_instance_id, unknown) for each in members]
        elif isinstance(group, ModernGroup):
            response.members = self._modern.classic_leave(group, members, result, now_ms)
        else:
            response.members = self._sync.leave(group, members, result, now_ms)
        if caller.api_version < 3 and response.members:
            response.error_code = response.members[0].error_code
        result.replies.append((ticket, response))
        return result

    def offset_commit(
        self,
        ticket: Ticket,
        body: Any,
        caller: Caller,
        now_ms: int,
        expect: Callable[[Beat], None] | None = None,
    ) -> Result:
        """`expect` has more of the kind read without asking, as long as the group is not disturbed."""
        group = self._groups.get(body.group_id)
        error, response, records = self._offset_requests.commit(group, body, caller.api_version, now_ms)
        result = Result(records=records, replies=[(ticket, response)])
        if (
            error is ErrorCode.NONE
            and isinstance(group, ClassicGroup)
            and group.state in (State.STABLE, State.PREPARING_REBALANCE)
        ):
            member = group.members[body.member_id]
            result.timers.append(session_timer(group, member))
            if expect is not None and member.beat is not None and group.state is State.STABLE:
                expect(member.beat)
        return result

    def offset_delete(self, ticket: Ticket, body: Any, caller: Caller, now_ms: int) -> Result:
        if not body.group_id:
            return Result(replies=[(ticket, OFFSET_DELETE.response(error_code=ErrorCode.INVALID_GROUP_ID))])
        response, records = self._offset_requests.delete(self._groups.get(body.group_id), body)
        return Result(records=records, replies=[(ticket, response)])

    def offset_fetch_group(self, group: Any, caller: Caller, require_stable: bool) -> Any:
        """`require_stable` asks to wait for open transactions: there are none in this topic yet."""
        return self._offset_requests.fetch(self._groups.get(group.group_id), group)

    def list_groups(self, states_filter: set[str], types_filter: set[str]) -> list[Any]:
        """Empty filters let everything pass; case does not matter."""
        states = {each.strip().lower() for each in states_filter}
        types = {each.strip().lower() for each in types_filter}
        return [
            describe.listed(group)
            for group in self._groups.values()
            if (not states or group.state.value.lower() in states) and (not types or group.type in types)
        ]

    def describe_group(self, group_id: str, api_version: int) -> Any:
        group = self._groups.get(group_id)
        if group is None:
            return describe.not_described(group_id, f"Group {group_id} not found.", api_version)
        if isinstance(group, ModernGroup):
            return describe.not_described(group_id, f"Group {group_id} is not a classic group.", api_version)
        return describe.described(group)

    def consumer_group_heartbeat(self, ticket: Ticket, body: Any, caller: Caller, now_ms: int, fresh_id: str) -> Result:
        return self._modern.heartbeat(ticket, body, caller, now_ms, fresh_id)

    def consumer_group_describe(self, group_id: str) -> Any:
        return self._modern.describe(group_id)

    def delete_group(self, group_id: str, now_ms: int) -> tuple[ErrorCode, Result]:
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND, Result()
        error = group.check_delete()
        if error is not ErrorCode.NONE:
            return error, Result()
        result = Result(atomic=False)  # the group goes last: what a crash leaves of it can be deleted again
        for topic in self._offsets.topics(group_id):
            for partition, _ in self._offsets.partitions(group_id, topic):
                result.records.append(offset_tombstone(group_id, topic, partition))
        result.records += self._tombstones(group)
        return ErrorCode.NONE, result

    def _tombstones(self, group: ClassicGroup | ModernGroup) -> list[Record]:
        if isinstance(group, ModernGroup):
            return self._modern.emptied(group)
        return [GROUP_METADATA.record(None, group=group.group_id)]

    def overview(self) -> list[Overview]:
        """Every group, for metrics."""
        return [
            Overview(group_id, group.state.value, len(group.members), self._offsets.values(group_id))
            for group_id, group in self._groups.items()
        ]

    def departures(self, group_id: str) -> list[Departure]:
        """Who left the group and why, the oldest first; a few, and only since the broker started."""
        return self._departures.of(group_id)

    def topics_deleted(self, names: set[str]) -> Result:
        result = Result(atomic=False)
        for topic in names:
            for group_id in self._offsets.groups_of(topic):
                for partition, _ in self._offsets.partitions(group_id, topic):
                    result.records.append(offset_tombstone(group_id, topic, partition))
        return result

    def _check_retention(self, now_ms: int) -> Result:
        result, without_offsets = self._retention.check(lambda: list(self._groups), self._groups.get, now_ms)
        for group_id in without_offsets:
            group = self._groups[group_id]
            if group.is_idle:
                result.records += self._tombstones(group)
        return result


def new_group(group_id: str, now_ms: int) -> Record:
    """A group that somebody began to join: known from now on, with nobody in it."""
    return GROUP_METADATA.record(GROUP_METADATA.value(current_state_timestamp=now_ms), group=group_id)
