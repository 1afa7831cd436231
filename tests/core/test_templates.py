"""Batches printed by templates, compared with Python's own formatting of the same records."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafpy._core.batch import CorruptBatch
from kafpy._core.templates import Op, Template, tally
from tests.core.codecs import COMPRESS, decompress
from tests.core.reference import Record, encode

NS = 1_700_000_000_000


def literal(text: bytes) -> Op:
    return Op("literal", text=text)


def printed(ops: list[Op], data: bytes, **more: Any) -> bytes:
    return Template(ops).render(data, **more)[0]


ONE = encode([Record(b"v", b"k", NS, ((b"a", b"1"), (b"b", None)))], base_offset=9, leader_epoch=4, producer_id=7)


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ([Op("key"), literal(b":"), Op("value"), literal(b"\n")], b"k:v\n"),
        ([Op("topic"), Op("partition"), Op("offset"), Op("epoch"), Op("producer_id")], b"t5947"),
        ([Op("timestamp_type"), literal(b" "), Op("timestamp")], b"CreateTime 1700000000000"),
        ([Op("timestamp", "time", text=b"%F %T")], b"2023-11-14 22:13:20"),
        (
            [Op("key_size"), Op("value_size"), Op("topic_size"), Op("header_count"), Op("index"), Op("broker")],
            b"11120-1",
        ),
        ([Op("value_size", "big", width=4), Op("offset", "little", width=2)], b"\0\0\0\1\x09\0"),
        ([Op("offset", "hex", width=8), Op("value", "hex"), Op("key", "base64")], b"000000000000000976aw=="),
        (
            [Op("headers", between=b",", inner=(Op("key"), literal(b"="), Op("value", text=b"NULL"))), literal(b"|")],
            b"a=1,b=NULL|",
        ),
        ([Op("headers", inner=(literal(b" "), Op("value_size")))], b" 1 -1"),
    ],
)
def test_every_part(ops: list[Op], expected: bytes) -> None:
    assert printed(ops, ONE, topic=b"t", partition=5) == expected


def test_what_stands_for_nothing() -> None:
    data = encode([Record(None, None, NS)])
    ops = [
        Op("key", text=b"null"),
        Op("value", text=b"NULL"),
        Op("headers", text=b"NO_HEADERS"),
        Op("key", "json_member", text=b"k"),
    ]
    assert printed(ops, data) == b'nullNULLNO_HEADERS"k":null'
    assert printed([Op("value", "json", text=b"null"), Op("value_size")], data) == b"null-1"


@given(st.binary() | st.text().map(str.encode))
def test_text_styles(value: bytes) -> None:
    data = encode([Record(value, b"k", NS)])
    assert printed([Op("value", "hex")], data) == value.hex().encode()
    assert printed([Op("value", "base64")], data) == base64.b64encode(value)
    member = json.loads(b"{" + printed([Op("value", "json_member", text=b"value")], data) + b"}")
    shown = printed([Op("value", "json")], data)
    try:
        text = value.decode()
        assert member == {"value": text}
        assert json.loads(shown) == text
    except UnicodeDecodeError:
        assert base64.b64decode(member["value_base64"]) == value
        assert "\ufffd" in json.loads(shown)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5))
def test_numbers(times: list[int]) -> None:
    data = encode([Record(b"", None, time) for time in times])
    assert printed([Op("timestamp"), literal(b"\n")], data) == "".join(f"{time}\n" for time in times).encode()


def thousand() -> bytes:
    return b"".join(encode([Record(b"%d" % (at + i)) for i in range(10)], base_offset=at) for at in range(0, 1000, 10))


LINES = [Op("value"), literal(b"\n")]


@pytest.mark.parametrize(
    ("window", "expected", "next_offset"),
    [
        ({}, range(1000), 1000),
        ({"start": 995}, range(995, 1000), 1000),
        ({"start": 15, "stop": 27}, range(15, 27), 27),
        ({"start": 15, "stop": 30}, range(15, 30), 30),
        ({"start": 15, "most": 20}, range(15, 35), 35),
        ({"most": 0}, range(0), 0),
        ({"start": 2000}, range(0), 2000),
    ],
)
def test_windows(window: dict[str, int], expected: range, next_offset: int) -> None:
    text, count, after = Template(LINES).render(thousand(), **window)
    assert (text.split(), count, after) == ([b"%d" % number for number in expected], len(expected), next_offset)
    if "stop" not in window:
        size = sum(len(str(number)) for number in expected)
        assert tally(thousand(), **window) == (len(expected), size, next_offset)


@pytest.mark.parametrize("name", COMPRESS)
def test_compressed(name: str) -> None:
    codec, compress = COMPRESS[name]
    records = [Record(b"%d" % number) for number in range(50)]
    data = encode(records, compress, attributes=codec)
    text, count, _ = Template(LINES).render(data, decompress)
    assert (count, text.split()) == (50, [each.value for each in records])


def test_control_batches_and_cut_off_ones_print_nothing() -> None:
    control = encode([Record(b"marker", b"\0\0\0\1")], base_offset=1000, attributes=48)
    text, count, after = Template(LINES).render(thousand() + control + ONE[:-1], start=998)
    assert (text, count, after) == (b"998\n999\n", 2, 1001)


@pytest.mark.parametrize("at", [20, 40, 65])
def test_damage_is_found(at: int) -> None:
    damaged = bytearray(ONE)
    damaged[at] ^= 1
    with pytest.raises(CorruptBatch):
        printed(LINES, bytes(damaged))


def test_records_that_lie() -> None:
    with pytest.raises(CorruptBatch, match="do not add up"):
        printed(LINES, encode([Record(b"v")], lambda data: data[:-1] + b"\x7f"))


def test_log_append_time() -> None:
    data = encode([Record(b"v", None, 5), Record(b"v", None, 6)], attributes=8, max_timestamp=NS)
    assert printed([Op("timestamp_type"), Op("timestamp")], data) == b"LogAppendTime%d" % NS * 2
