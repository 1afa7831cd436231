"""Consumer groups of real clients on twelve partitions that are written to all the time.

Every group is checked when its test ends (group_checker.py). The last client speaks the newer protocol (KIP-848); with
it the first member has read before others come: librdkafka 2.16 that has to give up a partition while it asks for the
partition's first offset takes the late answer as a reason to fetch it again, and starts over when it gets it back.
"""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.group_checker import Generation, check_log
from tests.clients.group_members import PARTITIONS, Feeder, Group
from tests.clients.raw import RawClient
from tests.clients.raw_groups import listed

pytestmark = pytest.mark.timeout(400)
CLASSIC = ["confluent-kafka", "kafka-python", "aiokafka"]
MODERN = "confluent-kafka-848"
CONSUMER_GROUP_HEARTBEAT = 68
SHORT_MS = 6_000
"""A member that is not heard of for so long is dead; one on a busy machine is not."""
QUICK = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "group.consumer.min.session.timeout.ms": 100,
    "group.consumer.session.timeout.ms": SHORT_MS,
    "group.consumer.min.heartbeat.interval.ms": 50,
    "group.consumer.heartbeat.interval.ms": 100,
}


def quick_broker(directory: Path) -> BrokerProcess:
    return BrokerProcess(directory, **{key.replace(".", "_"): value for key, value in QUICK.items()})


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = quick_broker(tmp_path_factory.mktemp("groups") / "data")
    yield process
    process.stop()
    assert process.stderr == ""


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = quick_broker(tmp_path / "data")
    yield process
    process.kill()


@pytest.fixture(params=[*CLASSIC, MODERN])
def client(request: pytest.FixtureRequest, broker: BrokerProcess) -> str:
    if request.param == MODERN:
        with RawClient(broker.host, broker.port) as raw:
            served = raw.call(api.API_VERSIONS, 0, api.API_VERSIONS.request()).api_keys
        if CONSUMER_GROUP_HEARTBEAT not in {each.api_key for each in served}:
            pytest.skip("the broker does not serve ConsumerGroupHeartbeat")
    return str(request.param)


NUMBERS = count()
MakeGroup = Callable[..., Group]


@pytest.fixture
def make_group() -> Iterator[MakeGroup]:
    """make_group(broker, feeder=…): a group with a name of its own, on a fresh topic unless it shares a feeder."""
    feeders: list[Feeder] = []

    def make(broker: BrokerProcess, *, like: Group | None = None) -> Group:
        number = next(NUMBERS)
        if like is not None:
            return Group(broker, f"group-{number}", like.topic, like.feeder)
        with RawClient(broker.host, broker.port) as raw:
            raw.create(f"groups-{number}", PARTITIONS)
        feeders.append(Feeder(broker, f"groups-{number}"))
        return Group(broker, f"group-{number}", f"groups-{number}", feeders[-1])

    yield make
    for each in feeders:
        each.pause()


def log_of(group: Group, **more: Any) -> list[Generation]:
    with RawClient(group.broker.host, group.broker.port) as raw:
        return check_log(raw, group.name, PARTITIONS, **more)


def test_one_to_eight_members(broker: BrokerProcess, make_group: MakeGroup, client: str) -> None:
    names = [f"m{number}" for number in range(8)]
    with make_group(broker) as group:
        group.join(names[0], client)
        group.settled(names[0])
        group.join(names[1], client)
        group.settled(*names[:2])
        for name in names[2:]:
            group.join(name, client)
        group.settled(*names)
        group.leave(*names[:5])
        group.settled(*names[5:])
        group.leave(*names[5:7])
        group.settled(names[7])
    assert not group.said(["lost"])
    if client != MODERN:
        assert {len(each.members) for each in log_of(group)} >= {1, 2, 8, 3}


def test_a_member_that_crashes(broker: BrokerProcess, make_group: MakeGroup, client: str) -> None:
    with make_group(broker) as group:
        group.join("stays", client)
        group.settled("stays")
        group.join("also stays", client)
        group.join("dies", client, process=True, session_ms=SHORT_MS)
        group.settled("stays", "also stays", "dies")
        group.kill("dies")
        group.settled("stays", "also stays")
    assert not group.said(["lost"])
    if client != MODERN:
        log_of(group)


def test_a_rolling_restart_of_static_members(broker: BrokerProcess, make_group: MakeGroup, client: str) -> None:
    """Nobody but the one that restarts gets or gives up anything."""
    with make_group(broker) as group:
        for number in range(3):
            group.join(f"static-{number}", client, instance_id=f"static-{number}")
            group.settled(*(f"static-{each}" for each in range(number + 1)))
        shares = {name.removesuffix("'"): some for name, some in group.owned().items()}
        before = len(group.events)
        for number in range(3):
            group.leave(f"static-{number}")
            group.join(f"static-{number}'", client, instance_id=f"static-{number}")
            running = {f"static-{each}{chr(39) if each <= number else ''}" for each in range(3)}
            group.settled(*running)
        assert {name.removesuffix("'"): some for name, some in group.owned().items()} == shares
        moves = group.said(["assigned", "revoked", "lost"], since=before)
        assert sorted((each.kind, each.member) for each in moves if each.partitions) == [
            *(("assigned", f"static-{number}'") for number in range(3)),
            *(("revoked", f"static-{number}") for number in range(3)),
        ]
    if client != MODERN:
        numbers = [each.number for each in log_of(group)]
        assert numbers.count(max(numbers)) >= 4  # one assignment, and three that took their places in it


