"""librdkafka's property names, as -X and kcat's configuration files give them, in Kafka's."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

from kafpy.cli import client_properties

ALIASES = {
    "metadata.broker.list": "bootstrap.servers",
    "request.required.acks": "acks",
    "compression.codec": "compression.type",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "message.max.bytes": "max.request.size",
}
RESETS = {"smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest", "error": "none"}
KNOWN = client_properties.PRODUCER | client_properties.CONSUMER | {"partitioner"}


class Properties(NamedTuple):
    client: dict[str, str]
    bootstrap: str | None
    crc_keys: bool
    """Keys are placed as librdkafka does by default, not as Java's client does."""


def gathered(config: Path | None, words: Iterable[str]) -> Properties:
    """From -F, $KCAT_CONFIG or ~/.config/kcat.conf, and from -X over it. `topic.` before a name is passed over."""
    named = config or os.environ.get("KCAT_CONFIG")
    path = Path(named) if named else Path.home() / ".config" / "kcat.conf"
    given = client_properties.from_file(path) if named or path.exists() else {}
    given |= client_properties.pairs(words, "-X")
    client = {}
    for key, value in given.items():
        name = key.removeprefix("topic.")
        client[ALIASES.get(name, name)] = value
    client_properties.warn_of_others(client, KNOWN)
    if "auto.offset.reset" in client:
        client["auto.offset.reset"] = RESETS.get(client["auto.offset.reset"], client["auto.offset.reset"])
    client.setdefault("isolation.level", "read_committed")
    partitioner = client.pop("partitioner", "consistent_random")
    if partitioner not in ("consistent_random", "murmur2_random", "murmur2"):
        raise click.UsageError(f"partitioner={partitioner} is not there: consistent_random or murmur2_random")
    return Properties(client, client.pop("bootstrap.servers", None), partitioner == "consistent_random")
