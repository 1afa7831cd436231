"""A classic group (Kafka's ClassicGroup): its members, who leads, what they can agree on.

What the log knows of it comes by `settle`, the rest is soft: a rebalance under way, members that wait for its end, the
protocols that were not chosen. Time-outs and answers are not its business.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafpy.coordinator.group.consumer_protocol import PROTOCOL_TYPE, subscribed_topics
from kafpy.coordinator.group.member import Member
from kafpy.coordinator.group.records import GROUP_METADATA
from kafpy.coordinator.group.state import ENTERED_FROM, State
from kafpy.coordinator.result import Beat, Record, Ticket
from kafpy.protocol.errors import ErrorCode


class ClassicGroup:
    type = "classic"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = State.EMPTY
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.current_state_timestamp = -1
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.subscribed: set[str] | None = None
        """Of the generation that was agreed on last; None where it is not known."""
        self.pending_join: set[str] = set()
        """Ids that were given out and have not come back yet (KIP-394)."""
        self.pending_sync: set[str] = set()
        self.initial_delay: tuple[int, int] | None = None
        """In a group's first rebalance: the delay that runs, and how much longer it may become."""
        self.new_member_added = False
        self.waiting = 0
        """Members with a JoinGroup that waits for its answer."""
        self._quiet = False
        """Some members' heartbeats are answered without the group."""
        self._supported: dict[str, int] = {}
        """By protocol, how many members support it."""

    def settle(self, value: Any) -> None:
        """Takes in a GroupMetadata record; of its members, what the record does not tell is kept."""
        if self.state is State.PREPARING_REBALANCE and value.generation <= self.generation:
            return  # the record of a new group, whose first members wait already
        self.disturb()
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol = value.protocol
        self.leader = value.leader
        self.current_state_timestamp = value.current_state_timestamp
        known = self.members
        self.members, self._supported = {}, {}
        for each in value.members:
            member, stored = known.get(each.member_id), self._loaded(each, value.protocol)
            if member is None or not member.is_as(stored, value.protocol or ""):
                member = stored  # a load has come from an older record of the group to a newer one
            member.assignment = each.assignment
            self.members[member.member_id] = member
            self._count(member, 1)
        self.waiting = sum(member.awaiting_join is not None for member in self.members.values())
        self.static_members = {
            member.group_instance_id: member.member_id
            for member in self.members.values()
            if member.group_instance_id is not None
        }
        self.state = State.STABLE if self.members else State.EMPTY
        self.subscribed = self._subscribed_topics()

    @staticmethod
    def _loaded(each: Any, protocol: str | None) -> Member:
        rebalance_timeout = each.session_timeout if each.rebalance_timeout == -1 else each.rebalance_timeout
        return Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            rebalance_timeout,
            each.session_timeout,
            [(protocol or "", each.subscription)],
        )

    def record(self, assignments: dict[str, bytes], timestamp: int) -> Record:
        """The group as it is, with these assignments; members without one get none."""
        value = GROUP_METADATA.value
        members = [
            value.Member(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(self.protocol or ""),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in self.members.values()
        ]
        stored = value(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=timestamp,
            members=members,
        )
        return GROUP_METADATA.record(stored, group=self.group_id)

    @property
    def is_idle(self) -> bool:
        """Nobody is in it or on the way in."""
        return self.state is State.EMPTY and not self.pending_join

    @property
    def is_consumer(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    @property
    def all_joined(self) -> bool:
        return not self.pending_join and self.waiting == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def expect(self, member: Member, beat: Beat) -> None:
        """Its heartbeats have the answer that this one had until the group is disturbed."""
        if member.beat is not None:
            member.beat.forget()
        member.beat = beat
        self._quiet = True

    def disturb(self) -> None:
        """Before anything changes that the answer to a heartbeat depends on."""
        if self._quiet:
            self._quiet = False
            for member in self.members.values():
                if member.beat is not None:
                    member.beat.forget()

    def transition(self, state: State) -> None:
        self.disturb()
        if self.state not in ENTERED_FROM[state]:
            raise RuntimeError(f"a group does not go from {self.state.value} to {state.value}")
        self.state = state

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member_id] = member
        self._count(member, 1)
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self.pending_join.discard(member.member_id)

    def remove(self, member_id: str) -> Member | None:
        self.disturb()
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            self.waiting -= member.awaiting_join is not None
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)
        return member

    def replace_static(self, old_id: str, new_id: str) -> tuple[Member, Member]:
        """The member gets another id, and whoever uses the old one is out; both, old and new."""
        self.disturb()
        old = self.members.pop(old_id)
        self.waiting -= old.awaiting_join is not None
        member = replace(old, member_id=new_id, awaiting_join=None, awaiting_sync=None, beat=None, is_new=False)
        self.members[new_id] = member
        if self.leader == old_id:
            self.leader = new_id
        assert member.group_instance_id is not None
        self.static_members[member.group_instance_id] = new_id
        self.pending_sync.discard(old_id)
        return old, member

    def update(self, member: Member, protocols: list[tuple[str, bytes]], rebalance_ms: int, session_ms: int) -> None:
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)
        member.rebalance_timeout_ms = rebalance_ms
        member.session_timeout_ms = session_ms

    def _count(self, member: Member, by: int) -> None:
        for name in {name for name, _ in member.protocols}:
            self._supported[name] = self._supported.get(name, 0) + by
            if not self._supported[name]:
                del self._supported[name]

    def await_join(self, member: Member, ticket: Ticket) -> Ticket | None:
        """The ticket that waited before, if there was one: nobody will answer it any more."""
        previous, member.awaiting_join = member.awaiting_join, ticket
        self.waiting += previous is None
        return previous

    def take_join(self, member: Member) -> Ticket | None:
        ticket, member.awaiting_join = member.awaiting_join, None
        self.waiting -= ticket is not None
        return ticket

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if instance_id is not None:
            known = self.static_members.get(instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def elect_joined_leader(self) -> bool:
        """The leader if it has joined, else the first who has; whether there is one."""
        leader = self.members.get(self.leader or "")
        if leader is None or leader.awaiting_join is None:
            joined = (each.member_id for each in self.members.values() if each.awaiting_join is not None)
            found = next(joined, None)
            if found is None:
                return False
            self.leader = found
        return True

    def next_generation(self) -> None:
        """Everybody who is coming has joined: their protocol is chosen, and the leader's assignment awaited."""
        self.generation += 1
        self.protocol = self.select_protocol()
        self.subscribed = self._subscribed_topics()
        self.pending_sync = set(self.members)
        self.transition(State.COMPLETING_REBALANCE)

    def emptied(self, timestamp: int) -> Record:
        """The generation after this one, which nobody came to."""
        value = GROUP_METADATA.value(
            protocol_type=self.protocol_type or "", generation=self.generation + 1, current_state_timestamp=timestamp
        )
        return GROUP_METADATA.record(value, group=self.group_id)

    def select_protocol(self) -> str:
        """Of those that all members support the one that most of them like best; at a draw, the first to be voted."""
        votes: dict[str, int] = {}
        candidates = {name for name, count in self._supported.items() if count == len(self.members)}
        for member in self.members.values():
            vote = member.vote(candidates)
            votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """Whether a member with these protocols can be in the group."""
        if self.state is State.EMPTY:
            return bool(protocol_type and names)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(self._supported.get(name, 0) == size for name in names)

    def is_subscribed_to(self, topic: str) -> bool:
        return self.is_consumer if self.subscribed is None else topic in self.subscribed

    def _subscribed_topics(self) -> set[str] | None:
        if not self.is_consumer:
            return None
        if self.members and self.protocol is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            found = subscribed_topics(member.metadata(self.protocol or ""))
            if found is None:
                return None
            topics |= found
        return topics

    def check_offset_commit(self, member_id: str, instance_id: str | None, generation: int, _: int) -> ErrorCode:
        if generation < 0 and self.state is State.EMPTY:
            return ErrorCode.NONE  # an administrator, or a consumer that manages itself
        if generation < 0 and not member_id and instance_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = self.check_member(member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if self.state is State.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def partition_check(self, member_id: str, generation: int) -> Callable[[bytes, int], ErrorCode] | None:
        return None

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        return ErrorCode.NONE

    def check_offset_delete(self) -> ErrorCode:
        return ErrorCode.NONE if self.state is State.EMPTY or self.is_consumer else ErrorCode.NON_EMPTY_GROUP

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NONE if self.state is State.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def retained_from(self, commit_timestamp: int) -> int | None:
        """Since when an offset that was committed then is not in use; None: it is (OffsetExpirationCondition)."""
        if self.protocol_type is None:
            return commit_timestamp
        if self.state is State.EMPTY:
            return commit_timestamp if self.current_state_timestamp == -1 else self.current_state_timestamp
        if self.is_consumer and self.subscribed is not None and self.state is State.STABLE:
            return commit_timestamp
        return None
