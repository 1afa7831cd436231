"""The properties of producers and consumers as these tools honour them; one without effect is said to have none."""

from collections.abc import Mapping
from pathlib import Path

import click

from kafpy.cli.main import fail
from kafpy.cli.options import read_properties
from kafpy.client.security import SettingsError

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
        return int(given.get(key, default))
    except ValueError:
        raise click.UsageError(f"{key}={given[key]} is not a number") from None


def acks(word: str) -> int:
    if word in ("all", "-1"):
        return -1
    if word in ("0", "1"):
        return int(word)
    raise click.UsageError(f"acks can be 0, 1 or all, not {word}")


def flag(given: Mapping[str, str], key: str, default: bool) -> bool:
    return given[key].strip().lower() == "true" if key in given else default
