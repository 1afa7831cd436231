"""Times and ranges of time as users write them after an `@`: rpk's forms. Pure.

1700000000000          milliseconds (13 digits)
1700000000             seconds (9 or 10 digits)
2026-11-01             midnight, UTC
2026-11-01T09:30:00Z   any ISO 8601 time; UTC unless it says otherwise
-48h  90m  1h30m  2d   that long from now, or from the start of the range
start  end             the first record; now

TIME                   from then on
TIME:TIME  TIME:@TIME  to before the second; a positive duration there counts from the first
"""

import re
from datetime import UTC, datetime

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"([+-]?)((?:\d+(?:\.\d+)?(?:ms|[smhdw]))+)")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
BEGINNING = 0


class TimeError(ValueError):
    """One line for the user."""


def parse_duration(text: str) -> int | None:
    """`-1h30m` in milliseconds; None if it is none."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    length = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(match[2]))
    return round(length) * (-1 if match[1] == "-" else 1)


def parse_time(text: str, now_ms: int, *, base_ms: int | None = None) -> int:
    """Milliseconds. A positive duration counts from base_ms, where there is one, every other one from now."""
    word = text.strip()
    if word in ("start", "beginning", "earliest"):
        return BEGINNING
    if word in ("end", "now", "latest"):
        return now_ms
    length = parse_duration(word)
    if length is not None:
        return (now_ms if base_ms is None or length < 0 else base_ms) + length
    if word.isascii() and word.isdigit():
        if len(word) == 13:
            return int(word)
        if len(word) in (9, 10):
            return int(word) * 1000
    elif "-" in word[1:]:
        try:
            moment = datetime.fromisoformat(word)
        except ValueError:
            pass
        else:
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return round(moment.timestamp() * 1000)
    raise TimeError(f"{text!r} is not a time like 2026-11-01, 2026-11-01T09:30:00Z, -48h or 1700000000000")


def parse_range(text: str, now_ms: int) -> tuple[int, int | None]:
    """From, and to before; None: without end. Times have colons too, so every colon is tried."""
    for place, character in enumerate(text):
        if character == ":":
            try:
                start = parse_time(text[:place], now_ms)
                end = parse_time(text[place + 1 :].removeprefix("@"), now_ms, base_ms=start)
            except TimeError:
                continue
            if end < start:
                raise TimeError(f"the range {text!r} ends before it starts")
            return start, end
    return parse_time(text, now_ms), None
