"""What a client may produce. Test ids start with the row of the bad-input matrix they belong to (R1 corrupt, R2 length,
R3 magic, R4 batches, R5 base offset, R6 counts, R7 record structure, R8 control, R9 producer, R14 attributes,
R18 timestamps, R20 keys)."""

import ctypes
import mmap
import random
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafpy._core import batch
from tests.core import codecs, reference
from tests.core.reference import Record, frame, patch, sized, varint

NOW = 1_700_000_000_000
RECORDS = [
    Record(b"first", b"k1", NOW),
    Record(None, b"k2", NOW + 5, ((b"h", b"v"), (b"empty", b""), (b"null", None))),
    Record(b"x" * 200, b"", NOW + 2),
]
GOOD = reference.encode(RECORDS)
IDEMPOTENT = patch(GOOD, producer_id=7, producer_epoch=0, base_sequence=0)
ZSTD = reference.encode(RECORDS, codecs.zstd, attributes=4)
INT64_MAX = 2**63 - 1

OK, CORRUPT, TOO_LARGE, TIMESTAMP, CODEC, INVALID = 0, 2, 10, 32, 76, 87


def check(data: bytes, **policy: int | bool) -> int:
    return batch.check(data, **{"now_ms": NOW, **policy})  # type: ignore[arg-type]


def with_record(body: bytes, count: int = 1) -> bytes:
    """One batch of one record whose body is given."""
    return frame(
        varint(len(body)) + body,
        record_count=count,
        last_offset_delta=count - 1,
        base_timestamp=NOW,
        max_timestamp=NOW,
    )


def body(
    *, timestamp: bytes = b"\0", offset: bytes = b"\0", key: bytes = b"\1", value: bytes = b"\1", headers: bytes = b"\0"
) -> bytes:
    return b"\0" + timestamp + offset + key + value + headers


def times(base: int, maximum: int, *deltas: int) -> bytes:
    payload = b"".join(sized(body(timestamp=varint(delta), offset=varint(index))) for index, delta in enumerate(deltas))
    count = len(deltas)
    return frame(payload, record_count=count, last_offset_delta=count - 1, base_timestamp=base, max_timestamp=maximum)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(GOOD, id="plain"),
        pytest.param(IDEMPOTENT, id="idempotent"),
        pytest.param(patch(IDEMPOTENT, base_sequence=2**31 - 1), id="idempotent-wrapping"),
        pytest.param(patch(IDEMPOTENT, attributes=16), id="transactional"),
        pytest.param(patch(GOOD, leader_epoch=77, seal=False), id="leader-epoch-is-outside-the-crc"),
        pytest.param(with_record(body()), id="least-record"),
        pytest.param(with_record(body(timestamp=b"\x80\x80\0")), id="overlong-varint"),
        pytest.param(with_record(body(timestamp=varint(-NOW))), id="epoch-zero"),
        *(
            pytest.param(reference.encode(RECORDS, compress, attributes=codec), id=name)
            for name, (codec, compress) in codecs.COMPRESS.items()
        ),
    ],
)
def test_good_batches(data: bytes) -> None:
    assert check(data) == OK


