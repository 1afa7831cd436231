from datetime import timedelta

import pytest

from kafpy.embedded.durations import Duration, to_ms


@pytest.mark.parametrize(
    ("duration", "ms"),
    [
        ("8d", 8 * 86_400_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("250ms", 250),
        ("1.5s", 1500),
        ("2w", 14 * 86_400_000),
        (timedelta(minutes=2), 120_000),
        (0.25, 250),
        (3, 3000),
    ],
)
def test_durations(duration: Duration, ms: int) -> None:
    assert to_ms(duration) == ms


@pytest.mark.parametrize("duration", ["", "8", "8 days", "d", "1h,30m", "-1s", -1, timedelta(days=-1)])
def test_what_is_none(duration: Duration) -> None:
    with pytest.raises(ValueError, match=r"is no duration|lies in the past"):
        to_ms(duration)
