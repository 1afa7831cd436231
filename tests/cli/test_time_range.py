"""Times, ranges and offsets as users write them."""

import pytest

from kafpy.cli.offset_spec import Place, Spec, SpecError, parse
from kafpy.cli.time_range import TimeError, parse_duration, parse_range, parse_time

NOW = 1_795_000_000_000
HOUR = 3_600_000
DAY = 24 * HOUR
NOVEMBER = 1_793_491_200_000
"""2026-11-01, UTC."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1700000000000", 1_700_000_000_000),
        ("1700000000", 1_700_000_000_000),
        ("2026-11-01", NOVEMBER),
        ("2026-11-01T01:00:00Z", NOVEMBER + HOUR),
        ("2026-11-01T01:00:00+01:00", NOVEMBER),
        ("-48h", NOW - 2 * DAY),
        ("-1h30m", NOW - 3 * HOUR // 2),
        ("-2d", NOW - 2 * DAY),
        ("end", NOW),
        ("start", 0),
    ],
)
def test_times(text: str, expected: int) -> None:
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-48h:-24h", (NOW - 2 * DAY, NOW - DAY)),
        ("-24h:end", (NOW - DAY, NOW)),
        ("2026-11-01:1h", (NOVEMBER, NOVEMBER + HOUR)),
        ("2026-11-01T00:00:00Z:2026-11-01T01:00:00Z", (NOVEMBER, NOVEMBER + HOUR)),
        ("2026-11-01T00:00:00Z:@2026-11-01T01:00:00Z", (NOVEMBER, NOVEMBER + HOUR)),
        ("-1h:30m", (NOW - HOUR, NOW - HOUR // 2)),
        ("-1h", (NOW - HOUR, None)),
        ("2026-11-01T00:00:00Z", (NOVEMBER, None)),
    ],
)
def test_ranges(text: str, expected: tuple[int, int | None]) -> None:
    assert parse_range(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "soon", "12345", "-24h:-48h", "2026-13-01", "1h:", "-1x"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(TimeError):
        parse_range(text, NOW)


def test_durations() -> None:
    assert [parse_duration(each) for each in ("90s", "1.5h", "-250ms", "2w", "h", "5")] == [
        90_000, 5_400_000, -250, 14 * DAY, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start", Spec(Place("start"))),
        ("latest", Spec(Place("end"))),
        ("stored", Spec(Place("stored"))),
        ("12", Spec(Place("offset", 12))),
        ("+12", Spec(Place("after", 12))),
        ("-12", Spec(Place("before", 12))),
        ("5:end", Spec(Place("offset", 5), Place("end"))),
        (":7", Spec(Place("start"), Place("offset", 7))),
        ("@-1h", Spec(Place("time", NOW - HOUR))),
        ("@-2h:-1h", Spec(Place("time", NOW - 2 * HOUR), Place("time", NOW - HOUR))),
        ("s@5", Spec(Place("time", 5))),
        ("e@6", Spec(None, Place("time", 6))),
    ],
)
def test_offsets(text: str, expected: Spec) -> None:
    assert parse(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "x", "1:x", "--1", "+", "s@x", "1.5"])
def test_what_is_no_offset(text: str) -> None:
    with pytest.raises(SpecError):
        parse(text, NOW)
