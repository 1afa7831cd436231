"""Columns of Arrow's layout into the open batches of a Packer, without an object per record.

    rows = Rows(Texts(count, offsets, data, validity), keys=…)
    while not rows.pack(packer, timestamp=now_ms, most_bytes=1 << 20):
        send(packer.take())

Buffers are held, not copied, and must not change until the rows are packed. `first`: where in the buffers the column
begins, as Arrow's offset of a sliced array. `wide`: offsets are int64, else int32. A validity of None: nothing is null.
Nothing here may be used by two threads at once.
"""

from typing import Self, final

from typing_extensions import Buffer

from kafpy._core.lines import Packer

class RowError(ValueError):
    """A row that cannot be a record, or buffers that contradict themselves. The rows before it are packed."""

@final
class Texts:
    """A column of keys or values: Arrow's binary or utf8, or their large kin."""

    def __new__(
        cls,
        count: int,
        offsets: Buffer | None,
        data: Buffer | None,
        validity: Buffer | None = None,
        *,
        first: int = 0,
        wide: bool = False,
    ) -> Self: ...

@final
class Numbers:
    """A column of int32."""

    def __new__(cls, count: int, data: Buffer | None, validity: Buffer | None = None, *, first: int = 0) -> Self: ...

@final
class Headers:
    """A column of lists of (key, value). `entries`: the validity of the pairs themselves, from `first_entry` on."""

    def __new__(
        cls,
        count: int,
        offsets: Buffer | None,
        keys: Texts,
        values: Texts,
        validity: Buffer | None = None,
        *,
        first: int = 0,
        wide: bool = False,
        entries: Buffer | None = None,
        first_entry: int = 0,
    ) -> Self: ...

@final
class Rows:
    """Columns of the same length. partitions: where a record goes; null, or without the column: by its key."""

    def __new__(
        cls,
        values: Texts,
        *,
        keys: Texts | None = None,
        headers: Headers | None = None,
        partitions: Numbers | None = None,
    ) -> Self: ...
    @property
    def count(self) -> int: ...
    @property
    def done(self) -> int:
        """Rows that are packed."""

    def pack(self, packer: Packer, *, timestamp: int, most_bytes: int = ...) -> bool:
        """From where it stopped, until the packer holds so many bytes more. True: all are packed. RowError for the
        row at `done`, the others before it being packed."""
