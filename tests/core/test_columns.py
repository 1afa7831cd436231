"""Gathered columns against the slow reader of reference.py: whatever comes in, in whatever pieces it is taken."""

import random
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafpy._core import batch
from kafpy._core.columns import Gatherer, RecordSet
from tests.core import codecs, reference
from tests.core.reference import Record
from tests.core.test_batch_codec import CODECS, RECORDS, encode

ALL = ("key", "value", "offset", "timestamp", "timestampType", "headers")
EVERYTHING = (0, 2**62)
FARTHEST = (2**63 - 1, 1 - 2**63)
"""Times, in microseconds, that stand for those that an int64 does not hold."""


def values_of(text: Any) -> list[bytes | None]:
    count, nulls, validity, starts, data = text
    bounds = struct.unpack(f"<{count + 1}i", starts)
    held = bytes(data)
    assert len(held) == bounds[-1]
    bits = None if validity is None else bytes(validity)
    found = [
        held[bounds[i] : bounds[i + 1]] if bits is None or bits[i >> 3] >> (i & 7) & 1 else None for i in range(count)
    ]
    assert found.count(None) == nulls
    return found


def headers_of(rows: int, headers: Any) -> list[tuple[tuple[bytes, bytes | None], ...]]:
    nulls, validity, starts, keys, values = headers
    bounds = struct.unpack(f"<{rows + 1}i", starts)
    pairs = list(zip(values_of(keys), values_of(values), strict=True))
    assert len(pairs) == bounds[-1]
    found = [tuple(pairs[bounds[i] : bounds[i + 1]]) for i in range(rows)]
    there = [validity is None or bool(bytes(validity)[i >> 3] >> (i & 7) & 1) for i in range(rows)]
    assert there == [bool(each) for each in found]
    assert there.count(False) == nulls
    return found  # type: ignore[return-value]


