"""Arrow record batches as a producer takes them: every type, sliced anywhere; keys go where other clients send them."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from kafpy._core.lines import Packed, Packer
from kafpy.client.arrow_rows import rows_of
from tests.core.reference import Reader, read_record

TEXT = st.none() | st.text(max_size=6)
PAIRS = st.none() | st.lists(st.tuples(st.text(max_size=4), TEXT), max_size=3)
ROW = st.tuples(TEXT, TEXT, PAIRS, st.none() | st.integers(0, 6))
KINDS = st.sampled_from([pa.binary(), pa.string(), pa.large_binary(), pa.large_string()])


STICKY = 2


def raw(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def array(values: list[str | None], kind: pa.DataType) -> pa.Array:
    return pa.array([raw(value) for value in values], pa.large_binary()).cast(kind)


def header_type(kind: pa.DataType, wide: bool) -> pa.DataType:
    pair = pa.struct([("key", pa.string()), ("value", kind)])
    return pa.large_list(pair) if wide else pa.list_(pair)


def records(packed: Packed) -> list[Any]:
    reader = Reader(packed.records)
    read = [read_record(reader) for _ in range(packed.record_count)]
    return [(each.key, each.value, each.headers) for each in read]


@given(st.lists(ROW, max_size=20), KINDS, KINDS, st.booleans(), st.data())
def test_rows_are_records(rows: list[Any], key: pa.DataType, value: pa.DataType, wide: bool, data: Any) -> None:
    header = pa.array(
        [None if each[2] is None else [{"key": name, "value": raw(said)} for name, said in each[2]] for each in rows],
        header_type(pa.binary(), wide),
    )
    whole = pa.record_batch(
        {
            "partition": pa.array([each[3] for each in rows], pa.int32()),
            "headers": header,
            "value": array([each[1] for each in rows], value),
            "offset": pa.array(range(len(rows)), pa.int64()),
            "key": array([each[0] for each in rows], key),
        }
    )
    start = data.draw(st.integers(0, len(rows)))
    part, kept = whole.slice(start, data.draw(st.integers(0, len(rows) - start))), rows[start:]
    packer = Packer(7, batch_bytes=1 << 20, available=[STICKY])
    assert rows_of(part).pack(packer, timestamp=0)
    expected: dict[int, list[Any]] = {}
    for key_text, value_text, pairs, partition in kept[: part.num_rows]:
        place = partition
        if place is None:
            place = STICKY if key_text is None else (murmur2(raw(key_text)) & 0x7FFFFFFF) % 7
        headers = tuple((raw(name), raw(said)) for name, said in pairs or ())
        expected.setdefault(place, []).append((raw(key_text), raw(value_text), headers))
    assert {each.partition: records(each) for each in packer.take(True)} == expected


@given(st.binary(max_size=30), st.integers(1, 200))
def test_a_key_goes_where_other_clients_send_it(key: bytes, partitions: int) -> None:
    packer = Packer(partitions)
    rows_of(pa.record_batch({"value": pa.nulls(1, pa.binary()), "key": pa.array([key], pa.binary())})).pack(
        packer, timestamp=0
    )
    assert [each.partition for each in packer.take(True)] == [(murmur2(key) & 0x7FFFFFFF) % partitions]


def test_without_a_value_there_are_no_rows() -> None:
    with pytest.raises(KeyError):
        rows_of(pa.record_batch({"key": pa.array([b"k"])}))
