"""When the inbox takes requests some at a time."""

from kafpy.broker.inbox import BUSY_RATE, Pace


def test_a_chatty_client_is_not_a_crowd() -> None:
    """200 requests a second, one by one."""
    pace, now = Pace(), 100.0
    for _ in range(1000):
        assert not pace.is_busy(now)
        pace.note(1)
        now += 0.005


def test_a_crowd_is() -> None:
    pace, now = Pace(), 100.0
    for _ in range(BUSY_RATE):
        assert not pace.is_busy(now)
        pace.note(1)
        now += 0.0001
    assert pace.is_busy(now)
    pace.note(10)
    assert pace.is_busy(now + 0.001)
    pace.note(1)
    assert not pace.is_busy(now + 0.002), "one alone was kept waiting"


def test_one_large_drain_is() -> None:
    pace = Pace()
    assert not pace.is_busy(100.0)
    pace.note(BUSY_RATE)
    assert pace.is_busy(100.0)
    pace.note(0)
    assert not pace.is_busy(100.0)
