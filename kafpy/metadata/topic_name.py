"""Kafka's rules for topic names (org.apache.kafka.common.internals.Topic).

A name that passes holds nothing that means something to a file system, so it is safe in a folder's name.
"""

import re
from collections.abc import Iterable

from kafpy.metadata.errors import MetadataError

MAX_LENGTH = 249
INVALID_TOPIC_EXCEPTION = 17

GROUP_METADATA = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
INTERNAL = frozenset({GROUP_METADATA, TRANSACTION_STATE})
"""The broker's own: clients may read them, not produce to them."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+\Z")


def fault(name: str) -> str | None:
    """What is wrong with `name`, or None."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"the length of '{name[:MAX_LENGTH]}' is longer than the max allowed length {MAX_LENGTH}"
    if not _LEGAL.match(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def check(name: str) -> None:
    reason = fault(name)
    if reason is not None:
        raise MetadataError(INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def metric_name(name: str) -> str:
    """Metric names cannot tell '.' from '_': two topics with the same metric name collide."""
    return name.replace(".", "_")


def has_collision_characters(name: str) -> bool:
    return "." in name or "_" in name


def check_collision(name: str, existing: Iterable[str]) -> None:
    if not has_collision_characters(name):
        return
    wanted = metric_name(name)
    for other in existing:
        if other != name and metric_name(other) == wanted:
            raise MetadataError(INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")
