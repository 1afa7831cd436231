"""Any history of a group that consumers of both protocols come to and go from.

The harness checks after every step that no partition has two owners, that epochs never go back, and that a replay of
the log gives the same state. Here: that consumers have no more than the broker says, and that after a while of quiet
all that is subscribed to is with exactly one of them.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafpy.coordinator.group.modern.assignment import Held
from kafpy.coordinator.group.modern.group import ModernGroup
from kafpy.metadata.image import Image
from tests.coordinator.group.consumer import ClassicConsumer, Consumer, topic, topic_id
from tests.coordinator.group.harness import Harness

NAMES = ("t", "u", "v")
at = st.integers(0, 5)
topics = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.sizes = {"t": 6, "u": 3}
        self.epoch = 1
        self.harness = Harness(image=self.image())
        self.consumers: list[Consumer] = []
        self.classic: list[ClassicConsumer] = []
        self.made = 0

    def image(self) -> Image:
        return Image.of(self.epoch, [topic(name, size) for name, size in self.sizes.items()])

    @property
    def group(self) -> ModernGroup | None:
        group = self.harness.shard._groups.get("g")
        return group if isinstance(group, ModernGroup) else None

    def one(self, index: int) -> Consumer:
        return self.consumers[index % len(self.consumers)]

    @precondition(lambda self: len(self.consumers) < 4)
    @rule(names=topics, regex=st.sampled_from([None, None, "[tu]", "v?", ""]), static=st.booleans(), data=st.data())
    def join(self, names: list[str], regex: str | None, static: bool, data: Any) -> None:
        self.made += 1
        assignor = data.draw(st.sampled_from([None, "uniform", "range"]))
        consumer = Consumer(
            self.harness,
            f"m{self.made}",
            *names,
            regex=regex,
            instance=f"i{self.made}" if static else None,
            assignor=assignor,
        )
        self.consumers.append(consumer.join())

    @precondition(lambda self: len(self.classic) < 2)
    @rule(names=topics.filter(bool), static=st.booleans())
    def classic_joins(self, names: list[str], static: bool) -> None:
        self.made += 1
        instance = f"i{self.made}" if static else None
        self.classic.append(ClassicConsumer(self.harness, *names, instance=instance).join())

    @precondition(lambda self: any(each.instance and each.epoch > 0 for each in self.consumers))
    @rule(index=at, names=topics.filter(bool))
    def static_becomes_classic(self, index: int, names: list[str]) -> None:
        static = [each for each in self.consumers if each.instance and each.epoch > 0]
        consumer = static[index % len(static)]
        self.consumers.remove(consumer)
        self.classic.append(ClassicConsumer(self.harness, *names, instance=consumer.instance).join())

    @precondition(lambda self: any(each.instance for each in self.classic))
    @rule(index=at, names=topics)
    def static_becomes_modern(self, index: int, names: list[str]) -> None:
        static = [each for each in self.classic if each.instance]
        consumer = static[index % len(static)]
        self.classic.remove(consumer)
        self.made += 1
        self.consumers.append(Consumer(self.harness, f"m{self.made}", *names, instance=consumer.instance).join())

    @precondition(lambda self: self.classic)
    @rule(index=at)
    def classic_lives(self, index: int) -> None:
        self.classic[index % len(self.classic)].live()

    @precondition(lambda self: self.classic)
    @rule(index=at, silent=st.booleans())
    def classic_leaves(self, index: int, silent: bool) -> None:
        consumer = self.classic.pop(index % len(self.classic))
        if consumer.member_id and not silent:
            consumer.leave()

    @precondition(lambda self: self.consumers)
    @rule(index=at, comply=st.booleans())
    def live(self, index: int, comply: bool) -> None:
        self.one(index).live(comply)

    @precondition(lambda self: self.consumers)
    @rule(index=at)
    def answer_is_lost(self, index: int) -> None:
        consumer = self.one(index)
        if consumer.epoch > 0:
            owned = {each: list(numbers) for each, numbers in consumer.owned.items()}
            self.harness.modern(consumer.member_id, consumer.epoch, instance_id=consumer.instance, owned=owned)
            consumer.unsure = True

    @precondition(lambda self: self.consumers)
    @rule(index=at, silent=st.booleans())
    def leave(self, index: int, silent: bool) -> None:
        consumer = self.consumers.pop(index % len(self.consumers))
        if not silent and consumer.epoch > 0:
            consumer.leave()

    @precondition(lambda self: any(each.instance and each.epoch > 0 for each in self.consumers))
    @rule(index=at, other=st.booleans())
    def static_restarts(self, index: int, other: bool) -> None:
        static = [each for each in self.consumers if each.instance and each.epoch > 0]
        consumer = static[index % len(static)]
        consumer.leave(-2)
        if other:
            self.made += 1
            consumer.member_id = f"m{self.made}"
        consumer.try_join()

    @precondition(lambda self: self.consumers)
    @rule(index=at, names=topics, regex=st.sampled_from([None, "[uv]"]))
    def subscribe(self, index: int, names: list[str], regex: str | None) -> None:
        consumer = self.one(index)
        if consumer.epoch > 0:
            consumer.subscribe(*names, regex=regex)

    @rule(name=st.sampled_from(NAMES), size=st.integers(0, 9))
    def topics_change(self, name: str, size: int) -> None:
        """They grow, or are deleted."""
        if size > self.sizes.get(name, 0):
            self.sizes[name] = size
        elif not size:
            self.sizes.pop(name, None)
        self.epoch += 1
        self.harness.topics(self.image())

    @rule(seconds=st.sampled_from([1, 5, 11, 30, 61]))
    def time_passes(self, seconds: int) -> None:
        self.harness.advance(1000 * seconds)

    @rule()
    def restart(self) -> None:
        """Requests that wait are lost with the broker."""
        self.harness = self.harness.restart()
        for each in (*self.consumers, *self.classic):
            each.harness = self.harness
        for each in self.classic:
            each.joining = each.syncing = None

    @invariant()
    def nobody_has_what_is_not_its_own(self) -> None:
        group = self.group
        if group is None:
            return
        for consumer in self.consumers:
            member = group.members.get(consumer.member_id)
            if member is not None and member.epoch >= 0 and consumer.epoch > 0:
                assert all(numbers <= keys(member, each) for each, numbers in consumer.owned.items() if numbers)

    def teardown(self) -> None:
        """Quiet: all live on and comply, until those who left are forgotten and everything has its owner."""
        for _ in range(30):
            self.harness.advance(3_000)
            for each in (*self.consumers, *self.classic):
                each.live()
        wanted = {
            (name, partition)
            for each in (*self.consumers, *self.classic)
            for name in self.wants(each)
            for partition in range(self.sizes.get(name, 0))
        }
        ids = {topic_id(name): name for name in NAMES}
        held = [
            (ids[each], partition)
            for consumer in self.consumers
            for each, numbers in consumer.owned.items()
            for partition in numbers
        ]
        held += [
            (name, each) for consumer in self.classic for name, numbers in consumer.owned.items() for each in numbers
        ]
        assert len(held) == len(set(held))
        assert set(held) == wanted
        if self.group is not None and self.group.members:
            assert self.group.state.value == "Stable"
        assert self.harness.shard.unloaded().replies == []

    def wants(self, consumer: Consumer | ClassicConsumer) -> set[str]:
        if isinstance(consumer, ClassicConsumer):
            return set(consumer.topics)
        patterns = {"[tu]": {"t", "u"}, "v?": {"v"}, "[uv]": {"u", "v"}}
        return set(consumer.topics) | patterns.get(consumer.regex or "", set())


def keys(member: Any, each: bytes) -> set[int]:
    held: tuple[Held, Held] = member.assigned, member.revoking
    return {partition for some in held for partition in some.get(each, ())}


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
