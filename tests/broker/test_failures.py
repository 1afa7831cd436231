import logging

import pytest

from kafpy.broker.failures import INTERVAL_S, Failures


def fail(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


def test_once_a_minute_and_without_what_the_client_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    now = [0.0]
    failures = Failures(lambda: now[0])
    for number in range(5):
        failures.report("api key 3 version 1", fail(f"secret {number}"))
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("api key 3 version 1 failed with ValueError at ")
    assert "secret" not in caplog.text
    now[0] = INTERVAL_S + 1
    failures.report("api key 3 version 1", fail("secret"))
    assert "4 more since the last report" in caplog.messages[1]
