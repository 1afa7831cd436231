"""python -m bench.suite.librdkafka JSON: a load made by librdkafka, one process; prints one line of JSON."""

import json
import sys
import time
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

IDLE_S = 5.0


def main() -> None:
    asked = json.loads(sys.argv[1])
    before = time.process_time()
    made = produce(asked) if asked["kind"] == "produce" else consume(asked)
    print(json.dumps({**made, "client_cpu_s": time.process_time() - before}))


def produce(asked: dict[str, Any]) -> dict[str, Any]:
    seen: Counter[int] = Counter()
    failed = 0
    producer = Producer(
        {
            "bootstrap.servers": asked["bootstrap"],
            "acks": asked["acks"],
            "compression.codec": asked["codec"],
            "batch.num.messages": asked["records"],
            "batch.size": max(16384, asked["records"] * (asked["bytes"] + 80)),
            "linger.ms": 5,
            "max.in.flight.requests.per.connection": asked["in_flight"],
            "queue.buffering.max.messages": 100_000,
        }
    )
    value = bytes(index * 7 % 26 + 97 for index in range(asked["bytes"]))
    begun = time.perf_counter()
    sent, most = 0, asked["most_bytes"] // len(value)
    while time.perf_counter() - begun < asked["seconds"] and sent < most:
        due = begun + sent / asked["rate"] if asked["rate"] else time.perf_counter()
        while time.perf_counter() < due:
            producer.poll(0.0005)

        def delivered(error: KafkaError | None, _message: object, due: float = due) -> None:
            nonlocal failed
            seen[int((time.perf_counter() - due) * 1e6)] += 1
            failed += error is not None

        try:
            producer.produce(asked["topic"], value, partition=sent % asked["partitions"], on_delivery=delivered)
        except BufferError:
            producer.poll(0.01)
            continue
        sent += 1
        if sent % 64 == 0:
            producer.poll(0)
    producer.flush(60)
    return result(sent, len(value), time.perf_counter() - begun, failed, seen)


def consume(asked: dict[str, Any]) -> dict[str, Any]:
    consumer = Consumer(
        {
            "bootstrap.servers": asked["bootstrap"],
            "group.id": "bench",
            "enable.auto.commit": False,
            "max.partition.fetch.bytes": asked["max_bytes"],
            "queued.max.messages.kbytes": 65536,
        }
    )
    consumer.assign([TopicPartition(asked["topic"], index, 0) for index in range(asked["partitions"])])
    begun, last = time.perf_counter(), time.perf_counter()
    records = total = 0
    while time.perf_counter() - begun < asked["seconds"] and total < asked["most_bytes"]:
        found = consumer.consume(10_000, timeout=0.2)
        if found:
            last = time.perf_counter()
        elif time.perf_counter() - last > IDLE_S:
            break
        records += len(found)
        total += sum(len(each) for each in found)
    consumer.close()
    return result(records, total // max(records, 1), last - begun, 0, Counter())


def result(records: int, size: int, seconds: float, errors: int, seen: Counter[int]) -> dict[str, Any]:
    return {
        "requests": 0,
        "records": records,
        "bytes": records * size,
        "seconds": seconds,
        "errors": errors,
        "latencies": sorted(seen.items()),
        "percentiles": {name: quantile(seen, float(name) / 100) for name in ("50", "99", "99.9", "100")}
        if seen
        else {},
    }


def quantile(seen: Counter[int], share: float) -> int:
    below, everything = 0, seen.total()
    for latency, count in sorted(seen.items()):
        below += count
        if below >= share * everything:
            return latency
    return max(seen)


if __name__ == "__main__":
    main()
