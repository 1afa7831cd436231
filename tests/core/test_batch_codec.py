import itertools
import subprocess
import sys
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafpy._core import batch
from tests.core import codecs, reference
from tests.core.reference import Record, patch

TIMES = st.integers(-1, 2**62)
NULLABLE = st.none() | st.binary(max_size=40) | st.binary(min_size=60, max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=5).map(str.encode), st.none() | st.binary(max_size=9)), max_size=3)
RECORD = st.builds(Record, NULLABLE, NULLABLE, TIMES, HEADERS.map(tuple))
RECORDS = st.lists(RECORD, min_size=1, max_size=12)
CODECS = pytest.mark.parametrize("name", codecs.COMPRESS)


def encode(records: list[Record], codec: int = 0, **options: object) -> bytes:
    return batch.encode(
        [record.value for record in records],
        keys=[record.key for record in records],
        timestamps=[record.timestamp for record in records],
        headers=[record.headers for record in records],
        codec=codec,
        **options,  # type: ignore[arg-type]
    )


def column(values: batch.BytesColumn) -> list[bytes | None]:
    out: list[bytes | None] = []
    for i in range(len(values.offsets) - 1):
        data = values.data[values.offsets[i] : values.offsets[i + 1]].tobytes()
        valid = values.validity is None or values.validity[i >> 3] >> (i & 7) & 1
        assert valid or not data
        out.append(data if valid else None)
    return out


def rows(columns: batch.Columns) -> list[Record]:
    names, values = column(columns.headers.keys), column(columns.headers.values)
    starts = columns.headers.offsets.tolist()
    headers = [tuple(zip(names[a:b], values[a:b], strict=True)) for a, b in itertools.pairwise(starts)]
    return [
        Record(value, key, timestamp, pairs, offset)  # type: ignore[arg-type]
        for value, key, timestamp, pairs, offset in zip(
            column(columns.values),
            column(columns.keys),
            columns.timestamps.tolist(),
            headers,
            columns.offsets.tolist(),
            strict=True,
        )
    ]


@given(records=RECORDS)
def test_encode_writes_the_oracles_bytes(records: list[Record]) -> None:
    assert encode(records) == reference.encode(records)


@CODECS
@given(records=RECORDS, base=st.integers(0, 2**40))
def test_pairs_are_the_columns(name: str, records: list[Record], base: int) -> None:
    plain = reference.encode(records, base_offset=base)
    codec, compress = codecs.COMPRESS[name]
    packed = encode(records, codec, compress=compress, base_offset=base)
    control = encode(records, control=True, base_offset=base)
    data = plain + control + packed + plain[:-1]
    pairs, next_offset = batch.decode_pairs(data, codecs.decompress)
    columns = batch.decode_columns(data, codecs.decompress)
    assert pairs == [(record.offset, record.key, record.value) for record in rows(columns)]
    assert next_offset == columns.next_offset


def test_pairs_of_damaged_batches() -> None:
    data = batch.encode([b"v"], keys=[b"k"], timestamps=0)
    with pytest.raises(batch.CorruptBatch):
        batch.decode_pairs(data[:-1] + b"x")


@given(records=RECORDS, base=st.integers(0, 2**40))
def test_decode_reads_the_oracles_records(records: list[Record], base: int) -> None:
    data = reference.encode(records, base_offset=base, leader_epoch=3) * 2
    columns = batch.decode_columns(data)
    assert rows(columns) == list(reference.decode(data, codecs.decompress))
    assert columns.leader_epochs.tolist() == [3] * 2 * len(records)
    assert columns.next_offset == base + len(records)


@CODECS
@settings(max_examples=30)
@given(records=RECORDS)
def test_round_trip_by_codec(name: str, records: list[Record]) -> None:
    codec, compress = codecs.COMPRESS[name]
    data = encode(records, codec, compress=compress)
    assert batch.header(data).codec == codec
    assert list(reference.decode(data, codecs.decompress)) == rows(batch.decode_columns(data, codecs.decompress))
    assert rows(batch.decode_columns(data, codecs.decompress)) == rows(batch.decode_columns(encode(records)))


@given(records=RECORDS)
def test_columns_go_back_into_encode(records: list[Record]) -> None:
    data = encode(records)
    columns = batch.decode_columns(data)
    again = batch.encode(
        columns.values, keys=columns.keys, timestamps=columns.timestamps, headers=columns.headers, leader_epoch=-1
    )
    assert again == data


