"""NDJSON as `kafpy consume --format json` prints it, read back into records: one object per line.

value, key           text, null, or another JSON value, which stays as it was written; value_base64, key_base64: bytes
headers              [{"key": …, "value": … or "value_base64": …}], or an object of names and texts
partition            where it goes, unless told to place records anew; timestamp: milliseconds
topic                where none was given on the command line; offset: not looked at
"""

import base64
import json
from collections.abc import Callable
from typing import Any

from kafpy._core.lines import LineError, Packer

KEEP, PLACE_ANEW = True, False


class JsonLines:
    """packer_of: by topic name. topic: in place of the records' own."""

    def __init__(
        self, packer_of: Callable[[str], Packer], topic: str | None, *, partition: int | None, keep_partitions: bool
    ) -> None:
        self._packer_of = packer_of
        self._topic = topic
        self._partition = partition
        self._keep = keep_partitions
        self.lines = 0

    def feed(self, data: bytes, now_ms: int, last: bool) -> int:
        """The bytes that are done with."""
        end = len(data) if last else data.rfind(b"\n") + 1
        for line in data[:end].split(b"\n"):
            if line.strip():
                self.lines += 1
                try:
                    self._one(json.loads(line), now_ms)
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    text = line[:200].decode("utf-8", "replace")
                    raise LineError(f"no record on line number {self.lines} ({error}): {text}") from None
        return end

    def _one(self, record: Any, now_ms: int) -> None:
        topic = self._topic or record["topic"]
        packer = self._packer_of(topic)
        partition = (
            self._partition if self._partition is not None else record.get("partition", -1) if self._keep else -1
        )
        packer.add(
            _bytes(record, "value"),
            _bytes(record, "key"),
            timestamp=record.get("timestamp", now_ms),
            headers=_headers(record.get("headers") or ()),
            partition=partition,
        )


def _bytes(record: dict[str, Any], name: str) -> bytes | None:
    packed = record.get(f"{name}_base64")
    if packed is not None:
        return base64.b64decode(packed, validate=True)
    value = record.get(name)
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)).encode()


def _headers(given: Any) -> list[tuple[str, bytes | None]]:
    if isinstance(given, dict):
        return [(str(name), _bytes(given, name)) for name in given]
    return [(each["key"], _bytes(each, "value")) for each in given]
