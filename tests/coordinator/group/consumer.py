"""Consumers as a broker sees them, of either protocol, for tests that let many of them do as they should."""

from dataclasses import replace
from typing import Any

from kafpy.coordinator.group.consumer_protocol import read_assignment, subscribed_topics, write_assignment
from kafpy.metadata.image import Image, Partition, Topic
from tests.coordinator.group.harness import Harness

Owned = dict[bytes, set[int]]


def topic(name: str, size: int, replicas: list[tuple[int, ...]] | None = None) -> Topic:
    placed = replicas or [(0,)] * size
    return Topic(name, topic_id(name), tuple(Partition(at, 0, 0, placed[at], placed[at]) for at in range(size)), {})


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def image(epoch: int = 1, **sizes: int) -> Image:
    return Image.of(epoch, [topic(name, size) for name, size in sizes.items()])


def again(found: Topic, generation: int) -> Topic:
    """Deleted, and created by the same name."""
    return replace(found, topic_id=f"{found.name}{generation}".encode().ljust(16, b"."))


class Consumer:
    """Of the new protocol: sends heartbeats, and does at once what the answers say."""

    def __init__(
        self,
        harness: Harness,
        member_id: str,
        *topics: str,
        group: str = "g",
        instance: str | None = None,
        regex: str | None = None,
        timeout_ms: int = 60_000,
        rack: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.harness, self.member_id, self.group, self.instance = harness, member_id, group, instance
        self.topics, self.regex, self.timeout_ms, self.rack, self.assignor = topics, regex, timeout_ms, rack, assignor
        self.epoch = 0
        self.owned: Owned = {}
        self.asked: Owned = {}
        """What it is to have."""
        self.unsure = False
        """An answer did not come: it says everything, to be told everything."""

    def join(self) -> "Consumer":
        error = self.try_join()
        assert error == 0, error
        return self

    def try_join(self) -> int:
        self.epoch, self.owned, self.asked, self.unsure = 0, {}, {}, False
        answer = self.send(
            0,
            owned={},
            rebalance_timeout_ms=self.timeout_ms,
            subscribed_topic_names=list(self.topics),
            subscribed_topic_regex=self.regex,
            rack_id=self.rack,
            server_assignor=self.assignor,
        )
        self.owned = {each: set(numbers) for each, numbers in self.asked.items()}
        return int(answer.error_code)

    def send(self, epoch: int | None = None, **fields: Any) -> Any:
        fields.setdefault("instance_id", self.instance)
        at = self.epoch if epoch is None else epoch
        answer = self.harness.modern(self.member_id, at, group=self.group, **fields)
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.asked = {each.topic_id: set(each.partitions) for each in answer.assignment.topic_partitions}
        return answer

    def beat(self, comply: bool = True) -> Any:
        """A heartbeat that says what it has; then it takes and gives up what it was told to."""
        fields: dict[str, Any] = {"owned": self.owned}
        if self.unsure:
            subscription = {"subscribed_topic_names": list(self.topics), "subscribed_topic_regex": self.regex or ""}
            fields |= {"rebalance_timeout_ms": self.timeout_ms, **subscription}
        self.unsure = False
        answer = self.send(**fields)
        if comply and answer.error_code == 0:
            self.owned = {each: set(numbers) for each, numbers in self.asked.items()}
        return answer

    def live(self, comply: bool = True) -> None:
        """A heartbeat, or whatever else keeps it going."""
        if self.epoch <= 0 or self.beat(comply).error_code in (25, 69, 82, 110):
            self.try_join()

    def subscribe(self, *topics: str, regex: str | None = None) -> Any:
        """What is not wanted any more is given up at once."""
        self.topics, self.regex = topics, regex
        fields = {"rebalance_timeout_ms": self.timeout_ms} if self.unsure else {}
        self.unsure = False
        subscription = {"subscribed_topic_names": list(topics), "subscribed_topic_regex": regex or ""}
        return self.send(owned=self.owned, **subscription, **fields)

    def leave(self, epoch: int = -1) -> Any:
        answer = self.harness.modern(self.member_id, epoch, group=self.group, instance_id=self.instance)
        self.epoch, self.owned, self.asked = 0, {}, {}
        return answer

    def has(self, name: str = "t") -> list[int]:
        return sorted(self.owned.get(topic_id(name), ()))


def settle(*consumers: "Consumer | ClassicConsumer", rounds: int = 12) -> None:
    """Until nobody is told anything new any more."""
    for _ in range(rounds):
        for consumer in consumers:
            consumer.beat()


class ClassicConsumer:
    """Of the classic protocol, cooperative (it says what it has, and keeps it while it rejoins)."""

    def __init__(self, harness: Harness, *topics: str, group: str = "g", instance: str | None = None) -> None:
        self.harness, self.topics, self.group, self.instance = harness, topics, group, instance
        self.member_id, self.generation = "", -1
        self.owned: dict[str, list[int]] = {}
        self.joining: int | None = None
        self.syncing: int | None = None
        self.version = 9

    def metadata(self) -> bytes:
        names = b"".join(len(name).to_bytes(2, "big") + name.encode() for name in self.topics)
        owned = b"".join(
            len(name).to_bytes(2, "big")
            + name.encode()
            + len(numbers).to_bytes(4, "big")
            + b"".join(each.to_bytes(4, "big") for each in numbers)
            for name, numbers in self.owned.items()
        )
        head = b"\0\1" + len(self.topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"
        return head + len(self.owned).to_bytes(4, "big") + owned

    def join(self) -> "ClassicConsumer":
        self.joining = self.harness.join(
            self.member_id, group=self.group, instance=self.instance, protocols={"range": self.metadata()}
        )
        return self.go_on()

    def go_on(self) -> "ClassicConsumer":
        """Takes in the answer to its JoinGroup, and to the SyncGroup after it, if they are there."""
        answer = None if self.joining is None else self.harness.answer(self.joining)
        if answer is not None:
            self.joining = None
            if answer.error_code in (79, 27):
                self.member_id = answer.member_id
                return self.join()
            if answer.error_code in (25, 82):
                return self.begin()
            assert answer.error_code == 0, answer
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self.syncing = self.harness.sync(
                self.member_id,
                self.generation,
                self.assignments(answer.members),
                group=self.group,
                instance=self.instance,
            )
        answer = None if self.syncing is None else self.harness.answer(self.syncing)
        if answer is not None:
            self.syncing = None
            if answer.error_code in (22, 27):
                return self.join()
            if answer.error_code in (25, 82):
                return self.begin()
            assert answer.error_code == 0, answer
            self.owned = read_assignment(answer.assignment).partitions
        return self

    def begin(self) -> "ClassicConsumer":
        """As nobody the group knows."""
        self.member_id, self.generation, self.owned = "", -1, {}
        self.joining = self.syncing = None
        return self.join()

    def leave(self) -> list[int]:
        self.owned, self.joining, self.syncing = {}, None, None
        member_id, self.member_id, self.generation = self.member_id, "", -1
        return self.harness.leave((member_id, self.instance), group=self.group)

    def assignments(self, members: list[Any]) -> dict[str, bytes]:
        """As the leader of a classic group: each topic in turn among those who want it."""
        made: dict[str, dict[str, list[int]]] = {each.member_id: {} for each in members}
        for name, found in self.harness.image.topics.items():
            wants = [each.member_id for each in members if name in (subscribed_topics(each.metadata) or ())]
            for partition in range(len(found.partitions)):
                if wants:
                    made[wants[partition % len(wants)]].setdefault(name, []).append(partition)
        return {member_id: write_assignment(1, partitions) for member_id, partitions in made.items()}

    def beat(self) -> int:
        if self.joining is not None or self.syncing is not None:
            self.go_on()
            return -1
        error = self.harness.heartbeat(self.member_id, self.generation, group=self.group, instance=self.instance)
        if error == 27 or error == 22:
            self.join()
        elif error in (25, 82):
            self.begin()
        return error

    def live(self) -> None:
        if self.generation < 0 and self.joining is None and self.syncing is None:
            self.begin()
        else:
            self.beat()
