"""Columns packed into batches: the oracle's bytes, and buffers that lie."""

import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafpy._core.lines import Packed, Packer
from kafpy._core.rows import Headers, Numbers, RowError, Rows, Texts
from tests.core import reference
from tests.core.reference import Record
from tests.core.test_batch_codec import NULLABLE, RECORDS

SOME = b"junk before"


def bits(there: Iterable[bool], first: int) -> bytes:
    flags = [False] * first + [*there]
    return bytes(sum(flag << i for i, flag in enumerate(flags[at : at + 8])) for at in range(0, len(flags), 8))


def offsets(sizes: Sequence[int], first: int, wide: bool, start: int = 0) -> bytes:
    ends = [start]
    for size in sizes:
        ends.append(ends[-1] + size)
    return struct.pack(f"<{first + len(ends)}{'q' if wide else 'i'}", *[start] * first, *ends)


def texts(values: Sequence[bytes | None], first: int = 0, wide: bool = False) -> Texts:
    data = SOME + b"".join(value or b"" for value in values)
    lengths = offsets([len(value or b"") for value in values], first, wide, len(SOME))
    validity = bits((value is not None for value in values), first) if None in values else None
    return Texts(len(values), lengths, data, validity, first=first, wide=wide)


def headers(rows: Sequence[Any], first: int = 0, wide: bool = False) -> Headers:
    pairs = [pair for row in rows for pair in row or ()]
    keys, values = texts([key for key, _ in pairs], first, wide), texts([value for _, value in pairs], first, wide)
    lengths = offsets([len(row or ()) for row in rows], first, wide)
    return Headers(
        len(rows), lengths, keys, values, bits((row is not None for row in rows), first), first=first, wide=wide
    )


def packed(rows: Rows, packer: Packer | None = None, most_bytes: int = 1 << 30, timestamp: int = 7) -> list[Packed]:
    packer = packer or Packer(1, batch_bytes=1 << 30)
    turns = 0
    while not rows.pack(packer, timestamp=timestamp, most_bytes=most_bytes):
        turns += 1
        assert turns <= rows.done < rows.count
    assert rows.done == rows.count
    return packer.take(True)


@given(RECORDS, st.integers(0, 11), st.booleans(), st.integers(1, 200))
def test_the_oracles_bytes(records: list[Record], first: int, wide: bool, most_bytes: int) -> None:
    rows = Rows(
        texts([each.value for each in records], first, wide),
        keys=texts([each.key for each in records], first, wide),
        headers=headers([each.headers or None for each in records], first, wide),
    )
    same_time = [Record(each.value, each.key, 5, each.headers) for each in records]
    (batch,) = packed(rows, most_bytes=most_bytes, timestamp=5)
    assert batch.records == reference.encode_records(same_time)
    assert (batch.record_count, batch.base_timestamp, batch.max_timestamp) == (len(records), 5, 5)


@given(
    st.lists(st.tuples(NULLABLE, st.none() | st.integers(0, 4)), max_size=30), st.integers(0, 9), st.integers(61, 500)
)
def test_each_row_where_it_belongs(rows: list[tuple[bytes | None, int | None]], first: int, batch_bytes: int) -> None:
    """As if each had been added by itself: null partitions go by key, and batches end at the same places."""
    one, other = Packer(5, batch_bytes=batch_bytes, seed=9), Packer(5, batch_bytes=batch_bytes, seed=9)
    numbers = struct.pack(
        f"<{first + len(rows)}i", *[77] * first, *(-9 if place is None else place for _, place in rows)
    )
    columns = Rows(
        texts([b"v"] * len(rows)),
        keys=texts([key for key, _ in rows]),
        partitions=Numbers(len(rows), numbers, bits((place is not None for _, place in rows), first), first=first),
    )
    for key, place in rows:
        other.add(b"v", key, timestamp=7, partition=-1 if place is None else place)
    assert packed(columns, one) == other.take(True)


def test_values_alone_and_none_at_all() -> None:
    (batch,) = packed(Rows(texts([b"a", None])))
    assert batch.records == reference.encode_records([Record(b"a", timestamp=7), Record(None, timestamp=7)])
    assert packed(Rows(texts([]))) == packed(Rows(Texts(0, None, None), keys=Texts(0, b"", b""))) == []


