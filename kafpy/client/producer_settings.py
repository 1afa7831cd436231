"""How a producer delivers, read from the Java client's properties, with its rules about what goes together. Pure."""

from collections.abc import Mapping

from kafpy.client.producer import Policy
from kafpy.client.security import SettingsError
from kafpy.storage.compression import CODECS

ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
MOST_RETRIES = (1 << 31) - 1
MOST_IN_FLIGHT = 5
"""Of an idempotent producer: so many batches a broker remembers."""


def policy(
    properties: Mapping[str, str], *, batch_bytes: int = 16384, request_bytes: int = 1 << 20, crc_keys: bool = False
) -> Policy:
    """SettingsError for what makes no sense. Properties that are not a producer's are passed over."""
    codec = properties.get("compression.type", "none")
    if codec not in CODECS:
        raise SettingsError(f"no codec {codec}: there are {', '.join(CODECS)}")
    acks = properties.get("acks", "all")
    if acks not in ACKS:
        raise SettingsError(f"acks can be 0, 1 or all, not {acks}")
    retries = number(properties, "retries", MOST_RETRIES)
    in_flight = number(properties, "max.in.flight.requests.per.connection", MOST_IN_FLIGHT)
    level = f"compression.{codec}.level"
    return Policy(
        acks=ACKS[acks],
        codec=CODECS[codec],
        level=number(properties, level, 0) if level in properties else None,
        batch_bytes=number(properties, "batch.size", batch_bytes),
        request_bytes=number(properties, "max.request.size", request_bytes),
        in_flight=in_flight,
        idempotent=_idempotent(properties, acks, retries, in_flight),
        retries=retries,
        backoff_s=number(properties, "retry.backoff.ms", 100) / 1000,
        request_timeout_s=number(properties, "request.timeout.ms", 30_000) / 1000,
        delivery_timeout_s=number(properties, "delivery.timeout.ms", 120_000) / 1000,
        max_block_s=number(properties, "max.block.ms", 60_000) / 1000,
        crc_keys=crc_keys,
    )


def _idempotent(properties: Mapping[str, str], acks: str, retries: int, in_flight: int) -> bool:
    """Unless said otherwise where it is possible, as with the Java client."""
    against = [
        *(["acks=all"] if ACKS[acks] != -1 else []),
        *(["retries of 1 or more"] if retries < 1 else []),
        *([f"max.in.flight.requests.per.connection up to {MOST_IN_FLIGHT}"] if in_flight > MOST_IN_FLIGHT else []),
    ]
    asked = properties.get("enable.idempotence")
    if asked is None:
        return not against
    wanted = asked.strip().lower() == "true"
    if wanted and against:
        raise SettingsError(f"enable.idempotence=true needs {' and '.join(against)}")
    return wanted


def number(properties: Mapping[str, str], key: str, default: int) -> int:
    try:
        return int(properties.get(key, default))
    except ValueError:
        raise SettingsError(f"{key}={properties[key]} is not a number") from None
