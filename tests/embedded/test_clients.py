"""Other people's clients and a broker in their own process."""

import asyncio

import confluent_kafka
import kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

import kafpy


def seen(broker: kafpy.Broker) -> list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]:
    return [(each.key, each.value, each.headers) for each in broker.records("t", count=2)]


SENT = [(b"k", b"v1", (("h", b"1"),)), (None, b"v2", ())]


def test_confluent_kafka(broker: kafpy.Broker) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
    for key, value, headers in SENT:
        producer.produce("t", value, key, headers=list(headers))
    assert producer.flush(60) == 0
    assert seen(broker) == SENT
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["t"])
    assert [message.value() for message in consumer.consume(2, 60)] == [b"v1", b"v2"]
    consumer.close()


def test_kafka_python(broker: kafpy.Broker) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    for key, value, headers in SENT:
        producer.send("t", value, key, headers=list(headers))
    producer.flush(60)
    producer.close()
    assert seen(broker) == SENT
    consumer = kafka.KafkaConsumer(
        "t", bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
    )
    assert [next(consumer).value, next(consumer).value] == [b"v1", b"v2"]
    consumer.close()


def test_aiokafka(broker: kafpy.Broker) -> None:
    async def main() -> list[bytes | None]:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for key, value, headers in SENT:
                await producer.send_and_wait("t", value, key, headers=list(headers))
        assert seen(broker) == SENT
        consumer = AIOKafkaConsumer(
            "t", bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
        )
        async with consumer:
            return [(await consumer.getone()).value for _ in SENT]

    assert asyncio.run(main()) == [b"v1", b"v2"]
