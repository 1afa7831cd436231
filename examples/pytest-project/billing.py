"""Adds up the orders of each customer: reads `orders`, writes `totals`, keyed by customer.

An order is counted at least once: its offset is committed after its total is acknowledged.
"""

import json
from collections import defaultdict

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition


class Billing:
    def __init__(self, bootstrap_servers: str, **consumer_settings: str | int) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **consumer_settings,
            }
        )
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 0})
        self._totals = _last_totals(bootstrap_servers)
        self._consumer.subscribe(["orders"])

    def run_once(self, most: int = 100, timeout_s: float = 0.2) -> int:
        """How many orders were taken."""
        orders = self._consumer.consume(most, timeout_s)
        for order in orders:
            if order.error():
                raise RuntimeError(order.error())
            content = json.loads(order.value())
            customer = content["customer"]
            self._totals[customer] += content["cents"]
            self._producer.produce("totals", json.dumps(self._totals[customer]), customer)
        if orders:
            if self._producer.flush(30):
                raise RuntimeError("totals were not acknowledged within 30 s")
            self._consumer.commit(asynchronous=False)
        return len(orders)

    def close(self) -> None:
        self._consumer.close()


def _last_totals(bootstrap_servers: str) -> defaultdict[str, int]:
    """What the service had written when it stopped: the latest total of each customer."""
    totals: defaultdict[str, int] = defaultdict(int)
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "billing-start", "enable.auto.commit": False}
    reader = Consumer({**settings, "enable.partition.eof": True})
    try:
        known = reader.list_topics("totals", 10).topics["totals"].partitions
        reader.assign([TopicPartition("totals", partition, OFFSET_BEGINNING) for partition in known])
        unread = set(known)
        while unread:
            record = reader.poll(10)
            if record is None:
                raise RuntimeError("the totals cannot be read")
            if record.error():
                unread.discard(record.partition())
            else:
                totals[record.key().decode()] = int(record.value())
    finally:
        reader.close()
    return totals
