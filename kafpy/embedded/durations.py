"""Durations as one writes them: "8d", "1h30m", "250ms", a timedelta, or seconds as a number."""

import re
from datetime import timedelta

Duration = str | float | timedelta

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*")


def to_ms(duration: Duration) -> int:
    """ValueError for what is no duration, or one below 0."""
    if isinstance(duration, timedelta):
        ms = duration / timedelta(milliseconds=1)
    elif isinstance(duration, str):
        parts = _PART.findall(duration)
        if not parts or _PART.sub("", duration.strip()):
            raise ValueError(f"{duration!r} is no duration; write for example '8d', '1h30m', '250ms'")
        ms = sum(float(number) * _UNITS_MS[unit] for number, unit in parts)
    else:
        ms = duration * 1000
    if ms < 0:
        raise ValueError(f"{duration!r} lies in the past")
    return round(ms)
