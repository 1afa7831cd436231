"""Any history of a classic group, against a small model of what its members know.

One owner per partition and generation; generations never go back; nothing that was committed is lost; whoever waits is
answered in the end, and only once (the harness sees to that).
"""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from tests.coordinator.group.harness import Harness

PARTITIONS = range(5)
LIMIT = 4
at = st.integers(0, 5)


@dataclass
class Member:
    instance: str | None
    version: int
    member_id: str = ""
    generation: int = -1
    joining: int | None = None
    syncing: int | None = None
    owned: frozenset[int] = field(default_factory=frozenset)


class Group(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.harness = Harness(GroupConfig(group_max_size=LIMIT))
        self.members: list[Member] = []
        self.made = 0
        self.generation = 0
        self.committed: dict[tuple[str, int], int] = {}
        self.owners: dict[tuple[int, int], str] = {}
        """By generation and partition."""

    def one(self, index: int) -> Member:
        return self.members[index % len(self.members)]

    def join(self, member: Member, news: bool = False) -> None:
        protocols = {"range": b"new" if news else b"", "sticky": b""}
        member.syncing = None
        member.joining = self.harness.join(
            member.member_id,
            instance=member.instance,
            version=member.version,
            protocols=protocols,
            protocol_type="test",
            rebalance_ms=20_000,
        )
        self.go_on(member)

    def go_on(self, member: Member) -> None:
        if member.joining is not None and (joined := self.harness.answer(member.joining)) is not None:
            member.joining = None
            if joined.error_code == 79:
                member.member_id = joined.member_id
                self.join(member)
                return
            if self.failed(member, joined.error_code):
                return
            member.member_id, member.generation = joined.member_id, joined.generation_id
            assignments = {}
            if joined.leader == member.member_id and not joined.skip_assignment:
                ids = [each.member_id for each in joined.members]
                assignments = {each: bytes(PARTITIONS[turn :: len(ids)]) for turn, each in enumerate(ids)}
            member.syncing = self.harness.sync(
                member.member_id, member.generation, assignments, instance=member.instance
            )
        if member.syncing is not None and (synced := self.harness.answer(member.syncing)) is not None:
            member.syncing = None
            if self.failed(member, synced.error_code):
                return
            member.owned = frozenset(synced.assignment)
            for partition in member.owned:
                key = member.generation, partition
                who = member.instance or member.member_id
                assert self.owners.setdefault(key, who) == who, "two owners in a generation"

    @invariant()
    def generations_go_on(self) -> None:
        group = self.harness.shard._groups.get("g")
        if isinstance(group, ClassicGroup):
            assert group.generation >= self.generation
            self.generation = group.generation

    def failed(self, member: Member, error: int) -> bool:
        """The member begins again, by its id or without one, the next time it does anything."""
        assert error in (0, 22, 25, 27, 81, 82)
        if error:
            member.generation, member.owned = -1, frozenset()
        if error in (25, 82):
            member.member_id = ""
        return error != 0

    @precondition(lambda self: len(self.members) < LIMIT + 1)
    @rule(instance=st.sampled_from([None, None, "i", "j"]), version=st.sampled_from([3, 9]))
    def begin(self, instance: str | None, version: int) -> None:
        self.members.append(Member(instance, version))
        self.join(self.members[-1])

    @precondition(lambda self: self.members)
    @rule(index=at)
    def live(self, index: int) -> None:
        self.act(self.one(index))

    def act(self, member: Member) -> None:
        self.go_on(member)
        if member.joining is not None or member.syncing is not None:
            return
        if member.generation < 0:
            self.join(member)
            return
        error = self.harness.heartbeat(member.member_id, member.generation, instance=member.instance)
        if error == 27:
            self.join(member)
        else:
            self.failed(member, error)

    @precondition(lambda self: self.members)
    @rule(index=at, news=st.booleans())
    def rejoin(self, index: int, news: bool) -> None:
        self.join(self.one(index), news)

    @precondition(lambda self: self.members)
    @rule(index=at, silent=st.booleans())
    def leave(self, index: int, silent: bool) -> None:
        member = self.members.pop(index % len(self.members))
        if not silent and member.member_id:
            self.harness.leave((member.member_id, member.instance))

    @precondition(lambda self: self.members)
    @rule(index=at, offset=st.integers(0, 100))
    def commit(self, index: int, offset: int) -> None:
        member = self.one(index)
        for partition in member.owned:
            errors = self.harness.commit(
                {("t", partition): offset}, member.member_id, member.generation, instance=member.instance
            )
            if errors == [0]:
                self.committed["t", partition] = offset

    @rule(seconds=st.sampled_from([1, 3, 9, 21, 40]))
    def time_passes(self, seconds: int) -> None:
        self.harness.advance(1000 * seconds)

    @rule()
    def restart(self) -> None:
        """What waits is lost with the broker; a generation that was not stored may be given again."""
        self.harness = self.harness.restart()
        group = self.harness.shard._groups.get("g")
        stored = group.generation if isinstance(group, ClassicGroup) else 0
        self.generation = stored
        self.owners = {key: who for key, who in self.owners.items() if key[0] <= stored}
        for member in self.members:
            member.joining = member.syncing = None

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.harness.fetched() == self.committed

    def teardown(self) -> None:
        if len(self.members) > LIMIT:
            self.members = self.members[:LIMIT]
        instances: set[str] = set()
        self.members = [
            each
            for each in self.members
            if each.instance is None or not (each.instance in instances or instances.add(each.instance))  # type: ignore[func-returns-value]
        ]
        for _ in range(30):
            self.harness.advance(3_000)
            for member in self.members:
                self.act(member)
        self.harness.advance(0)
        if self.members:
            assert self.harness.state() == "Stable"
            assert len({each.generation for each in self.members}) == 1
            assert sorted(each for member in self.members for each in member.owned) == list(PARTITIONS)
        self.harness.advance(400_000)
        assert self.harness.unanswered == set()


TestGroup = Group.TestCase
TestGroup.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
