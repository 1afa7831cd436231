"""The broker's log on stderr: a line an event, for people or as JSON.

What clients send may stand in a message (names, ids): control characters are escaped, so that nobody writes lines of
their own into the log.
"""

import json
import logging
import sys
import time

_ESCAPES = {code: f"\\x{code:02x}" for code in [*range(32), *range(127, 160)]} | {10: "\\n", 9: "\\t"}


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.translate(_ESCAPES)
        return super().formatMessage(record)


class JSONLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def to_stderr(format: str, level: str) -> None:
    """From now on, for this whole process."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines() if format == "json" else TextLines())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for quiet in ("trio", "asyncio", "h11"):
        logging.getLogger(quiet).setLevel(max(logging.WARNING, getattr(logging, level.upper())))
