"""The properties of producers and consumers as these tools honour them; one without effect is said to have none."""

from collections.abc import Mapping
from pathlib import Path

import click

from kafpy.cli.main import fail
from kafpy.cli.options import read_properties
from kafpy.client import producer_settings
from kafpy.client.cluster import EARLIEST, LATEST
from kafpy.client.consumer import READ_COMMITTED, READ_UNCOMMITTED, Terms
from kafpy.client.producer import Policy
from kafpy.client.security import SettingsError

ISOLATIONS = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}
RESETS = {"earliest": EARLIEST, "latest": LATEST, "none": None}

CONNECTION = {"bootstrap.servers", "client.id", "request.timeout.ms", "security.protocol"}
"""What settings.from_properties reads."""
PRODUCER = {
    "acks",
    "batch.size",
    "buffer.memory",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delivery.timeout.ms",
    "enable.idempotence",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.request.size",
    "retries",
    "retry.backoff.ms",
}
CONSUMER = {
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "enable.auto.commit",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "isolation.level",
    "max.partition.fetch.bytes",
    "session.timeout.ms",
}


def from_file(path: Path | None) -> dict[str, str]:
    try:
        return {} if path is None else read_properties(path)
    except SettingsError as error:
        fail(str(error))


def warn_of_others(given: Mapping[str, str], known: set[str]) -> None:
    for key in sorted(set(given) - known - CONNECTION):
        if not key.startswith(("sasl.", "ssl.")):
            click.echo(f"kafpy: {key} has no effect here", err=True)


def number(given: Mapping[str, str], key: str, default: int) -> int:
    try:
        return producer_settings.number(given, key, default)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def flag(given: Mapping[str, str], key: str, default: bool) -> bool:
    return given[key].strip().lower() == "true" if key in given else default


def policy(client: Mapping[str, str], *, batch_bytes: int = 16384, crc_keys: bool = False) -> Policy:
    """Of a producer; UsageError for what makes no sense."""
    try:
        return producer_settings.policy(client, batch_bytes=batch_bytes, crc_keys=crc_keys)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


def terms(client: Mapping[str, str], *, reset: str = "latest") -> Terms:
    """Of a consumer; UsageError for what makes no sense."""
    level, reset = client.get("isolation.level", "read_uncommitted"), client.get("auto.offset.reset", reset)
    if level not in ISOLATIONS or reset not in RESETS:
        raise click.UsageError(f"isolation.level={level}, auto.offset.reset={reset}: not known")
    return Terms(
        isolation=ISOLATIONS[level],
        max_wait_ms=number(client, "fetch.max.wait.ms", 500),
        min_bytes=number(client, "fetch.min.bytes", 1),
        max_bytes=number(client, "fetch.max.bytes", 50 << 20),
        partition_bytes=number(client, "max.partition.fetch.bytes", 1 << 20),
        reset=RESETS[reset],
    )
