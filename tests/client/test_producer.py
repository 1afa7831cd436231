"""The producer against a broker that restarts, refuses and forgets."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafpy._core.lines import Form
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.producer import Policy, Producer
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, codecs_of

LINES = Form()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data")
    yield process
    process.stop()


def create(broker: BrokerProcess, name: str, partitions: int = 1, **configs: str) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create(name, partitions, {key.replace("_", "."): value for key, value in configs.items()})


def values(broker: BrokerProcess, topic: str, partition: int = 0) -> list[bytes | None]:
    with RawClient(broker.host, broker.port) as client:
        return client.values(topic, partition=partition)


def numbered(first: int, count: int) -> bytes:
    return b"".join(b"%d\n" % number for number in range(first, first + count))


@pytest.mark.parametrize(("crash", "in_flight"), [(True, 5), (False, 1)])
def test_a_broker_that_restarts_loses_and_doubles_nothing(broker: BrokerProcess, crash: bool, in_flight: int) -> None:
    """Records go out all the while; each is there once, and in order.

    After a clean stop a broker has a producer's last batch from its snapshot, as Kafka's does: with more than one in
    flight, one before the last could come twice. After a crash it has read the log again, and knows the last five.
    """
    create(broker, "t")
    sent = 0
    with Cluster(broker.bootstrap) as cluster:
        policy = Policy(batch_bytes=2000, idempotent=True, backoff_s=0.01, in_flight=in_flight)
        with Producer(cluster, policy) as producer:
            packer = producer.topic("t")
            restart = threading.Thread(target=broker.restart, kwargs={"crash": crash})
            for turn in range(400):
                packer.add_lines(numbered(sent, 500), LINES, timestamp=0)
                sent += 500
                producer.pump(flush=True)
                if turn == 20:
                    restart.start()
            while restart.is_alive():
                packer.add_lines(numbered(sent, 100), LINES, timestamp=0)
                sent += 100
                producer.pump(flush=True, wait_s=0.01)
            restart.join()
            producer.flush()
            assert producer.failed == {}
            assert producer.delivered == sent
            assert producer.held == 0
    assert values(broker, "t") == numbered(0, sent).split()


def test_a_batch_too_large_for_its_topic_is_split(broker: BrokerProcess) -> None:
    create(broker, "small", max_message_bytes="2000")
    policy = Policy(batch_bytes=100_000, idempotent=True)
    with Cluster(broker.bootstrap) as cluster, Producer(cluster, policy) as producer:
        packer = producer.topic("small")
        packer.add_lines(numbered(0, 3000), LINES, timestamp=0)
        packer.add(b"x" * 3000, timestamp=0)
        packer.add_lines(numbered(3000, 100), LINES, timestamp=0)
        producer.flush()
        assert producer.failed == {"MESSAGE_TOO_LARGE": 1}
    assert values(broker, "small") == numbered(0, 3100).split()


@pytest.mark.parametrize("acks", [0, 1, -1])
@pytest.mark.parametrize("codec", range(5))
def test_acks_and_codecs(broker: BrokerProcess, acks: int, codec: int) -> None:
    create(broker, "t", 3)
    told = []
    with Cluster(broker.bootstrap) as cluster:
        policy = Policy(acks=acks, codec=codec, batch_bytes=1000)
        with Producer(
            cluster, policy, done=lambda batch, offset: told.append((batch.packed.record_count, offset))
        ) as one:
            one.topic("t").add_lines(numbered(0, 1000), LINES, timestamp=0)
            one.flush()
            assert one.delivered == sum(count for count, _ in told) == 1000
            assert all((offset >= 0) == (acks != 0) for _, offset in told)
    with RawClient(broker.host, broker.port) as client:
        while sum(client.offset("t", -1, partition=partition).offset for partition in range(3)) < 1000:
            assert acks == 0
        found = [value for partition in range(3) for value in client.values("t", partition=partition)]
        assert sorted(found) == sorted(numbered(0, 1000).split())
        used = [codecs_of(client.fetch("t", partition=partition).records) for partition in range(3)]
        assert set().union(*used) == {codec}


def test_several_topics(broker: BrokerProcess) -> None:
    create(broker, "one")
    create(broker, "two", 2)
    with Cluster(broker.bootstrap) as cluster, Producer(cluster) as producer:
        producer.topic("one").add(b"1", timestamp=0)
        producer.topic("two").add(b"2", timestamp=0, partition=1)
        producer.flush()
    assert (values(broker, "one"), values(broker, "two", 1)) == ([b"1"], [b"2"])


def test_a_topic_is_made_where_the_broker_makes_topics(tmp_path: Path) -> None:
    for name, made in (("yes", "true"), ("no", "false")):
        process = BrokerProcess(tmp_path / name, auto_create_topics_enable=made)
        with Cluster(process.bootstrap) as cluster, Producer(cluster) as producer:
            if made == "true":
                assert producer.topic("new").partitions == 1
            else:
                with pytest.raises(ClientError, match="there is no topic new"):
                    producer._leaders.learn(["new"], create=True, timeout_s=0.2)
        process.stop()


def test_delivery_ends_when_the_broker_stays_away(broker: BrokerProcess) -> None:
    create(broker, "t")
    with Cluster(broker.bootstrap, timeout_s=30) as cluster:
        policy = Policy(delivery_timeout_s=3, backoff_s=0.01, idempotent=True)
        with Producer(cluster, policy) as producer:
            producer.topic("t").add(b"first", timestamp=0)
            producer.flush()
            broker.kill()
            producer.topic("t").add(b"never", timestamp=0)
            producer.flush()
            assert producer.failed in ({"LEADER_NOT_AVAILABLE": 1}, {"NETWORK_EXCEPTION": 1})
            assert producer.first_failure.startswith(f"t [0] on {broker.bootstrap}: ")
            producer.topic("t").add(b"nor this, for want of a producer id", timestamp=0)
            producer.flush()
            assert sum(producer.failed.values()) == 2
            broker.start()
            producer.topic("t").add(b"but this", timestamp=0)
            producer.flush()
            assert producer.delivered == 2


def test_a_refused_record_is_told_and_the_next_one_goes_through(broker: BrokerProcess) -> None:
    create(broker, "compacted", cleanup_policy="compact")
    with Cluster(broker.bootstrap) as cluster, Producer(cluster, Policy(idempotent=True)) as producer:
        packer = producer.topic("compacted")
        add: Callable[..., None] = packer.add
        add(b"no key", timestamp=0)
        producer.flush()
        add(b"with one", b"k", timestamp=0)
        producer.flush()
        assert producer.failed == {"INVALID_RECORD": 1}
        assert producer.delivered == 1
    assert values(broker, "compacted") == [b"with one"]
