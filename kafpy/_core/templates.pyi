"""Fetched batches printed by a compiled template, without an object per record."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from typing_extensions import Buffer, disjoint_base

class Op(NamedTuple):
    """One part of a template.

    kind: "literal"; the text fields "topic", "key", "value"; "headers", whose `inner` ops run for each header with its
    key and value; "timestamp_type" (in style "json" librdkafka's words); the numbers "partition", "offset",
    "timestamp", "epoch", "key_size", "value_size" (-1 for null), "topic_size", "header_count", "producer_id",
    "producer_epoch", "index" (of the printed record) and "broker".
    style: text "plain", "hex", "base64", "json", "json_member" (`"name":"…"`, or `"name_base64":"…"` for what is no
    UTF-8); numbers "plain", "big", "little", "hex" (all of `width` bytes) and "time" (strftime, UTC).
    text: the literal; what stands for null or for no headers; the member's name; the form of a time.
    between: what stands between two headers; before and after: around them, where there are any.
    """

    kind: str
    style: str = "plain"
    text: bytes = b""
    width: int = 0
    between: bytes = b""
    before: bytes = b""
    after: bytes = b""
    inner: tuple[Op, ...] = ()

@disjoint_base
class Template:
    def __new__(cls, ops: Iterable[Op]) -> Self: ...
    def render(
        self,
        record_sets: Buffer,
        decompress: Callable[[int, memoryview], Buffer] | None = None,
        *,
        topic: bytes = b"",
        partition: int = 0,
        start: int = 0,
        stop: int = ...,
        most: int = ...,
        index: int = 0,
        broker: int = -1,
        check_crcs: bool = True,
    ) -> tuple[bytes, int, int]:
        """What the records of consecutive batches from offset `start` to before `stop`, at most so many, look like; how
        many were printed; and the offset to go on from.

        Control batches print nothing, a cut-off batch at the end is ignored. CorruptBatch for a wrong CRC or records
        that do not add up.
        """

def tally(
    record_sets: Buffer,
    decompress: Callable[[int, memoryview], Buffer] | None = None,
    *,
    start: int = 0,
    most: int = ...,
    check_crcs: bool = True,
) -> tuple[int, int, int]:
    """How many records there are from offset `start` on, the bytes of their keys and values, and the next offset."""
