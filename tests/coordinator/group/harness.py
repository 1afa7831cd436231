"""A runtime of its own for a shard: a log in memory, timers on a virtual clock, and answers by ticket.

After every step the log is replayed into a new shard, which has to know what the old one says it knows.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.coordinator.group.modern.state import GROUP_TRANSITIONS, MEMBER_TRANSITIONS, GroupState
from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.group.state import REBALANCING
from kafpy.coordinator.group.topics import EMPTY, NO_RACKS, Image
from kafpy.coordinator.result import Record, Result
from kafpy.protocol.api import (
    CONSUMER_GROUP_HEARTBEAT,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    SYNC_GROUP,
)
from kafpy.protocol.table import Api

START_MS = 1_700_000_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000


def subscription(*topics: str) -> bytes:
    """A consumer's, version 0."""
    names = b"".join(len(name).to_bytes(2, "big") + name.encode() for name in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


class Beat:
    """A heartbeat that is answered without asking the shard."""

    def __init__(self, harness: "Harness", body: Any) -> None:
        self._harness = harness
        self.body = body
        self.heard = harness.now
        self.live = True

    @property
    def idle_ms(self) -> int:
        return self._harness.now - self.heard

    def forget(self) -> None:
        self.live = False


class Harness:
    def __init__(
        self,
        config: GroupConfig | None = None,
        log: list[Record] | None = None,
        now: int = START_MS,
        image: Image = EMPTY,
        racks: Mapping[int, str] = NO_RACKS,
    ) -> None:
        self.config = config or GroupConfig()
        self.image, self.racks = image, racks
        self.shard = GroupShard(self.config, image, racks)
        self.log: list[Record] = []
        self.now = now
        self.timers: dict[Hashable, int] = {}
        self.answers: dict[int, Any] = {}
        self.beats: dict[tuple[str, str, int, str | None], Beat] = {}
        self.asked = 0
        self.lives = 0
        for record in log or []:
            self.append(record)
        self.take(self.shard.loaded(self.now))

    def append(self, record: Record) -> None:
        self.shard.replay(record, len(self.log))
        self.log.append(record)

    def take(self, result: Result) -> Result:
        before = {group_id: snapshot(group) for group_id, group in self.shard._groups.items()}
        for record in result.records:
            self.append(record)
        for timer in result.timers:
            self.timers.pop(timer.key, None)
            if timer.after_ms is not None:
                assert timer.after_ms >= 0
                self.timers[timer.key] = self.now + timer.after_ms
        for ticket, answer in result.replies:
            assert ticket not in self.answers, "answered twice"
            self.answers[ticket] = answer
        self.check_replay()
        self.check_beats()
        for group_id, group in self.shard._groups.items():
            if isinstance(group, ModernGroup):
                check_modern(group, before.get(group_id))
        return result

    def check_replay(self) -> None:
        again = GroupShard(self.config)
        for at, record in enumerate(self.log):
            again.replay(record, at)
        assert again._offsets._groups == self.shard._offsets._groups
        assert again._offsets._by_prefix == self.shard._offsets._by_prefix
        assert again._groups.keys() == self.shard._groups.keys()
        for group_id, live in self.shard._groups.items():
            stored = again._groups[group_id]
            if isinstance(live, ClassicGroup) and live.state in REBALANCING:
                assert stored.generation <= live.generation
            else:
                assert durable(live) == durable(stored)

    def restart(self) -> "Harness":
        """Another broker with the same log."""
        other = Harness(self.config, self.log, self.now, self.image, self.racks)
        other.lives = self.lives + 1
        return other

    def topics(self, image: Image, racks: Mapping[int, str] = NO_RACKS) -> Result:
        """Another image."""
        self.image, self.racks = image, racks
        return self.take(self.shard.image_changed(image, racks, self.now))

    def modern(self, member_id: str, epoch: int, *, group: str = "g", version: int = 1, **fields: Any) -> Any:
        """A ConsumerGroupHeartbeat; its answer."""
        owned = fields.pop("owned", None)
        if owned is not None:
            struct = CONSUMER_GROUP_HEARTBEAT.request.TopicPartitions
            fields["topic_partitions"] = [struct(topic_id=each, partitions=list(owned[each])) for each in owned]
        body = CONSUMER_GROUP_HEARTBEAT.request(group_id=group, member_id=member_id, member_epoch=epoch, **fields)
        ticket = self.ticket()
        caller = self.caller(CONSUMER_GROUP_HEARTBEAT, version)
        self.take(self.shard.consumer_group_heartbeat(ticket, body, caller, self.now, self.fresh_id(ticket)))
        return self.answers[ticket]

    def ticket(self) -> int:
        self.asked += 1
        return self.asked

    def fresh_id(self, ticket: int) -> str:
        return f"uuid{ticket}" + "-again" * self.lives

    def answer(self, ticket: int) -> Any:
        return self.answers.get(ticket)

    @property
    def unanswered(self) -> set[int]:
        return set(range(1, self.asked + 1)) - self.answers.keys()

    def advance(self, by_ms: int) -> None:
        """Fires what is due on the way, in order."""
        until = self.now + by_ms
        while self.timers:
            key = min(self.timers, key=lambda key: self.timers[key])
            if self.timers[key] > until:
                break
            self.now = max(self.now, self.timers.pop(key))
            self.take(self.shard.expired(key, self.now))
        self.now = until

    def caller(self, api: Api, version: int | None) -> Caller:
        return Caller("client", "/127.0.0.1", api.max_version if version is None else version)

    def join(
        self,
        member_id: str = "",
        *,
        group: str = "g",
        instance: str | None = None,
        protocols: dict[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int | None = None,
    ) -> int:
        offered = {"range": subscription("t")} if protocols is None else protocols
        body = JOIN_GROUP.request(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JOIN_GROUP.request.Protocol(name=name, metadata=data) for name, data in offered.items()],
        )
        ticket = self.ticket()
        caller = self.caller(JOIN_GROUP, version)
        self.take(self.shard.join_group(ticket, body, caller, self.now, self.fresh_id(ticket)))
        return ticket

    def new_id(self, **options: Any) -> str:
        """The first half of a dynamic member's way in."""
        answer = self.answers[self.join("", **options)]
        assert answer.error_code == 79
        assert isinstance(answer.member_id, str)
        return answer.member_id

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        group: str = "g",
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        version: int | None = None,
    ) -> int:
        made = [
            SYNC_GROUP.request.Assignment(member_id=member, assignment=data)
            for member, data in (assignments or {}).items()
        ]
        body = SYNC_GROUP.request(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=made,
        )
        ticket = self.ticket()
        self.take(self.shard.sync_group(ticket, body, self.caller(SYNC_GROUP, version), self.now))
        return ticket

    def heartbeat(self, member_id: str, generation: int, *, group: str = "g", instance: str | None = None) -> int:
        body = HEARTBEAT.request(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        known = self.beats.get((group, member_id, generation, instance))
        if known is not None and known.live:
            known.heard = self.now
            return 0
        ticket = self.ticket()

        def remember(answer: Any) -> Beat:
            assert answer.error_code == 0
            made = self.beats[group, member_id, generation, instance] = Beat(self, body)
            return made

        self.take(self.shard.heartbeat(ticket, body, self.caller(HEARTBEAT, None), self.now, remember))
        return int(self.answers[ticket].error_code)

    def check_beats(self) -> None:
        """What is answered without asking is what would be answered."""
        for beat in self.beats.values():
            if beat.live:
                asked = self.shard.heartbeat(0, beat.body, self.caller(HEARTBEAT, None), self.now)
                assert asked.replies[0][1].error_code == 0, f"{beat.body} is not answered so any more"

    def leave(self, *members: tuple[str, str | None], group: str = "g", reason: str | None = None) -> list[int]:
        body = LEAVE_GROUP.request(
            group_id=group,
            members=[
                LEAVE_GROUP.request.Member(member_id=member, group_instance_id=instance, reason=reason)
                for member, instance in members
            ],
        )
        ticket = self.ticket()
        self.take(self.shard.leave_group(ticket, body, self.caller(LEAVE_GROUP, None), self.now))
        return [each.error_code for each in self.answers[ticket].members]

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        member_id: str = "",
        generation: int = -1,
        *,
        group: str = "g",
        instance: str | None = None,
        metadata: str | None = "",
        retention_ms: int = -1,
        leader_epoch: int = -1,
        topic_id: bytes = bytes(16),
        version: int | None = 9,
    ) -> list[int]:
        request = OFFSET_COMMIT.request
        topics: dict[str, list[Any]] = {}
        for (topic, partition), offset in offsets.items():
            each = request.Partition(
                partition_index=partition,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                committed_metadata=metadata,
            )
            topics.setdefault(topic, []).append(each)
        body = request(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
            topics=[request.Topic(name=name, topic_id=topic_id, partitions=made) for name, made in topics.items()],
        )
        ticket = self.ticket()
        self.take(self.shard.offset_commit(ticket, body, self.caller(OFFSET_COMMIT, version), self.now))
        return [each.error_code for topic in self.answers[ticket].topics for each in topic.partitions]

    def fetch(
        self,
        topics: dict[str, list[int]] | None = None,
        *,
        group: str = "g",
        member_id: str | None = None,
        epoch: int = -1,
        topic_id: bytes = bytes(16),
    ) -> Any:
        request = OFFSET_FETCH.request
        asked = None
        if topics is not None:
            asked = [
                request.Topic(name=name, topic_id=topic_id, partition_indexes=each) for name, each in topics.items()
            ]
        body = request.Group(group_id=group, member_id=member_id, member_epoch=epoch, topics=asked)
        return self.shard.offset_fetch_group(body, self.caller(OFFSET_FETCH, None), False)

    def fetched(self, topics: dict[str, list[int]] | None = None, **options: Any) -> dict[tuple[str, int], int]:
        answer = self.fetch(topics, **options)
        assert answer.error_code == 0
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in answer.topics
            for each in topic.partitions
        }

    def delete_offsets(self, topics: dict[str, list[int]], *, group: str = "g") -> Any:
        request = OFFSET_DELETE.request
        body = request(
            group_id=group,
            topics=[
                request.Topic(name=name, partitions=[request.Partition(partition_index=each) for each in partitions])
                for name, partitions in topics.items()
            ],
        )
        ticket = self.ticket()
        self.take(self.shard.offset_delete(ticket, body, self.caller(OFFSET_DELETE, None), self.now))
        return self.answers[ticket]

    def delete_group(self, group: str = "g") -> int:
        error, result = self.shard.delete_group(group, self.now)
        assert not result.replies
        self.take(result)
        return int(error)

    def state(self, group: str = "g") -> str:
        return str(self.shard.describe_group(group, 6).group_state)

    def stable(self, size: int = 1, *, group: str = "g", **options: Any) -> list[str]:
        """A Stable group of new dynamic members, the leader first, each with its own id as assignment."""
        ids = [self.new_id(group=group, **options) for _ in range(size)]
        tickets = [self.join(member, group=group, **options) for member in ids]
        while not self.answers.keys() >= set(tickets):
            self.advance(1000)
        return self.settle(ids, tickets, group=group)

    def settle(self, ids: list[str], tickets: list[int], *, group: str = "g") -> list[str]:
        answers = [self.answers[ticket] for ticket in tickets]
        assert {each.error_code for each in answers} == {0}
        generation, leader = answers[0].generation_id, answers[0].leader
        ids = sorted(ids, key=lambda member: member != leader)
        syncs = [self.sync(member, generation, {each: each.encode() for each in ids}, group=group) for member in ids]
        assert [self.answers[ticket].assignment for ticket in syncs] == [member.encode() for member in ids]
        return ids