BAD_FRAMES = [
    ("R1-crc", patch(GOOD, crc=1, seal=False), CORRUPT),
    ("R2-length-negative", patch(GOOD, batch_length=-1), CORRUPT),
    ("R2-length-least", patch(GOOD, batch_length=-(2**31)), CORRUPT),
    ("R2-length-48", patch(GOOD, batch_length=48), CORRUPT),
    ("R2-length-beyond", patch(GOOD, batch_length=len(GOOD) - 11), CORRUPT),
    ("R2-length-greatest", patch(GOOD, batch_length=2**31 - 1), CORRUPT),
    ("R2-cut-short", GOOD[:-1], CORRUPT),
    ("R2-cut-in-header", GOOD[:40], CORRUPT),
    ("R3-magic-0", patch(GOOD, magic=0), INVALID),
    ("R3-magic-1", patch(GOOD, magic=1), INVALID),
    ("R3-magic-3", patch(GOOD, magic=3), INVALID),
    ("R3-magic-minus-1", patch(GOOD, magic=-1), INVALID),
    ("R4-none", b"", INVALID),
    ("R4-less-than-a-length", GOOD[:11], INVALID),
    ("R4-two", GOOD + GOOD, INVALID),
    ("R4-trailing-byte", GOOD + b"\0", INVALID),
    ("R5-base-offset-1", patch(GOOD, base_offset=1), INVALID),
    ("R5-base-offset-minus-1", patch(GOOD, base_offset=-1), INVALID),
    ("R6-last-delta-less", patch(GOOD, last_offset_delta=1), INVALID),
    ("R6-last-delta-more", patch(GOOD, last_offset_delta=3), INVALID),
    ("R6-last-delta-negative", patch(GOOD, last_offset_delta=-1), INVALID),
    ("R6-count-0", patch(GOOD, record_count=0, last_offset_delta=-1), INVALID),
    ("R6-count-minus-1", patch(GOOD, record_count=-1, last_offset_delta=-2), INVALID),
    ("R6-count-least", patch(GOOD, record_count=-(2**31), last_offset_delta=2**31 - 1), INVALID),
    ("R6-count-greatest", patch(GOOD, record_count=2**31 - 1, last_offset_delta=2**31 - 2), INVALID),
    ("R6-count-greatest-packed", patch(ZSTD, record_count=2**31 - 1, last_offset_delta=2**31 - 2), INVALID),
    ("R6-more-records-than-counted", patch(GOOD, record_count=2, last_offset_delta=1), INVALID),
    ("R6-fewer-records-than-counted", patch(GOOD, record_count=4, last_offset_delta=3), INVALID),
    ("R8-control", patch(GOOD, attributes=0x20), INVALID),
    ("R8-control-transactional", patch(IDEMPOTENT, attributes=0x30), INVALID),
    ("R8-control-packed", patch(ZSTD, attributes=0x24), INVALID),
    ("R9-no-sequence", patch(IDEMPOTENT, base_sequence=-1), INVALID),
    ("R9-no-epoch", patch(IDEMPOTENT, producer_epoch=-1), INVALID),
    ("R9-sequence-without-producer", patch(GOOD, base_sequence=0, producer_epoch=0), OK),
    ("R14-codec-5", patch(ZSTD, attributes=5), CODEC),
    ("R14-codec-6", patch(ZSTD, attributes=6), CODEC),
    ("R14-codec-7", patch(GOOD, attributes=7), CODEC),
    ("R14-reserved-bits", patch(GOOD, attributes=0x7F80), OK),
]


@pytest.mark.parametrize(("data", "code"), [pytest.param(data, code, id=id_) for id_, data, code in BAD_FRAMES])
def test_header(data: bytes, code: int) -> None:
    assert check(data) == code


BAD_RECORDS = [
    ("R7-length-more", varint(7) + body()),
    ("R7-length-less", varint(5) + body()),
    ("R7-length-negative", varint(-1) + body()),
    ("R7-length-greatest", varint(2**31 - 1) + body()),
    ("R7-length-least", varint(-(2**31)) + body()),
    ("R7-length-overflow", b"\xff\xff\xff\xff\x1f" + body()),
    ("R7-length-6-bytes", b"\x8c\x80\x80\x80\x80\0" + body()),
    ("R7-trailing-in-record", sized(body() + b"\0")),
    ("R7-trailing-in-batch", sized(body()) + b"\0"),
    ("R7-no-attributes", varint(0)),
    ("R7-cut-after-key", varint(4) + b"\0\0\0\1"),
    ("R7-offset-delta-1", sized(body(offset=varint(1)))),
    ("R7-offset-delta-negative", sized(body(offset=varint(-1)))),
    ("R7-offset-delta-overflow", sized(body(offset=b"\x80\x80\x80\x80\x10"))),
    ("R7-timestamp-overflow", sized(body(timestamp=b"\x80" * 9 + b"\x02"))),
    ("R7-timestamp-endless", sized(body(timestamp=b"\x80" * 11 + b"\0"))),
    ("R7-key-minus-2", sized(body(key=varint(-2)))),
    ("R7-key-beyond", sized(body(key=varint(4)))),
    ("R7-key-greatest", sized(body(key=varint(2**31 - 1)))),
    ("R7-value-minus-2", sized(body(value=varint(-2)))),
    ("R7-value-beyond", sized(body(value=varint(2)))),
    ("R7-value-least", sized(body(value=varint(-(2**31))))),
    ("R7-header-count-negative", sized(body(headers=varint(-1)))),
    ("R7-header-count-beyond", sized(body(headers=varint(2) + sized(b"k") + sized(None)))),
    ("R7-header-count-greatest", sized(body(headers=varint(2**31 - 1) + sized(b"k") + sized(None)))),
    ("R7-header-key-null", sized(body(headers=varint(1) + sized(None) + sized(b"v")))),
    ("R7-header-key-beyond", sized(body(headers=varint(1) + varint(9) + sized(b"v")))),
    ("R7-header-value-minus-2", sized(body(headers=varint(1) + sized(b"k") + varint(-2)))),
    ("R7-header-value-beyond", sized(body(headers=varint(1) + sized(b"k") + varint(1)))),
    ("R7-header-trailing", sized(body(headers=varint(1) + sized(b"k") + sized(b"v") + b"\0"))),
]


