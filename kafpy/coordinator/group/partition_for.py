"""Which partition of `__consumer_offsets` keeps a group.

Java's `String.hashCode` over UTF-16 units, made positive by clearing the sign (Kafka's Utils.abs), modulo the count:
brokers, tools and clients of Kafka all compute it, so it has to be the same to the last unit.
"""

from struct import unpack


def partition_for(group_id: str, count: int) -> int:
    data = group_id.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in unpack(f">{len(data) // 2}H", data):
        value = value * 31 + unit & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % count
