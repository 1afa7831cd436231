"""Lines packed into batches: every layout, and where the records go."""

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from kafpy._core import batch
from kafpy._core.lines import Form, LineError, Packed, Packer, halves, partition_for
from tests.core.reference import Reader, Record, read_record

KEYED = (("key", b":"), ("value", b""))
HEADED = (("headers", b"\t"), ("key", b":"), ("value", b""))


def opened(packed: Packed) -> list[Record]:
    """With deltas in the place of timestamps."""
    built(packed)
    reader = Reader(packed.records)
    return [read_record(reader) for _ in range(packed.record_count)]


def built(packed: Packed) -> bytes:
    header = batch.BatchHeader(
        0,
        0,
        -1,
        2,
        0,
        0,
        packed.record_count - 1,
        packed.base_timestamp,
        packed.max_timestamp,
        -1,
        -1,
        -1,
        packed.record_count,
    )
    data = batch.rebuild(header, 0, packed.records)
    assert batch.check(data, now_ms=1 << 41, max_message_bytes=1 << 30) == 0
    return data


def records(taken: list[Packed]) -> list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]]:
    return [
        (each.key, each.value, [(name.decode(), value) for name, value in each.headers])
        for one in taken
        for each in opened(one)
    ]


def packed(data: bytes, form: Form, *, last: bool = True) -> list:
    packer = Packer(1)
    done = packer.add_lines(data, form, timestamp=7, last=last)
    assert not last or done == len(data)
    return records(packer.take(True))


@pytest.mark.parametrize(
    ("data", "form", "expected"),
    [
        (b"a\n\nb", Form(), [(None, b"a", []), (None, b"", []), (None, b"b", [])]),
        (b"a\r\nb\r\n", Form(strip_cr=True), [(None, b"a", []), (None, b"b", [])]),
        (b"a;;b;;", Form(delimiter=b";;"), [(None, b"a", []), (None, b"b", [])]),
        (b"k:v:w\n", Form(KEYED), [(b"k", b"v:w", [])]),
        (b"NULL:NULL\n", Form(KEYED, null_marker=b"NULL"), [(None, None, [])]),
        (b":\n", Form(KEYED, empty_key_null=True, empty_value_null=True), [(None, None, [])]),
        (b"v\n", Form(KEYED, ignore_errors=True), [(None, b"v", [])]),
        (b"v\n", Form(key=b"k", headers=[("a", b"1")]), [(b"k", b"v", [("a", b"1")])]),
        (b"a:1,b:N,c:\tk:v\n", Form(HEADED, null_marker=b"N"), [(b"k", b"v", [("a", b"1"), ("b", None), ("c", b"")])]),
        (b"N\tk:v\n", Form(HEADED, null_marker=b"N"), [(b"k", b"v", [])]),
        (b"a:1,\tk:v\n", Form(HEADED, headers=[("x", None)]), [(b"k", b"v", [("x", None), ("a", b"1")])]),
        (b"one\tk:v\n", Form(HEADED, ignore_errors=True), [(b"k", b"v", [("one", None)])]),
        (b"value key\n", Form((("value", b" "), ("key", b""))), [(b"key", b"value", [])]),
    ],
)
def test_layouts(data: bytes, form: Form, expected: list) -> None:
    assert packed(data, form) == expected


@pytest.mark.parametrize(
    ("data", "form", "said"),
    [
        (b"k:v\nno key\n", Form(KEYED), "No key separator found on line number 2: 'no key'"),
        (b"none\n", Form(HEADED), "No headers delimiter found on line number 1: 'none'"),
        (b"one\tk:v\n", Form(HEADED), "No header key separator found on line number 1"),
        (b"x v\n", Form((("partition", b" "), ("value", b""))), "no number on line number 1"),
        (b"5 v\n", Form((("partition", b" "), ("value", b""))), "the topic does not have on line number 1"),
    ],
)
def test_lines_that_are_not_laid_out_so(data: bytes, form: Form, said: str) -> None:
    packer = Packer(2)
    with pytest.raises(LineError, match=said):
        packer.add_lines(data, form, timestamp=0)