def test_columns_with_wide_offsets_and_one_timestamp() -> None:
    values = batch.BytesColumn(array("q", [0, 1, 3, 3]), b"abc", bytes([0b011]))
    assert batch.encode(values, timestamps=9) == batch.encode([b"a", b"bc", None], timestamps=[9, 9, 9])


@CODECS
def test_rebuild_changes_the_codec_and_nothing_else(name: str) -> None:
    records = [Record(b"v" * 50, b"k", 1000 + i) for i in range(20)]
    codec, compress = codecs.COMPRESS[name]
    plain = patch(encode(records), producer_id=9, producer_epoch=1, base_sequence=4, attributes=16, base_offset=5)
    packed = batch.rebuild(batch.header(plain), codec, compress(plain[61:]))
    assert batch.intact(packed)
    changed = {"batch_length", "crc", "attributes"}
    before, after = reference.fields_of(plain), reference.fields_of(packed)
    assert {field for field in before if before[field] != after[field]} == changed
    assert after["attributes"] == 16 | codec
    assert batch.rebuild(batch.header(packed), 0, codecs.decompress(codec, packed[61:])) == plain


def test_header_has_every_field() -> None:
    fields = {name: place + 1 for place, name in enumerate(reference.FIELDS)} | {"batch_length": 49, "magic": 2}
    data = patch(bytes(61), **fields)
    assert batch.header(data)._asdict() == reference.fields_of(data)
    assert batch.header(data).size == 61
    for bad in (data[:60], patch(data, magic=1), patch(data, batch_length=48), patch(data, batch_length=2**31 - 1)):
        with pytest.raises(batch.CorruptBatch):
            batch.header(bad)


def test_split_leaves_out_the_cut_off_batch() -> None:
    one, two = encode([Record(b"a")]), encode([Record(b"b" * 100)])
    assert batch.split(b"") == [0]
    assert batch.split(one + two) == [0, len(one), len(one + two)]
    for cut in (1, 60, 61, len(two) - 1):
        assert batch.split(one + two[:cut]) == [0, len(one)]
        assert len(batch.decode_columns(one + two[:cut]).offsets) == 1
    with pytest.raises(batch.CorruptBatch, match=f"byte {len(one)}"):
        batch.split(one + bytes(100))


def test_stamp_is_outside_the_crc() -> None:
    data = bytearray(encode([Record(b"a", timestamp=5), Record(b"b", timestamp=7)]))
    batch.stamp(data, 123456789012, 42)
    assert bytes(data) == patch(encode_times(5, 7), base_offset=123456789012, leader_epoch=42, seal=False)
    assert batch.intact(data)
    with pytest.raises(BufferError):
        batch.stamp(bytes(data), 1, 1)


def encode_times(*times: int) -> bytes:
    return encode([Record(b"ab"[i : i + 1], timestamp=time) for i, time in enumerate(times)])


def test_append_time_counts_for_every_record() -> None:
    data = bytearray(encode_times(5, 7))
    batch.stamp_append_time(data, 99)
    assert bytes(data) == patch(encode_times(5, 7), max_timestamp=99, attributes=8)
    columns = batch.decode_columns(data)
    assert columns.timestamps.tolist() == [99, 99]
    assert columns.timestamp_types.tolist() == [1, 1]
    with pytest.raises(batch.CorruptBatch):
        batch.stamp_append_time(data[:-1], 99)


def test_create_time_is_put_right_as_kafka_does() -> None:
    right = encode_times(5, 7)
    for wrong in (right, patch(right, max_timestamp=8), patch(right, max_timestamp=6), patch(right, attributes=8)):
        data = bytearray(wrong)
        batch.stamp_create_time(data)
        assert bytes(data) == right
    packed = bytearray(reference.encode([Record(b"a", timestamp=5)], codecs.gzip, attributes=9, max_timestamp=8))
    batch.stamp_create_time(packed)
    assert batch.intact(packed)
    assert (batch.header(packed).attributes, batch.header(packed).max_timestamp) == (1, 8)
    with pytest.raises(batch.CorruptBatch):
        batch.stamp_create_time(data[:-1])


