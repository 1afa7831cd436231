"""A classic group becomes a modern one when the first modern member joins, and the other way round when the last one
leaves while classic members stay (KIP-848; `group.consumer.migration.policy` says which of it is wanted).

Members keep their ids, and for a start their partitions. The classic ones learn by their heartbeats that they have to
rejoin, and do so as they always did.
"""

from typing import Any

from kafpy.coordinator.group import replies
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.consumer_protocol import (
    PROTOCOL_TYPE,
    Malformed,
    Subscription,
    read_assignment,
    read_subscription,
    write_assignment,
)
from kafpy.coordinator.group.member import Member
from kafpy.coordinator.group.modern import timers
from kafpy.coordinator.group.modern.assignment import Target, at_epoch
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.member import ClassicFace, ModernMember
from kafpy.coordinator.group.modern.refused import Refused
from kafpy.coordinator.group.rebalance import session_timer
from kafpy.coordinator.group.records import GROUP_METADATA
from kafpy.coordinator.group.state import State
from kafpy.coordinator.group.topics import KnownTopics
from kafpy.coordinator.result import Record, Result, Timer
from kafpy.protocol.errors import ErrorCode


class Migration:
    def __init__(self, config: GroupConfig, topics: KnownTopics) -> None:
        self._config = config
        self._topics = topics
        policy = config.group_consumer_migration_policy.lower()
        self._upgrades = policy in ("upgrade", "bidirectional")
        self._downgrades = policy in ("downgrade", "bidirectional")

    def upgraded(self, classic: ClassicGroup, records: list[Record], now_ms: int) -> Draft:
        """The group as a modern one. Nothing is lost while it lasts: everybody has what it had."""
        self._check(classic)
        try:
            members = [self._modern(classic, member) for member in classic.members.values()]
        except Malformed as error:
            raise _not_upgraded(classic, "the embedded consumer protocol is malformed") from error
        records.append(GROUP_METADATA.record(None, group=classic.group_id))
        draft = Draft(ModernGroup(classic.group_id), records)
        for member in members:
            draft.metadata(member)
        draft.epoch(classic.generation, self._topics.hash(draft.group.subscribed))
        for member in members:
            draft.target(member.member_id, {topic: frozenset(held) for topic, held in member.assigned.items()})
        draft.assignment_epoch(classic.generation, now_ms)
        for member in members:
            draft.assignment(member)
        draft.is_new = True
        return draft

    def _check(self, classic: ClassicGroup) -> None:
        if not self._upgrades:
            raise _not_upgraded(classic, "online upgrade is disabled")
        if not classic.is_consumer:
            raise _not_upgraded(classic, "the group does not use the consumer embedded protocol")
        if len(classic.members) > self._config.group_consumer_max_size:
            raise _not_upgraded(classic, "the group size exceeds the consumer group maximum size")

    def _modern(self, classic: ClassicGroup, member: Member) -> ModernMember:
        # In a first rebalance no protocol is chosen yet; a consumer says the same in all of them
        metadata = member.metadata(classic.protocol or "") or member.protocols[0][1]
        subscription = read_subscription(metadata)
        assignment = read_assignment(member.assignment)
        if assignment.user_data:
            raise Refused(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"Cannot upgrade classic group {classic.group_id} to consumer group because an unsupported custom "
                "assignor is in use. Please refer to the documentation or switch to a default assignor before "
                "re-attempting the upgrade.",
            )
        return ModernMember(
            member.member_id,
            instance_id=member.group_instance_id,
            rack_id=subscription.rack,
            client_id=member.client_id,
            client_host=member.client_host,
            topics=subscription.topics,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            classic=ClassicFace(member.session_timeout_ms, tuple(member.protocols)),
            epoch=classic.generation,
            previous_epoch=classic.generation,
            assigned=at_epoch(by_id(self._topics, assignment.partitions), classic.generation),
        )

    def close(self, classic: ClassicGroup, draft: Draft, result: Result) -> None:
        """Ends what the classic group had begun: whoever waits is to rejoin."""
        group_id, again = classic.group_id, ErrorCode.REBALANCE_IN_PROGRESS
        for member in classic.members.values():
            join = classic.take_join(member)
            if join is not None:
                result.replies.append((join, replies.join_error(again, member.member_id)))
            if member.awaiting_sync is not None:
                result.replies.append((member.awaiting_sync, replies.sync_error(again)))
                member.awaiting_sync = None
        result.timers += [Timer(("join", group_id), None), Timer(("sync", group_id), None)]
        result.timers += [Timer(("session", group_id, member_id), None) for member_id in classic.pending_join]
        result.timers += [
            timers.session(group_id, member, self._config)
            for member in draft.group.members.values()
            if member.classic is not None
        ]

    def is_downgrade(self, group: ModernGroup, gone: list[ModernMember]) -> bool:
        """Whether the group is to be classic without these members."""
        return (
            self._downgrades
            and group.only_modern_is(*(member.member_id for member in gone))
            and len(group.members) - len(gone) <= self._config.group_max_size
        )

    def is_downgrade_by(self, group: ModernGroup, replaced: ModernMember) -> bool:
        """Whether the group is to be classic when a classic member takes the place of this one."""
        others = (member for member in group.members.values() if member.member_id != replaced.member_id)
        return (
            self._downgrades
            and replaced.classic is None
            and all(member.classic is not None for member in others)
            and len(group.members) <= self._config.group_max_size
        )

    def downgraded(self, draft: Draft, result: Result, now_ms: int) -> ClassicGroup:
        """The group as a classic one, of the members that the draft has. Its generation goes on from the epoch."""
        group = draft.group
        classic = ClassicGroup(group.group_id)
        classic.generation, classic.protocol_type = group.epoch, PROTOCOL_TYPE
        for member in group.members.values():
            assert member.classic is not None
            classic.add(_classic(member, member.classic), PROTOCOL_TYPE)
            result.timers += timers.cancel_all(group.group_id, member.member_id)
        classic.protocol = classic.select_protocol()
        classic.state = State.STABLE
        for each in classic.members.values():
            each.assignment = self.assignment(each.metadata(classic.protocol), group.target_of(each.member_id))
            result.timers.append(session_timer(classic, each))
        draft.delete()
        record = classic.record({each.member_id: each.assignment for each in classic.members.values()}, now_ms)
        result.records.append(record)
        classic.settle(GROUP_METADATA.read_value(record.value or b""))
        return classic

    def assignment(self, metadata: bytes, target: Target) -> bytes:
        """In the words that members of classic groups use among themselves."""
        named = ((self._topics.name(topic_id), sorted(partitions)) for topic_id, partitions in target.items())
        return write_assignment(
            read_subscription(metadata).version,
            {name: partitions for name, partitions in sorted(named, key=_first) if name is not None},
        )


def by_id(topics: KnownTopics, partitions: dict[str, list[int]]) -> Target:
    """Of topics that are there."""
    found = ((topics.image.topic(name), numbers) for name, numbers in partitions.items())
    return {topic.topic_id: frozenset(numbers) for topic, numbers in found if topic is not None and numbers}


def subscription_of(protocols: list[tuple[str, bytes]]) -> Subscription:
    """All protocols of a consumer have the same one; Malformed if they have none."""
    if not protocols:
        raise Malformed("no protocols")
    return read_subscription(protocols[0][1])


def _first(named: tuple[str | None, Any]) -> str:
    return named[0] or ""


def _classic(member: ModernMember, face: ClassicFace) -> Member:
    return Member(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        face.session_timeout_ms,
        list(face.protocols),
    )


def _not_upgraded(classic: ClassicGroup, why: str) -> Refused:
    message = f"Cannot upgrade classic group {classic.group_id} to consumer group because {why}."
    return Refused(ErrorCode.GROUP_ID_NOT_FOUND, message)
