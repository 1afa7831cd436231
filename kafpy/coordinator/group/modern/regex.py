"""Topics by regular expression, in RE2's language and by RE2: its time is linear in pattern and topics.

A pattern comes from anybody who may join a group, so it has bounds: its length, and the memory RE2 may take for it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from kafpy.coordinator.group.modern.refused import Refused
from kafpy.metadata.topic_name import INTERNAL
from kafpy.protocol.errors import ErrorCode

MAX_BYTES = 32_767
"""What the key of its record can hold."""
MAX_MEMORY = 1024 * 1024
"""Of one pattern; RE2 for Python keeps the last 128."""
SHOWN = 200


def check(pattern: str) -> None:
    try:
        _compiled(pattern)
    except ValueError as error:
        message = f"SubscribedTopicRegex `{_shown(pattern)}` is not a valid regular expression: {_shown(str(error))}."
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, message) from error


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """Those that match from end to end, internal topics never. A pattern that RE2 does not take has none: the log may
    have one of another broker's.
    """
    try:
        compiled = _compiled(pattern)
    except ValueError:
        return frozenset()
    return frozenset(name for name in names if name not in INTERNAL and compiled.fullmatch(name) is not None)


@lru_cache(maxsize=128)
def _compiled(pattern: str) -> Any:
    """ValueError where RE2 does not want it."""
    import re2  # only who subscribes by pattern pays for it

    if len(pattern.encode()) > MAX_BYTES:
        raise ValueError(f"longer than {MAX_BYTES} bytes")
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise ValueError(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from error
