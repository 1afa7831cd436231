"""Many clients at once: nothing is lost or doubled, and each producer's records stay in order."""

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

from kafpy.protocol import api
from tests.broker_process import BrokerProcess
from tests.clients.drivers import DRIVERS, Message
from tests.clients.raw import RawClient, batch_of, produce_request

PARTITIONS = 6
PRODUCERS = 6
EACH = 900


def check(partition: list[bytes | None], expected: int) -> None:
    """`producer:number` values of one partition."""
    assert len(partition) == expected
    numbers = defaultdict(list)
    for value in partition:
        assert value is not None
        producer, number = value.split(b":")
        numbers[producer].append(int(number))
    for found in numbers.values():
        assert found == sorted(set(found))


def test_producers_and_consumers_of_all_kinds(broker: BrokerProcess, raw: RawClient, name: str) -> None:
    raw.create(name, PARTITIONS)
    per_partition = PRODUCERS * EACH // PARTITIONS
    kinds = cycle(DRIVERS.values())
    codecs = cycle(["none", "gzip", "lz4", "zstd", "snappy"])
    with ThreadPoolExecutor(PRODUCERS + PARTITIONS) as pool:
        reading = [
            pool.submit(next(kinds)(broker.bootstrap).consume, name, per_partition, partition=partition)
            for partition in range(PARTITIONS)
        ]
        writing = []
        for producer in range(PRODUCERS):
            messages = [Message(b"%d:%d" % (producer, number), partition=number % PARTITIONS) for number in range(EACH)]
            writing.append(pool.submit(next(kinds)(broker.bootstrap).produce, name, messages, codec=next(codecs)))
        for offsets in writing:
            assert len(offsets.result()) == EACH
        for found in reading:
            check([each.message.value for each in found.result()], per_partition)


def test_pipelines_of_many_connections(
    broker: BrokerProcess, raw: RawClient, connect: Callable[[BrokerProcess], RawClient], name: str
) -> None:
    """Twenty connections, each with five requests of four partitions in flight."""
    raw.create(name, 4)
    clients = [connect(broker) for _ in range(20)]

    def run(number: int) -> None:
        client = clients[number]
        for start in range(0, 100, 5):
            client.send(
                *(
                    (
                        api.PRODUCE,
                        9,
                        produce_request(name, dict.fromkeys(range(4), batch_of([b"%d:%d" % (number, at)]))),
                    )
                    for at in range(start, start + 5)
                )
            )
            for _ in range(5):
                answers = client.receive().responses[0].partition_responses
                assert [answer.error_code for answer in answers] == [0] * 4

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(run, range(len(clients))))
    for partition in range(4):
        check(raw.values(name, partition=partition), 2000)


def test_clients_that_leave_in_the_middle(
    broker: BrokerProcess, raw: RawClient, connect: Callable[[BrokerProcess], RawClient], topic: str
) -> None:
    for number in range(50):
        client = connect(broker)
        client.send((api.PRODUCE, 9, produce_request(topic, {0: batch_of([b"%d" % number])})))
        client.close()
    assert raw.produce(topic, batch_of([b"last"])).error_code == 0
    values = [value for value in raw.values(topic) if value]
    assert b"last" in values and len(values) == len(set(values))