def test_an_unfinished_line_waits() -> None:
    packer = Packer(1)
    assert packer.add_lines(b"one\ntwo", Form(), timestamp=0) == 4
    assert records(packer.take(True)) == [(None, b"one", [])]
    assert packer.add_lines(b"two", Form(), timestamp=0) == 0
    assert packer.add_lines(b"two", Form(), timestamp=0, last=True) == 3
    assert packer.lines == 2


def test_partition_and_time_of_a_line() -> None:
    packer = Packer(3)
    form = Form((("partition", b" "), ("timestamp", b" "), ("value", b"")))
    packer.add_lines(b"2 1700000000000 a\n0 1600000000000 b\n2 1500000000000 c\n", form, timestamp=1)
    zero, two = packer.take(True)
    assert (zero.partition, zero.base_timestamp) == (0, 1_600_000_000_000)
    assert (two.base_timestamp, two.max_timestamp, two.record_count) == (1_700_000_000_000, 1_700_000_000_000, 2)
    assert [two.base_timestamp + each.timestamp for each in opened(two)] == [1_700_000_000_000, 1_500_000_000_000]


@given(st.binary(max_size=40), st.integers(1, 200))
def test_keys_go_where_other_clients_send_them(key: bytes, partitions: int) -> None:
    assert partition_for(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions
    for crc, expected in ((False, partition_for(key, partitions)), (True, crc32(key) % partitions)):
        packer = Packer(partitions, crc_keys=crc)
        packer.add(b"v", key, timestamp=0)
        if key or not crc:
            assert [each.partition for each in packer.take(True)] == [expected]


def test_batches_are_closed_before_they_grow_too_long() -> None:
    packer = Packer(1, batch_bytes=1000)
    packer.add_lines(b"".join(b"%090d\n" % number for number in range(100)), Form(), timestamp=0)
    packer.add(b"x" * 5000, timestamp=0)
    taken = packer.take(True)
    assert packer.held == 0
    assert all(len(built(each)) <= 1000 for each in taken[:-1])
    assert [value for _, value, _ in records(taken[:-1])] == [b"%090d" % number for number in range(100)]
    assert taken[-1].record_count == 1


def test_without_a_key_one_partition_at_a_time() -> None:
    packer = Packer(8, batch_bytes=500, available=[1, 5, 6], seed=3)
    packer.add_random(2000, 20, timestamp=0)
    taken = packer.take(True)
    assert {each.partition for each in taken} == {1, 5, 6}
    assert sum(each.record_count for each in taken) == 2000
    values = [value for _, value, _ in records(taken)]
    assert all(len(value) == 20 and value.isalpha() and value.isupper() for value in values)
    assert len(set(values)) == 2000
    packer.let([2])
    packer.add(b"v", timestamp=0)
    assert [each.partition for each in packer.take(True)] == [2]


def test_halves() -> None:
    packer = Packer(2)
    for number in range(5):
        packer.add(b"%d" % number, b"k", timestamp=100 + number, headers=[("h", b"v")], partition=1)
    (whole,) = packer.take(True)
    parts = halves(whole)
    assert [(each.partition, each.record_count, each.base_timestamp) for each in parts] == [(1, 2, 100), (1, 3, 102)]
    assert records(parts) == records([whole])


def test_misuse() -> None:
    with pytest.raises(ValueError, match="separator"):
        Form((("key", b""), ("value", b"")))
    with pytest.raises(ValueError, match="no partition 3"):
        Packer(3).add(b"v", timestamp=0, partition=3)
    with pytest.raises(TypeError, match="bytes or None"):
        Packer(1).add("v", timestamp=0)  # type: ignore[arg-type]
