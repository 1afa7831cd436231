"""librdkafka's property names, as -X and kcat's configuration files give them, in Kafka's."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

from kafpy.cli import client_properties
from kafpy.cli.main import fail
from kafpy.cli.options import connection_settings, read_pairs
from kafpy.client.security import SettingsError
from kafpy.client.settings import ClientSettings

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
    "sasl.mechanisms": "sasl.mechanism",
}
RESETS = {"smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest", "error": "none"}
KNOWN = client_properties.PRODUCER | client_properties.CONSUMER | {"partitioner"}


class Properties(NamedTuple):
    client: dict[str, str]
    settings: ClientSettings
    crc_keys: bool
    """Keys are placed as librdkafka does by default, not as Java's client does."""


def gathered(bootstrap: str | None, config: Path | None, words: Iterable[str]) -> Properties:
    """From -F, $KCAT_CONFIG or ~/.config/kcat.conf, from -X over it, and -b. `topic.` before a name is passed over.

    Under all of these: KAFPY_BOOTSTRAP_SERVER and the profile.
    """
    named = config or os.environ.get("KCAT_CONFIG")
    path = Path(named) if named else Path.home() / ".config" / "kcat.conf"
    given = client_properties.from_file(path) if named or path.exists() else {}
    given |= read_pairs(words, "-X")
    client = {}
    for key, value in given.items():
        name = key.removeprefix("topic.")
        client[ALIASES.get(name, name)] = value
    _secured(client)
    client_properties.warn_of_others(client, KNOWN)
    settings = connection_settings(os.environ.get("KAFPY_BOOTSTRAP_SERVER"), None, os.environ.get("KAFPY_PROFILE"))
    try:
        settings = settings.with_properties(client)
    except SettingsError as error:
        fail(str(error))
    if bootstrap is not None:
        settings = settings._replace(bootstrap=bootstrap)
    client = {**settings.properties, **client}
    if "auto.offset.reset" in client:
        client["auto.offset.reset"] = RESETS.get(client["auto.offset.reset"], client["auto.offset.reset"])
    client.setdefault("isolation.level", "read_committed")
    partitioner = client.pop("partitioner", "consistent_random")
    if partitioner not in ("consistent_random", "murmur2_random", "murmur2"):
        raise click.UsageError(f"partitioner={partitioner} is not there: consistent_random or murmur2_random")
    return Properties(client, settings, partitioner == "consistent_random")


def _secured(client: dict[str, str]) -> None:
    """librdkafka names a user, a password and a CA file where Java has jaas.config and a truststore."""
    username, password = client.pop("sasl.username", None), client.pop("sasl.password", None)
    if username is not None and password is not None:
        quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in (username, password))
        client["sasl.jaas.config"] = 'required username="{}" password="{}";'.format(*quoted)
    authorities = client.pop("ssl.ca.location", None)
    if authorities is not None:
        client |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authorities}
