"""Record sets into columns of Arrow's layout, a bounded piece at a time, without an object per record.

    rows = Gatherer(["offset", "value"], most_rows=10_000, most_bytes=8 << 20)
    for fetched in …:
        record_set = RecordSet(fetched.records, fetched.aborted)
        while rows.feed(record_set, start, end, decompress):
            use(rows.take())
    use(rows.take())

Buffers that are read must not change until their RecordSet is done. Neither class may be used by two threads at once.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, final

from typing_extensions import Buffer

@final
class Memory:
    """An array that was handed over: a read-only buffer, freed with the last reference."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class RecordSet:
    """The whole batches of a Fetch reply or of a piece of a segment. CorruptBatch when something else follows one."""

    def __new__(cls, data: Buffer, aborted: Iterable[tuple[int, int]] = ()) -> Self:
        """`aborted`: producer id and first offset of the transactions to leave out; none for READ_UNCOMMITTED."""
    @property
    def next_offset(self) -> int:
        """The offset after the last whole batch; -1 where there is none."""
    @property
    def wanted(self) -> int:
        """How large the batch is that is cut off at the end; 0 where none is."""
    @property
    def size(self) -> int:
        """Bytes of the whole batches."""

@final
class Gatherer:
    """Columns being filled: any of key, value, offset, timestamp, timestampType, headers."""

    def __new__(cls, columns: Iterable[str], *, most_rows: int, most_bytes: int) -> Self:
        """Full as soon as a batch brought it to so many rows, or bytes of keys, values and headers."""
    @property
    def rows(self) -> int: ...
    def feed(
        self,
        source: RecordSet,
        start: int,
        end: int,
        decompress: Callable[[int, memoryview], Buffer] | None = None,
    ) -> bool:
        """Records of `source`, from where it stands, whose offsets are in [start, end). True: full, take() and come
        again. False: nothing of it is left. CorruptBatch for a wrong CRC or records that do not add up."""
    def take(self) -> tuple[int, Mapping[str, Any]]:
        """The number of rows, and by column: offset int64, timestamp int64 microseconds, timestampType int32 as Memory;
        key and value as texts: (values, nulls, validity bitmap or None without nulls, int32 offsets, data); headers as
        (nulls, validity, int32 offsets, keys, values), the last two texts, null for a record without. Afterwards there
        are no rows."""
