"""From input lines to record batches: the open batches of a topic's partitions, filled without an object per record.

A Packer belongs to one thread at a time. What it closes is a batch's records, uncompressed; batch.rebuild puts a header
before them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from typing_extensions import Buffer, disjoint_base

class LineError(ValueError):
    """A line that is not laid out as it was said to be; in the words of Kafka's console producer."""

class Packed(NamedTuple):
    """The records of a batch, as they stand behind its header."""

    partition: int
    record_count: int
    base_timestamp: int
    max_timestamp: int
    records: bytes

@disjoint_base
class Form:
    """How a line is laid out: fields ("key", "value", "headers", "partition", "timestamp"), each with what ends it.

    The last field goes to the line's end. ignore_errors: a separator that is missing leaves its field out.
    skip_empty: no record of an empty line. null_marker: a key, value or header value that stands for null. key,
    headers, partition: of every line.
    """

    def __new__(
        cls,
        fields: Sequence[tuple[str, bytes]] = ...,
        *,
        delimiter: bytes = b"\n",
        strip_cr: bool = False,
        ignore_errors: bool = False,
        skip_empty: bool = False,
        null_marker: bytes | None = None,
        empty_key_null: bool = False,
        empty_value_null: bool = False,
        headers_separator: bytes = b",",
        header_separator: bytes = b":",
        key: bytes | None = None,
        headers: Sequence[tuple[str | bytes, bytes | None]] = (),
        partition: int = -1,
    ) -> Self: ...

@disjoint_base
class Packer:
    """batch_bytes: a batch is closed before it would be longer; a longer record is alone in its batch.

    available: the partitions that records without a key go to. crc_keys: place keys as librdkafka does.
    """

    def __new__(
        cls,
        partitions: int,
        *,
        batch_bytes: int = 16384,
        available: Iterable[int] | None = None,
        crc_keys: bool = False,
        seed: int = 0,
    ) -> Self: ...
    @property
    def partitions(self) -> int: ...
    @property
    def batch_bytes(self) -> int: ...
    @property
    def held(self) -> int:
        """Bytes of records that were not taken yet."""

    @property
    def lines(self) -> int:
        """Packed so far."""

    def let(self, available: Iterable[int]) -> None:
        """Only these partitions get records without a key from here on; all of them where none is left."""

    def add(
        self,
        value: bytes | None,
        key: bytes | None = None,
        *,
        timestamp: int,
        headers: Sequence[tuple[str | bytes, bytes | None]] = (),
        partition: int = -1,
    ) -> None:
        """One record; partition -1: by its key."""

    def add_lines(self, data: Buffer, form: Form, *, timestamp: int, last: bool = False) -> int:
        """Packs every whole line, with `last` also what follows them; the bytes that are done with. LineError for a
        line that is not laid out as `form` says; the lines before it are packed."""

    def add_random(self, count: int, size: int, *, timestamp: int) -> None:
        """Records without a key, their values random capitals, as kafka-producer-perf-test makes them."""

    def take(self, everything: bool = False) -> list[Packed]:
        """The batches that are full; with `everything`, the open ones too."""

def partition_for(key: bytes, partitions: int) -> int:
    """Where Kafka's Java client sends a key."""

def runs(packed: Packed) -> list[tuple[int, int, int]]:
    """(timestamp, records, bytes of their keys and values) of each run of records with the same timestamp."""

def halves(packed: Packed) -> list[Packed]:
    """Two batches with the records of one, which has at least two."""