def test_a_cooperative_rebalance(broker: BrokerProcess, make_group: MakeGroup) -> None:
    """Partitions that stay with their owner are read on; only those that move are given up."""
    client, how = "confluent-kafka", {"strategy": "cooperative-sticky"}
    with make_group(broker) as group:
        group.join("a", client, **how)
        group.join("b", client, **how)
        group.settled("a", "b")
        before, owned = len(group.events), group.owned()
        group.join("c", client, **how)
        group.settled("a", "b", "c")
        given_up = {
            (each.member, index) for each in group.said(["revoked", "lost"], since=before) for index in each.partitions
        }
        moved = {(name, index) for name in "ab" for index in owned[name] - group.owned()[name]}
        assert given_up == moved
        assert len(moved) == 4
        before, owned = len(group.events), group.owned()
        group.leave("b")
        group.settled("a", "c")
        assert {each.member for each in group.said(["revoked", "lost"], since=before)} == {"b"}
        assert all(owned[name] < group.owned()[name] for name in "ac")
    assert not group.said(["lost"])
    log_of(group, whole=False)


def test_commit_and_resume(broker: BrokerProcess, make_group: MakeGroup, client: str) -> None:
    """All members go; who comes later reads on where they were."""
    with make_group(broker) as group:
        group.join("first", client)
        group.settled("first")
        group.join("second", client)
        group.settled("first", "second")
        group.leave("first", "second")
        committed = group.check().committed
        assert set(committed) == set(range(PARTITIONS))
        group.join("third", client)
        group.settled("third")
        group.until("everything is read on", lambda: len(firsts(group, "third")) == PARTITIONS)
        assert firsts(group, "third") == committed


def firsts(group: Group, name: str) -> dict[int, int]:
    """The first offset that a member read, by partition."""
    consumed = reversed(group.said(["consumed"], by=name))
    return {index: offsets[0] for each in consumed for index, offsets in each.partitions.items()}


def test_clients_of_all_kinds_in_one_group(broker: BrokerProcess, make_group: MakeGroup) -> None:
    with make_group(broker) as group:
        for client in CLASSIC:
            group.join(client, client)
        group.settled(*CLASSIC)
        group.leave(CLASSIC[0])
        group.settled(*CLASSIC[1:])
    assert not group.said(["lost"])
    log_of(group)


@pytest.mark.parametrize("classic", CLASSIC)
def test_up_and_down_between_the_protocols(broker: BrokerProcess, make_group: MakeGroup, classic: str) -> None:
    """The first member of KIP-848 takes the group with it, the last one leaves it classic; nobody stops reading."""
    with make_group(broker) as group, RawClient(broker.host, broker.port) as raw:

        def kind() -> str:
            return str(listed(raw)[group.name].group_type)

        group.join("a", classic)
        group.settled("a")
        assert kind() == "classic"
        group.join("b", MODERN)
        group.settled("a", "b")
        assert kind() == "consumer"
        group.leave("a")
        group.settled("b")
        group.join("c", classic)
        group.settled("b", "c")
        assert kind() == "consumer"
        group.leave("b")
        group.settled("c")
        assert kind() == "classic"
    assert not group.said(["lost"])


def test_several_groups_on_one_topic(broker: BrokerProcess, make_group: MakeGroup) -> None:
    """Each reads everything, and a rebalance of one is nothing to the others."""
    with make_group(broker) as first, make_group(broker, like=first) as second, make_group(broker, like=first) as third:
        for group, client in zip((first, second, third), CLASSIC, strict=True):
            group.join("a", client)
            group.settled("a")
        before = len(first.events)
        for group, client in zip((second, third), CLASSIC[1:], strict=True):
            group.join("b", client)
            group.settled("a", "b")
        first.caught_up()
        assert not first.said(["assigned", "revoked", "lost"], since=before)


def newest_generation(group: Group) -> int:
    return max(each.number for each in log_of(group))


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
def test_the_broker_restarts(own_broker: BrokerProcess, make_group: MakeGroup, client: str, crash: bool) -> None:
    """Groups and offsets are loaded again: members go on in their generation, and a new one is taken in."""
    with make_group(own_broker) as group:
        group.join("a", client)
        group.settled("a")
        group.join("b", client)
        group.settled("a", "b")
        owned, before = group.owned(), len(group.events)
        generation = newest_generation(group) if client != MODERN else 0
        group.feeder.pause()
        group.caught_up()
        own_broker.restart(crash=crash)
        group.feeder.resume()
        group.caught_up()
        # kafka-python may join once more in the same generation when it has lost the cluster from sight
        group.until("everybody has what they had", lambda: group.owned() == owned)
        assert not group.said(["lost"], since=before)
        assert client == MODERN or newest_generation(group) == generation
        group.join("c", client)
        group.settled("a", "b", "c")
    if client != MODERN:
        log_of(group)
