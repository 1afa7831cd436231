"""ConsumerGroupHeartbeat (KIP-848): joining, reporting, leaving (GroupMetadataManager.consumerGroupHeartbeat).

Null in a request stands for "as before". The assignment is in the answer when it has changed, when the member joins,
and when it sends everything, as it does after it missed an answer.
"""

from dataclasses import replace
from typing import Any

from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern import lookup, timers
from kafpy.coordinator.group.modern.assignment import Owned, partitions_of, read_target, target_structs
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.member import ModernMember
from kafpy.coordinator.group.modern.steps import Steps
from kafpy.coordinator.result import Result
from kafpy.protocol.api import CONSUMER_GROUP_HEARTBEAT


class Heartbeats:
    def __init__(self, config: GroupConfig, steps: Steps) -> None:
        self._config = config
        self._steps = steps

    def report(self, draft: Draft, body: Any, caller: Caller, now_ms: int, fresh_id: str, result: Result) -> Any:
        """A member that joins or reports; the answer."""
        member_id = body.member_id or fresh_id
        owned = None if body.topic_partitions is None else read_target(body.topic_partitions)
        lookup.check_room(draft.group, body.member_id, self._config.group_consumer_max_size)
        before = self._member(draft, member_id, body, owned, result, now_ms)
        after = _updated(before, body, caller)
        changed = self._steps.take_in(draft, before, after, now_ms)
        after = self._steps.advance(draft, member_id, owned, changed, result, now_ms)
        result.timers.append(timers.session(draft.group.group_id, after, self._config))
        response = CONSUMER_GROUP_HEARTBEAT.response(
            member_id=member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=self._config.group_consumer_heartbeat_interval_ms,
        )
        if body.member_epoch == 0 or _is_full(body) or after.assigned != before.assigned:
            cls = CONSUMER_GROUP_HEARTBEAT.response
            assigned = target_structs(cls.TopicPartitions, partitions_of(after.assigned))
            response.assignment = cls.Assignment(topic_partitions=assigned)
        return response

    def _member(
        self, draft: Draft, member_id: str, body: Any, owned: Owned | None, result: Result, now_ms: int
    ) -> ModernMember:
        group, instance_id = draft.group, body.instance_id
        if body.member_epoch != 0:
            member = lookup.known(group, member_id, instance_id)
            lookup.check_epoch(member, body.member_epoch, owned)
            return member
        holder = group.members.get(group.static_members.get(instance_id, "")) if instance_id is not None else None
        if holder is None:
            return group.members.get(member_id) or ModernMember(member_id)
        if holder.classic is None:
            lookup.check_released(holder, member_id, instance_id)
        if holder.member_id != member_id:
            self._steps.gone(draft, holder, f"its instance id went to {member_id}", result, now_ms)
        return lookup.replace_static(draft, holder, member_id)


def left(body: Any) -> Any:
    return CONSUMER_GROUP_HEARTBEAT.response(member_id=body.member_id, member_epoch=body.member_epoch)


def _updated(member: ModernMember, body: Any, caller: Caller) -> ModernMember:
    topics, timeout = body.subscribed_topic_names, body.rebalance_timeout_ms
    regex = body.subscribed_topic_regex
    return replace(
        member,
        instance_id=member.instance_id if body.instance_id is None else body.instance_id,
        rack_id=member.rack_id if body.rack_id is None else body.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        server_assignor=member.server_assignor if body.server_assignor is None else body.server_assignor,
        topics=member.topics if topics is None else frozenset(topics),
        regex=member.regex if regex is None else regex,
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=None,
    )


def _is_full(body: Any) -> bool:
    subscribes = body.subscribed_topic_names is not None or body.subscribed_topic_regex is not None
    return body.rebalance_timeout_ms != -1 and subscribes and body.topic_partitions is not None
