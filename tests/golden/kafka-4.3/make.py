"""Makes this folder's files with a running Apache Kafka; README.md has the other commands.

make.py produce BOOTSTRAP             the librdkafka topics
make.py expect BOOTSTRAP              TOPIC/manifest.json: what librdkafka's consumer reads back
make.py indexes < DUMP                adds to them the index entries that DumpLogSegments printed
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

HERE = Path(__file__).parent
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPICS = (
    *(f"java-{codec}" for codec in CODECS),
    "java-not-idempotent",
    "java-append-time",
    *(f"librdkafka-{codec}" for codec in CODECS),
    "librdkafka-transactions",
)


def send(producer: Producer, topic: str, numbers: range) -> None:
    for i in numbers:
        producer.produce(
            topic,
            key=None if i % 4 == 3 else f"key-{i % 5}",
            value=None if i % 6 == 5 else f"value {i} " + "klmnopqrst" * (i % 9),
            headers=[("n", str(i)), ("null", None), ("n", "")] if i % 3 == 0 else None,
            timestamp=1_700_000_000_000 + 1000 * (i ^ 1),
        )
    producer.flush()


def produce(bootstrap: str) -> None:
    for codec in CODECS:
        options = {"bootstrap.servers": bootstrap, "compression.codec": codec, "linger.ms": 50}
        producer = Producer({**options, "enable.idempotence": codec in ("none", "zstd")})
        for start in range(0, 40, 8):
            send(producer, f"librdkafka-{codec}", range(start, start + 8))
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "golden"})
    producer.init_transactions()
    for start in range(0, 24, 6):
        producer.begin_transaction()
        send(producer, "librdkafka-transactions", range(start, start + 6))
        if start == 6:
            producer.abort_transaction()
        else:
            producer.commit_transaction()


def consumed(consumer: Consumer, topic: str) -> list[dict[str, Any]]:
    partition = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(partition)
    consumer.assign([partition])
    records: list[dict[str, Any]] = []
    while consumer.position([partition])[0].offset < end:
        message = consumer.poll(1.0)
        if message is None:
            continue
        assert message.error() is None, message.error()
        kind, timestamp = message.timestamp()
        records.append(
            {
                "offset": message.offset(),
                "timestamp": timestamp,
                "append_time": kind == 2,
                "leader_epoch": message.leader_epoch(),
                "key": text(message.key()),
                "value": text(message.value()),
                "headers": [[header[0], text(header[1])] for header in message.headers() or []],
            }
        )
    return records


def text(data: Any) -> str | None:
    return None if data is None else bytes(data).decode()


def expect(bootstrap: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "golden",
            "isolation.level": "read_uncommitted",
            "enable.auto.commit": False,
        }
    )
    for topic in TOPICS:
        (HERE / topic).mkdir(exist_ok=True)
        write(topic, {"records": consumed(consumer, topic)})


def indexes() -> None:
    entries: dict[str, dict[str, list[list[int]]]] = {}
    rows: list[list[int]] = []
    for line in sys.stdin:
        if dumping := re.match(r"Dumping .*?([a-z0-9-]+)-0/(\d+\.(?:index|timeindex))$", line):
            rows = entries.setdefault(dumping[1], {}).setdefault(dumping[2], [])
        elif entry := re.match(r"(?:offset|timestamp): (\d+) (?:position|offset): (\d+)$", line):
            rows.append([int(entry[1]), int(entry[2])])
    for topic, files in entries.items():
        write(topic, json.loads((HERE / topic / "manifest.json").read_text()) | files)


def write(topic: str, manifest: dict[str, Any]) -> None:
    """One line for a record or an index, so that differences can be read."""
    parts = []
    for name, value in manifest.items():
        rows = ",\n".join(json.dumps(row) for row in value) if name == "records" else json.dumps(value)[1:-1]
        parts.append(f"{json.dumps(name)}: [\n{rows}\n]")
    (HERE / topic / "manifest.json").write_text("{" + ",\n".join(parts) + "}\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["produce", bootstrap]:
            produce(bootstrap)
        case ["expect", bootstrap]:
            expect(bootstrap)
        case ["indexes"]:
            indexes()
        case _:
            sys.exit(__doc__)
