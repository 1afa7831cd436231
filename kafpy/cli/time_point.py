"""Points in time and ranges of them, as operators write them; UTC.

    1700000000000, 1700000000        milliseconds, seconds
    2026-11-01, 2026-11-01T09:30:00  days and times; with Z or +01:00 where it is not UTC
    -24h, -1d12h, -90m               so long ago
    start, end                       where there is a range: before everything, now

A range is FROM:TO; what stands alone is FROM, and TO is the end. A leading @ is passed over.
"""

import re
from datetime import UTC, datetime

UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
START_MS = 0

_DURATION = re.compile(r"(?:(\d+)(ms|[smhdw]))+")
_PART = re.compile(r"(\d+)(ms|[smhdw])")
_SECONDS_BELOW = 100_000_000_000
"""A smaller number is taken for seconds: as milliseconds it would lie in 1973 or before."""


class TimeError(ValueError):
    """Says what was expected."""


def parse_point(text: str, now_ms: int) -> int:
    """Milliseconds since the epoch."""
    word = text.strip().removeprefix("@")
    if word in ("end", "now"):
        return now_ms
    if word == "start":
        return START_MS
    if word.isascii() and word.isdecimal() and len(word) > 4:
        number = int(word)
        return number * 1000 if number < _SECONDS_BELOW else number
    if word.startswith("-") and _DURATION.fullmatch(word[1:]):
        return now_ms - sum(int(count) * UNITS_MS[unit] for count, unit in _PART.findall(word))
    try:
        when = datetime.fromisoformat(word)
    except ValueError:
        raise TimeError(f"{text!r} is no time: say -24h, 2026-11-01, 2026-11-01T09:30:00 or milliseconds") from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_range(text: str, now_ms: int) -> tuple[int, int]:
    """From and to; times have colons in them too, so the first one that parts two times parts the range."""
    for at, character in enumerate(text):
        if character == ":":
            try:
                return parse_point(text[:at], now_ms), parse_point(text[at + 1 :], now_ms)
            except TimeError:
                continue
    return parse_point(text, now_ms), now_ms
