"""Kafka's client properties as these tools honour them; one without effect is said to have none.

Sources, later ones win: --command-config FILE, then --command-property KEY=VALUE, and the older names of both.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from kafpy.cli.main import fail

PRODUCER = {
    "acks",
    "batch.size",
    "bootstrap.servers",
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
    "request.timeout.ms",
    "retries",
    "retry.backoff.ms",
}
CONSUMER = {
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "bootstrap.servers",
    "enable.auto.commit",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.id",
    "isolation.level",
    "max.partition.fetch.bytes",
    "request.timeout.ms",
    "session.timeout.ms",
}


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """Of KEY=VALUE words; several may stand in one, with commas between, as Kafka's tools take them."""
    found = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{option} {word}: not KEY=VALUE")
        found[key] = value
    return found


def from_file(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    from kafpy.broker.properties import PropertiesError, parse

    try:
        return {each.key: each.value for each in parse(path.read_text())}
    except (OSError, PropertiesError) as error:
        fail(f"cannot read {path}: {error}")


def warn_of_others(given: Mapping[str, str], known: set[str]) -> None:
    if any(key.startswith(("sasl.", "ssl.")) or key == "security.protocol" for key in given):
        fail("TLS and SASL are not supported by this client: use a plaintext listener")
    for key in sorted(set(given) - known):
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