@pytest.mark.parametrize("payload", [pytest.param(payload, id=id_) for id_, payload in BAD_RECORDS])
def test_records(payload: bytes) -> None:
    data = frame(payload, record_count=1, base_timestamp=NOW, max_timestamp=NOW)
    assert check(data) == batch.check_records(payload, 1) == INVALID
    assert check(patch(data, attributes=4)) == OK, "a compressed batch is not opened"


BAD_TIMES = [
    ("R18-delta-overflow", times(NOW, NOW, 0, INT64_MAX), TIMESTAMP),
    ("R18-delta-underflow", times(-2, -2, -(2**63)), TIMESTAMP),
    ("R18-base-greatest", times(INT64_MAX, INT64_MAX, 0), TIMESTAMP),
    ("R18-max-greatest", times(NOW, INT64_MAX, 0), OK),
    ("R18-max-greatest-packed", patch(ZSTD, max_timestamp=INT64_MAX), TIMESTAMP),
    ("R18-max-minus-1", times(NOW, -1, 0), OK),
    ("R18-max-minus-1-packed", patch(ZSTD, max_timestamp=-1), OK),
    ("R18-max-before-base", times(NOW, NOW - 1, 0), OK),
    ("R18-after-max", times(NOW, NOW, 3_600_001), TIMESTAMP),
    ("R18-after-max-exactly", times(NOW, NOW + 3_600_000, 3_600_000), OK),
    ("R18-base-after-max", times(NOW + 3_600_001, NOW + 3_600_001, 0), TIMESTAMP),
    ("R18-none", times(-1, -1, 0, 0), OK),
    ("R18-append-time-bit", patch(times(NOW, NOW, 0), attributes=8), OK),
    ("R18-append-time-bit-no-time", patch(times(-1, -1, 0), attributes=8), TIMESTAMP),
]


@pytest.mark.parametrize(("data", "code"), [pytest.param(data, code, id=id_) for id_, data, code in BAD_TIMES])
def test_timestamps(data: bytes, code: int) -> None:
    assert check(data) == code


def test_the_windows_of_time() -> None:
    old = times(NOW - 1001, NOW - 1001, 0)
    assert check(old) == OK
    assert check(old, before_max_ms=1000) == TIMESTAMP
    assert check(old, before_max_ms=1001) == OK
    assert check(times(NOW, NOW, 0, -1001), before_max_ms=1000) == TIMESTAMP
    assert check(times(NOW + 1, NOW + 1, 0), after_max_ms=0) == TIMESTAMP
    assert check(times(INT64_MAX, INT64_MAX, 0), after_max_ms=INT64_MAX) == OK
    assert check(times(-1, -1, 0), before_max_ms=0) == OK
    packed = patch(ZSTD, max_timestamp=NOW + 3_600_001)
    assert check(packed) == TIMESTAMP


def test_log_append_time_ignores_create_time_but_not_the_bit() -> None:
    far = times(INT64_MAX, INT64_MAX, 0)
    assert check(far, log_append_time=True) == OK
    assert check(patch(far, attributes=8), log_append_time=True) == TIMESTAMP