def durable(group: Any) -> Any:
    """What the log has to know of a group that is not in a rebalance."""
    if isinstance(group, ClassicGroup):
        members = {
            member.member_id: replace(member, protocols=[(group.protocol or "", member.metadata(group.protocol or ""))])
            for member in group.members.values()
        }
        return (
            group.state,
            group.generation,
            group.protocol_type,
            group.protocol,
            group.leader,
            group.current_state_timestamp,
            members,
            group.static_members,
            group.subscribed,
        )
    assert isinstance(group, ModernGroup)
    return {name: value for name, value in vars(group).items() if name not in ("rejoining", "_subscribed")}


def snapshot(group: ClassicGroup | ModernGroup) -> ModernGroup | None:
    return group.copy() if isinstance(group, ModernGroup) else None


def check_modern(group: ModernGroup, before: ModernGroup | None) -> None:
    """What holds after every step."""
    held = Counter(
        (topic_id, partition)
        for member in group.members.values()
        for some in (member.assigned, member.revoking)
        for topic_id, partitions in some.items()
        for partition in partitions
    )
    assert not held or max(held.values()) == 1, "a partition with two owners"
    assert group.owners.keys() == held.keys()
    targets = Counter(
        (topic_id, each) for some in group.targets.values() for topic_id in some for each in some[topic_id]
    )
    assert not targets or max(targets.values()) == 1, "a partition in two targets"
    assert group.targets.keys() <= group.members.keys()
    assert group.copy().subscribed == frozenset().union(*map(group.topics_of, group.members.values()))
    assert set(group.static_members.values()) <= group.members.keys()
    assert group.assignment_epoch <= group.epoch
    old = GroupState.EMPTY if before is None else before.state
    assert group.state is old or (old, group.state) in GROUP_TRANSITIONS
    if before is None:
        return
    assert group.epoch >= before.epoch
    for member_id, member in group.members.items():
        past = before.members.get(member_id)
        if past is not None and past.epoch >= 0:
            assert member.epoch >= past.epoch or member.epoch == -2
            assert member.state is past.state or (past.state, member.state) in MEMBER_TRANSITIONS