def test_it_stops_when_there_is_enough() -> None:
    packer = Packer(1)
    rows = Rows(texts([b"x" * 100] * 50))
    assert not rows.pack(packer, timestamp=0, most_bytes=1000)
    assert 1000 <= packer.held <= 1110
    assert rows.done < 11
    with pytest.raises(ValueError, match="one byte at least"):
        rows.pack(packer, timestamp=0, most_bytes=0)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            lambda: Rows(texts([b"a", b"b"]), partitions=Numbers(2, struct.pack("<2i", 0, 3))),
            "no partition 3; there are 3",
        ),
        (lambda: Rows(texts([b"a", b"b"]), partitions=Numbers(2, struct.pack("<2i", 0, -1))), "no partition -1"),
        (lambda: Rows(texts([b"a", b"b"]), headers=headers([None, [(None, b"")]])), "a header without a key"),
        (
            lambda: Rows(
                texts([b"a", b"b"]),
                headers=Headers(2, offsets([0, 1], 0, False), texts([b"k"]), texts([b"v"]), entries=b"\0"),
            ),
            "a header without a key",
        ),
        (lambda: Rows(Texts(2, struct.pack("<3i", 0, 1, 0), b"a")), "do not ascend"),
        (lambda: Rows(Texts(2, struct.pack("<3i", 0, 1, 2), b"a")), "within its data"),
        (lambda: Rows(Texts(2, struct.pack("<3q", 0, 1, 1 << 40), b"a", wide=True)), "within its data"),
        (
            lambda: Rows(
                texts([b"a", b"b"]), headers=Headers(2, struct.pack("<3i", 0, 0, 2), texts([b"k"]), texts([b"v"]))
            ),
            "within its data",
        ),
    ],
)
def test_rows_that_are_no_records(rows: Any, said: str) -> None:
    """Those before it are packed."""
    packer, wrong = Packer(3), rows()
    for _ in range(2):
        with pytest.raises(RowError, match=said):
            wrong.pack(packer, timestamp=0)
    assert wrong.done == 1
    assert sum(each.record_count for each in packer.take(True)) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Texts(2, struct.pack("<2i", 0, 0), b""),
        lambda: Texts(2, struct.pack("<3i", 0, 0, 0), b"", wide=True),
        lambda: Texts(2, None, b""),
        lambda: Texts(2, struct.pack("<3i", 0, 0, 0), b"", first=1),
        lambda: Texts(9, bytes(40), b"", b"\0"),
        lambda: Texts(-1, bytes(40), b""),
        lambda: Texts(1, bytes(40), b"", first=-1),
        lambda: Texts(1 << 62, bytes(40), b""),
        lambda: Texts(1, bytes(40), b"", first=(1 << 63) - 1),
        lambda: Numbers(2, bytes(7)),
        lambda: Headers(1, bytes(8), texts([b"k"]), texts([])),
        lambda: Rows(texts([b"a"]), keys=texts([])),
        lambda: Rows(texts([b"a"]), headers=headers([])),
        lambda: Rows(texts([b"a"]), partitions=Numbers(2, bytes(8))),
    ],
)
def test_buffers_that_are_too_small(make: Any) -> None:
    with pytest.raises(RowError):
        make()


INTS = st.lists(st.integers(-3, 12) | st.integers(-(2**31), 2**31 - 1), min_size=5, max_size=5)


@given(INTS, INTS, INTS, st.binary(max_size=8), st.binary(min_size=1, max_size=1))
def test_whatever_the_buffers_say(
    one: list[int], other: list[int], third: list[int], data: bytes, validity: bytes
) -> None:
    """Nothing is read that is not theirs: a row is packed from within its data, or refused."""
    key, value, lists = (struct.pack("<5i", *each) for each in (one, other, third))
    rows = Rows(
        Texts(4, value, data, validity),
        keys=Texts(4, key, data),
        headers=Headers(4, lists, Texts(3, key, data, first=1), Texts(3, value, data, validity), entries=validity),
        partitions=Numbers(4, value, validity),
    )
    packer = Packer(3)
    with suppress(RowError):
        rows.pack(packer, timestamp=0)
    assert sum(each.record_count for each in packer.take(True)) == rows.done
