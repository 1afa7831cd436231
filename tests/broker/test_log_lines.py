"""The log's lines: one an event, whatever clients put into names."""

import json
import logging
import sys

from kafpy.broker.log_lines import JSONLines, TextLines


def record(message: str, *arguments: object, error: bool = False) -> logging.LogRecord:
    info = None
    if error:
        try:
            raise ValueError("what went wrong")
        except ValueError:
            info = sys.exc_info()
    return logging.LogRecord("kafpy.broker.state", logging.INFO, "state.py", 1, message, arguments, info)


def test_a_line_for_people() -> None:
    line = TextLines().format(record("topic %s is created, partitions: %d", "orders", 3))
    assert line.endswith(" INFO    topic orders is created, partitions: 3")


def test_nobody_writes_lines_of_their_own() -> None:
    line = TextLines().format(record("group %s: empty", "g\n2026-01-01 INFO forged\x1b[2J"))
    assert "\n" not in line
    assert line.endswith(r"group g\n2026-01-01 INFO forged\x1b[2J: empty")
    assert JSONLines().format(record("group %s", "a\nb")).count("\n") == 0


def test_a_line_for_machines() -> None:
    told = json.loads(JSONLines().format(record("topic %s", "ä")))
    assert (told["level"], told["logger"], told["message"]) == ("info", "kafpy.broker.state", "topic ä")
    assert told["time"].endswith("Z")
    told = json.loads(JSONLines().format(record("failed", error=True)))
    assert "what went wrong" in told["exception"]
