"""Modern groups of 1,000 members and 10 topics of 100 partitions: assignors, a join, a quiet heartbeat."""

from typing import Any

import pytest

from kafpy.coordinator.group.caller import Caller
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern.assignment import Target
from kafpy.coordinator.group.modern.assignor import Assignor, Problem, Subscriber, TopicLayout, targets
from kafpy.coordinator.group.modern.range import range_
from kafpy.coordinator.group.modern.uniform import uniform
from kafpy.coordinator.group.shard import GroupShard
from kafpy.coordinator.result import Result
from kafpy.metadata import Image, Partition, Topic
from kafpy.protocol.api import CONSUMER_GROUP_HEARTBEAT

MEMBERS = [f"member-{number:04}" for number in range(1000)]
NAMES = [f"topic-{number}" for number in range(10)]
IDS = [name.encode().ljust(16, b".") for name in NAMES]
IMAGE = Image.of(
    1,
    [
        Topic(name, topic_id, tuple(Partition(at, 0, 0, (0,), (0,)) for at in range(100)), {})
        for name, topic_id in zip(NAMES, IDS, strict=True)
    ],
)
CALLER = Caller("bench", "/127.0.0.1", 1)


def problem(owned: dict[str, Target], mixed: bool) -> Problem:
    members = {
        member: Subscriber(frozenset(IDS[: 5 + at % 6] if mixed else IDS), owned.get(member, {}), None)
        for at, member in enumerate(MEMBERS)
    }
    return Problem(members, {topic_id: TopicLayout(100, ()) for topic_id in IDS})


@pytest.mark.parametrize("assignor", [uniform, range_])
@pytest.mark.parametrize("mixed", [False, True], ids=["same", "mixed"])
@pytest.mark.parametrize("sticky", [False, True], ids=["fresh", "sticky"])
def test_assignor(benchmark: Any, assignor: Assignor, mixed: bool, sticky: bool) -> None:
    owned = targets(assignor(problem({}, mixed))) if sticky else {}
    benchmark(assignor, problem(owned, mixed))


def take(shard: GroupShard, result: Result) -> Any:
    for record in result.records:
        shard.replay(record, 0)
    return result.replies[0][1]


def heartbeat(shard: GroupShard, member: str, epoch: int, **fields: Any) -> Any:
    body = CONSUMER_GROUP_HEARTBEAT.request(group_id="g", member_id=member, member_epoch=epoch, **fields)
    return take(shard, shard.consumer_group_heartbeat(None, body, CALLER, 0, "fresh"))


@pytest.fixture(scope="module")
def shard() -> GroupShard:
    found = GroupShard(GroupConfig(), IMAGE)
    for member in MEMBERS:
        answer = join(found, member)
    assert answer.member_epoch == len(MEMBERS)
    return found


def join(shard: GroupShard, member: str) -> Any:
    return heartbeat(shard, member, 0, rebalance_timeout_ms=1000, subscribed_topic_names=NAMES, topic_partitions=[])


def test_join_and_leave(benchmark: Any, shard: GroupShard) -> None:
    def both() -> None:
        join(shard, "another")
        heartbeat(shard, "another", -1)

    benchmark(both)


def test_quiet_heartbeat(benchmark: Any, shard: GroupShard) -> None:
    epoch = join(shard, "quiet").member_epoch
    assert benchmark(heartbeat, shard, "quiet", epoch).error_code == 0
