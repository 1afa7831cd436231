import pytest

from kafpy.cli.time_point import TimeError, parse_point, parse_range

NOW = 1_700_000_000_000
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("@1700000000000", NOW),
        ("1700000000", NOW),
        ("-24h", NOW - 24 * HOUR),
        ("@-1d12h", NOW - 36 * HOUR),
        ("-250ms", NOW - 250),
        ("2023-11-14", 1_699_920_000_000),
        ("2023-11-14T22:13:20", NOW),
        ("2023-11-14T23:13:20+01:00", NOW),
        ("end", NOW),
        ("start", 0),
    ],
)
def test_points(text: str, ms: int) -> None:
    assert parse_point(text, NOW) == ms


@pytest.mark.parametrize(
    "text", ["", "yesterday", "-5", "12", "-1x", "2023-13-01", "\u0661\u0661\u0661\u0661\u0661\u0661"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(TimeError, match="is no time"):
        parse_point(text, NOW)


@pytest.mark.parametrize(
    ("text", "range_"),
    [
        ("-24h:end", (NOW - 24 * HOUR, NOW)),
        ("@-2h:@-1h", (NOW - 2 * HOUR, NOW - HOUR)),
        ("-1h", (NOW - HOUR, NOW)),
        ("2023-11-14T22:13:20:end", (NOW, NOW)),
        ("start:2023-11-14T22:13:20", (0, NOW)),
    ],
)
def test_ranges(text: str, range_: tuple[int, int]) -> None:
    assert parse_range(text, NOW) == range_