def test_r20_keys_required() -> None:
    keyless = reference.encode([Record(b"v", b"k", NOW), Record(b"v", None, NOW)])
    assert check(keyless) == OK
    assert check(keyless, keys_required=True) == INVALID
    assert check(GOOD, keys_required=True) == OK, "an empty key is a key"


def test_r2_max_message_bytes() -> None:
    assert check(GOOD, max_message_bytes=len(GOOD)) == OK
    assert check(GOOD, max_message_bytes=len(GOOD) - 1) == TOO_LARGE
    large = patch(GOOD, crc=1, seal=False)
    assert check(large, max_message_bytes=10) == TOO_LARGE, "before the CRC"


@pytest.mark.parametrize("data", [GOOD, ZSTD], ids=["plain", "zstd"])
def test_r1_any_bit_from_the_crc_on(data: bytes) -> None:
    for bit in range(17 * 8, len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        assert check(bytes(flipped)) == CORRUPT, f"bit {bit % 8} of byte {bit // 8}"
        assert not batch.intact(bytes(flipped))


def guarded() -> Callable[[bytes], memoryview]:
    """Places bytes right before a page that must not be touched: a read too far ends the process."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0

    def place(data: bytes) -> memoryview:
        start = mmap.PAGESIZE - len(data)
        pages[start : mmap.PAGESIZE] = data
        return memoryview(pages)[start : mmap.PAGESIZE]

    return place


PLACE = guarded()


@st.composite
def nearly_records(draw: st.DrawFn) -> tuple[bytes, int]:
    """Real records with some bytes overwritten, cut out or repeated."""
    payload = bytearray(reference.encode_records(RECORDS[: draw(st.integers(1, 3))]))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(payload) - 1))
        payload[place : place + draw(st.integers(0, 2))] = draw(st.binary(max_size=3))
    return bytes(payload), draw(st.integers(0, 4))


@settings(max_examples=500)
@given(
    records=nearly_records() | st.tuples(st.binary(max_size=300), st.integers(0, 5)),
    base=st.sampled_from([NOW, 0, -1, INT64_MAX, -(2**63)]),
    window=st.sampled_from([(-(2**63), INT64_MAX), (NOW, NOW + 3)]),
    keys_required=st.booleans(),
)
@example(records=(b"", 2**31 - 1), base=0, window=(0, 0), keys_required=False)
def test_the_walk_agrees_with_the_oracle(
    records: tuple[bytes, int], base: int, window: tuple[int, int], keys_required: bool
) -> None:
    payload, count = records
    earliest, latest = window
    expected = reference.walk(
        payload, count, base_timestamp=base, earliest=earliest, latest=latest, keys_required=keys_required
    )
    found = batch.check_records(
        PLACE(payload), count, base_timestamp=base, earliest=earliest, latest=latest, keys_required=keys_required
    )
    assert found == expected


@settings(max_examples=300)
@given(data=st.binary(max_size=200), header=st.integers(0, 61))
def test_random_bytes_are_refused_within_bounds(data: bytes, header: int) -> None:
    mixed = GOOD[:header] + data
    assert check(PLACE(mixed)) in (CORRUPT, INVALID)  # type: ignore[arg-type]
    sealed = frame(data, record_count=2, last_offset_delta=1)
    assert check(PLACE(sealed)) in (OK, TIMESTAMP, INVALID)  # type: ignore[arg-type]


@given(cut=st.integers(0, len(GOOD) - 1))
def test_every_cut_is_refused_within_bounds(cut: int) -> None:
    assert check(PLACE(GOOD[:cut])) in (CORRUPT, INVALID)  # type: ignore[arg-type]


def test_long_varints_of_every_width() -> None:
    rng = random.Random(5)
    for bits in range(63):
        delta = rng.randrange(2**bits, 2 ** (bits + 1)) * rng.choice((1, -1))
        assert batch.check_records(PLACE(sized(body(timestamp=varint(delta)))), 1) == OK
    for size in (63, 64, 8191, 8192):
        payload = sized(body(key=sized(b"k" * 10), value=sized(b"v" * size)))
        whole = PLACE(payload) if len(payload) <= mmap.PAGESIZE else payload
        assert batch.check_records(whole, 1) == OK