def rows_of(taken: tuple[int, Any]) -> list[Record]:
    rows, columns = taken
    times = struct.unpack(f"<{rows}q", columns["timestamp"])
    assert all(each % 1000 == 0 or each in FARTHEST for each in times)
    return [
        Record(*each)
        for each in zip(
            values_of(columns["value"]),
            values_of(columns["key"]),
            [each // 1000 for each in times],
            headers_of(rows, columns["headers"]),
            struct.unpack(f"<{rows}q", columns["offset"]),
            strict=True,
        )
    ]


def gathered(
    sets: list[RecordSet], start: int, end: int, most_rows: int = 2**31, most_bytes: int = 2**31
) -> list[list[Record]]:
    gatherer = Gatherer(ALL, most_rows=most_rows, most_bytes=most_bytes)
    pieces = []
    for each in sets:
        while gatherer.feed(each, start, end, codecs.decompress):
            assert gatherer.rows
            pieces.append(rows_of(gatherer.take()))
    pieces.append(rows_of(gatherer.take()))
    return pieces


def flat(pieces: list[list[Record]]) -> list[Record]:
    return [record for piece in pieces for record in piece]


# times that fit into microseconds
TIMED = RECORDS.map(lambda records: [Record(r.value, r.key, r.timestamp % 2**50, r.headers) for r in records])


@CODECS
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_range_in_any_pieces_is_what_the_oracle_reads(name: str, data: st.DataObject) -> None:
    codec, compress = codecs.COMPRESS[name]
    offset, sets, expected = 0, [], []
    for _ in range(data.draw(st.integers(1, 3))):
        content = b""
        for records in data.draw(st.lists(TIMED, max_size=4)):
            offset += data.draw(st.integers(0, 3))  # compaction leaves gaps
            packed = data.draw(st.booleans())
            made = encode(records, codec, compress=compress) if packed else encode(records)
            stamped = bytearray(made)
            batch.stamp(stamped, offset, 0)
            content += stamped
            offset += len(records)
        expected += list(reference.decode(content, codecs.decompress))
        cut = data.draw(st.integers(0, 80))
        sets.append(RecordSet(content + encode([Record(b"cut off")])[:cut] if cut < 60 else content))
        assert sets[-1].size == len(content)
        assert sets[-1].next_offset == (offset if content else -1)
    start = data.draw(st.integers(0, offset + 1))
    end = data.draw(st.integers(start, offset + 2))
    most = data.draw(st.integers(1, 20))
    pieces = gathered(sets, start, end, most_rows=most)
    assert flat(pieces) == [each for each in expected if start <= each.offset < end]
    assert all(len(piece) < most + 12 for piece in pieces)


def test_pieces_end_by_bytes_too() -> None:
    content = b"".join(batch.encode([bytes(100)] * 10, timestamps=0, base_offset=10 * i) for i in range(10))
    pieces = gathered([RecordSet(content)], *EVERYTHING, most_bytes=1500)
    assert [len(piece) for piece in pieces] == [20] * 5
    assert [record.offset for record in flat(pieces)] == list(range(100))


def test_only_what_is_wanted_is_filled() -> None:
    content = batch.encode([b"a", None], keys=[b"k", None], timestamps=7, headers=[(), ((b"h", b"x"),)])
    for name in ALL:
        gatherer = Gatherer([name], most_rows=10, most_bytes=1000)
        assert not gatherer.feed(RecordSet(content), *EVERYTHING)
        rows, columns = gatherer.take()
        assert (rows, list(columns)) == (2, [name])
        assert gatherer.rows == 0
        assert gatherer.take()[0] == 0
    gatherer = Gatherer([], most_rows=10, most_bytes=1000)
    assert not gatherer.feed(RecordSet(content), *EVERYTHING)
    assert gatherer.take() == (2, {})


def test_append_times_and_times_beyond_arrow() -> None:
    content = bytearray(batch.encode([b"a", b"b"], timestamps=[5, 9]))
    batch.stamp_append_time(content, 77)
    gatherer = Gatherer(["timestamp", "timestampType"], most_rows=10, most_bytes=1000)
    gatherer.feed(RecordSet(content), *EVERYTHING)
    gatherer.feed(RecordSet(batch.encode([b"c", b"d"], timestamps=[2**62, -1], base_offset=2)), *EVERYTHING)
    _, columns = gatherer.take()
    assert struct.unpack("<4q", columns["timestamp"]) == (77_000, 77_000, 2**63 - 1, -1000)
    assert struct.unpack("<4i", columns["timestampType"]) == (1, 1, 0, 0)


def of_producer(producer_id: int, offset: int, value: bytes, *, transactional: bool = True, end: bool = False) -> bytes:
    return batch.encode(
        [value],
        keys=[b"\0\0\0\0"] if end else None,
        timestamps=0,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=-1 if end else 0,
        transactional=transactional,
        control=end,
    )


@settings(deadline=None)
@given(data=st.data())
def test_aborted_transactions_are_left_out(data: st.DataObject) -> None:
    """A history of transactions, the list of aborted ones as a broker gives it, and where a reader begins in it."""
    content, kept, aborted, open_since = [], [], [], {}
    steps = st.tuples(st.integers(0, 3), st.sampled_from(["write", "write", "plain", "commit", "abort"]))
    pending: dict[int, list[int]] = {}
    history = data.draw(st.lists(steps, max_size=30)) + [(producer, "abort") for producer in range(4)]
    for offset, (producer, step) in enumerate(history):
        if step == "write":
            open_since.setdefault(producer, offset)
            pending.setdefault(producer, []).append(offset)
            content.append(of_producer(producer, offset, b"t"))
        elif step == "plain":
            content.append(of_producer(producer + 10, offset, b"p", transactional=False))
            kept.append(offset)
        else:
            content.append(of_producer(producer, offset, b"\0" * 6, end=True))
            begun = open_since.pop(producer, None)
            if step == "abort" and begun is not None:
                aborted.append((producer, begun, offset))
            elif step == "commit":
                kept += pending.get(producer, [])
            pending.pop(producer, None)
    start = data.draw(st.integers(0, len(content)))
    told = [(producer, first) for producer, first, last in aborted if last >= start]
    random.Random(1).shuffle(told)
    read = RecordSet(b"".join(content[start:]), told)
    found = flat(gathered([read], *EVERYTHING, most_rows=data.draw(st.integers(1, 5))))
    assert [record.offset for record in found] == sorted(each for each in kept if each >= start)


@settings(max_examples=300, deadline=None)
@given(records=TIMED, place=st.integers(0, 400), mask=st.integers(1, 255), packed=st.booleans(), sealed=st.booleans())
def test_damage_is_told_and_never_followed(
    records: list[Record], place: int, mask: int, packed: bool, sealed: bool
) -> None:
    content = bytearray(encode(records, 4, compress=codecs.zstd) if packed else encode(records))
    content[place % len(content)] ^= mask
    if sealed and len(content) > 61:
        content = bytearray(reference.patch(bytes(content)))
    try:
        gathered([RecordSet(content)], *EVERYTHING)
    except ValueError:
        pass
    except Exception as error:  # what the codec says of bytes that are not its own
        assert packed, error


def test_counts_that_cannot_be_are_not_believed() -> None:
    for count in (-1, 2, 0x7FFFFFFF):
        content = reference.patch(batch.encode([b"v"], timestamps=0), record_count=count)
        with pytest.raises(batch.CorruptBatch, match="offset 0 is damaged"):
            gathered([RecordSet(content)], *EVERYTHING)


def test_misuse() -> None:
    with pytest.raises(ValueError, match="no such column: topic"):
        Gatherer(["topic"], most_rows=1, most_bytes=1)
    with pytest.raises(ValueError, match="at least one row"):
        Gatherer([], most_rows=0, most_bytes=1)
    with pytest.raises(batch.CorruptBatch, match="no record batch"):
        RecordSet(b"x" * 100)
    packed = encode([Record(b"v")], 4, compress=codecs.zstd)
    with pytest.raises(ValueError, match="no decompress"):
        Gatherer([], most_rows=1, most_bytes=1).feed(RecordSet(packed), *EVERYTHING)


def test_a_cut_off_batch_says_how_large_it_is() -> None:
    one = batch.encode([bytes(100)], timestamps=0)
    assert (RecordSet(one).wanted, RecordSet(b"").wanted) == (0, 0)
    assert (RecordSet(one[:-1]).wanted, RecordSet(one[:-1]).next_offset) == (len(one), -1)
    assert RecordSet(one + one[:10]).wanted == 61


def test_what_was_handed_over_outlives_everything() -> None:
    gatherer = Gatherer(["value"], most_rows=10, most_bytes=1000)
    gatherer.feed(RecordSet(batch.encode([b"kept"], timestamps=0)), *EVERYTHING)
    held = memoryview(gatherer.take()[1]["value"][4])
    del gatherer
    assert bytes(held) == b"kept"
    assert held.readonly