def test_control_batches_are_left_out_but_move_the_next_offset() -> None:
    marker = batch.encode([bytes(6)], keys=[bytes(4)], timestamps=1, control=True, transactional=True, base_offset=1)
    data = encode([Record(b"a")]) + marker
    assert batch.decode_columns(data).offsets.tolist() == [0]
    assert batch.decode_columns(data).next_offset == 2
    assert batch.decode_columns(data, control=True).offsets.tolist() == [0, 1]


def test_compacted_batches_have_gaps_and_may_be_empty() -> None:
    records = b"".join(reference.encode_record(Record(b"v"), 0, delta) for delta in (2, 5))
    data = reference.frame(records, base_offset=10, last_offset_delta=7, record_count=2)
    data += reference.frame(b"", base_offset=18, last_offset_delta=3)
    columns = batch.decode_columns(data)
    assert columns.offsets.tolist() == [12, 15]
    assert columns.next_offset == 22


def test_nothing_at_all() -> None:
    columns = batch.decode_columns(b"")
    assert rows(columns) == []
    assert columns.next_offset == -1
    assert columns.headers.offsets.tolist() == columns.keys.offsets.tolist() == [0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (patch(encode_times(1), crc=1, seal=False), "CRC"),
        (patch(encode_times(1, 2), record_count=1), "add up"),
        (patch(encode_times(1), record_count=-1), "add up"),
        (reference.frame(b"\2\0", record_count=1), "add up"),
        (encode_times(1) + bytes(61), "header"),
    ],
)
def test_corrupt_batches_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(batch.CorruptBatch, match=message):
        batch.decode_columns(data)


def test_crc_checks_can_be_left_out() -> None:
    assert len(batch.decode_columns(patch(encode_times(1), crc=1, seal=False), check_crcs=False).offsets) == 1


@settings(max_examples=300)
@given(payload=st.binary(max_size=120), count=st.integers(0, 6))
def test_decode_of_random_records(payload: bytes, count: int) -> None:
    data = reference.frame(payload, record_count=count, last_offset_delta=max(count - 1, 0))
    try:
        expected = list(reference.decode(data, codecs.decompress))
        leftover = sum(len(reference.encode_record(record, 0, record.offset)) for record in expected) != len(payload)
    except reference.Lie:
        expected, leftover = [], True
    try:
        assert rows(batch.decode_columns(data)) == expected
    except batch.CorruptBatch:
        assert leftover


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: batch.encode([], timestamps=0), ValueError),
        (lambda: batch.encode([b"a"], timestamps=[]), ValueError),
        (lambda: batch.encode([b"a"], timestamps=[1, 2]), ValueError),
        (lambda: batch.encode([b"a"], timestamps=array("i", [1])), TypeError),
        (lambda: batch.encode([b"a"], keys=[], timestamps=0), ValueError),
        (lambda: batch.encode(["a"], timestamps=0), TypeError),  # type: ignore[list-item]
        (lambda: batch.encode([b"a"], timestamps=0, headers=[]), ValueError),
        (lambda: batch.encode([b"a"], timestamps=0, headers=[[(None, b"")]]), ValueError),  # type: ignore[list-item]
        (lambda: batch.encode([b"a"], timestamps=0, codec=1), ValueError),
        (lambda: batch.encode([b"a"], timestamps=0, codec=5, compress=bytes), ValueError),
        (lambda: batch.encode([b"a"], timestamps=0, compress=bytes), ValueError),
        (lambda: batch.encode(batch.BytesColumn(array("i", [0, 9]), b"abc", None), timestamps=0), ValueError),
        (lambda: batch.encode(batch.BytesColumn(array("i", [2, 1]), b"abc", None), timestamps=0), ValueError),
        (lambda: batch.encode(batch.BytesColumn(array("i", [0, 1]), b"abc", b""), timestamps=0), ValueError),
        (lambda: batch.encode(batch.BytesColumn(array("h", [0, 1]), b"abc", None), timestamps=0), TypeError),
        (lambda: batch.rebuild(batch.header(encode_times(1)), 5, b""), ValueError),
        (lambda: batch.decode_columns(patch(encode_times(1), attributes=1)), ValueError),
    ],
)
def test_misuse(call: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()  # type: ignore[operator]


def test_the_broker_does_not_load_numpy() -> None:
    script = "import sys, kafpy._core.batch; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
