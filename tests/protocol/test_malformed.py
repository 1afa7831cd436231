"""Bytes that lie: always MalformedRequest, at a bounded cost, never anything else."""

import contextlib
import random
from typing import Any

import pytest

from kafpy.protocol import MalformedRequest, api, codec
from kafpy.protocol.program import Message
from kafpy.protocol.schema import parse, versions
from kafpy.protocol.table import Api

REQUESTS = [
    pytest.param(spoken, version, id=f"{spoken.name}-v{version}")
    for spoken in api.ALL.values()
    for version in spoken.versions
]
LEGACY, FLEXIBLE = 0, 1


def program(table: str, version: int) -> Any:
    return Message(parse("Probe", table), versions("1+")).program(version)


def rejects(table: str, version: int, data: bytes, why: str, **options: Any) -> None:
    with pytest.raises(MalformedRequest, match=why):
        program(table, version).read(data, **options)


@pytest.mark.parametrize(("spoken", "version"), REQUESTS)
def test_truncated_at_every_byte(spoken: Api, version: int, filler: Any) -> None:
    seeds = (filler(seed).message(spoken.request_message, version) for seed in range(40))
    frames = (codec.write_request(spoken.key, version, 1, "client", body) for body in seeds)
    frame = max((frame for frame in frames if len(frame) < 1500), key=len)
    for size in range(len(frame)):
        with pytest.raises((MalformedRequest, codec.UnsupportedVersion)):
            codec.read_request(frame[:size])


@pytest.mark.parametrize(("spoken", "version"), REQUESTS)
def test_trailing_bytes(spoken: Api, version: int) -> None:
    """Behind a request they are passed over, behind a response they are not."""
    frame = codec.write_request(spoken.key, version, 1, "client", spoken.request())
    assert codec.read_request(frame + b"\0") == codec.read_request(frame)
    answer = codec.write_response(spoken.key, version, 1, spoken.response())
    codec.read_response(spoken.key, version, answer)
    with pytest.raises(MalformedRequest, match="trailing"):
        codec.read_response(spoken.key, version, answer + b"\0")


@pytest.mark.parametrize(("spoken", "version"), REQUESTS)
def test_flipped_bytes_raise_nothing_else(spoken: Api, version: int, filler: Any) -> None:
    pick = random.Random(version)
    for seed in range(10):
        body = filler(seed).message(spoken.request_message, version)
        frame = bytearray(codec.write_request(spoken.key, version, 1, "client", body)[:3000])
        for _ in range(20):
            lie = bytearray(frame)
            for _ in range(pick.randint(1, 4)):
                lie[pick.randrange(8, len(lie))] = pick.choice((0, 1, 0x7F, 0x80, 0xFF, pick.randrange(256)))
            with contextlib.suppress(MalformedRequest):
                codec.read_request(bytes(lie))


@pytest.mark.parametrize("count", [-2, -(2**31), 2**31 - 1, 100, 3])
def test_legacy_count_lies(count: int) -> None:
    data = count.to_bytes(4, "big", signed=True) + bytes(8)
    rejects("many [int32]", LEGACY, data, "negative|more elements" if count != -1 else "null")


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x04\0\0\0\0\0\0\0\0"])
def test_compact_count_lies(data: bytes) -> None:
    rejects("many [int32]", FLEXIBLE, data, "more elements")


def test_count_is_bound_by_the_smallest_element() -> None:
    table = "many [Thing]\n  name string\n  id int32\n  parts [int64]"
    rejects(table, LEGACY, (11).to_bytes(4, "big") + bytes(100), "more elements")
    program(table, LEGACY).read((10).to_bytes(4, "big") + bytes(100))
    rejects(table, FLEXIBLE, bytes([16 + 1]) + bytes(7 * 16 - 1), "more elements")
    program(table, FLEXIBLE).read(bytes([16 + 1]) + b"\x01\0\0\0\0\x01\0" * 16 + b"\0")


def test_null_only_where_allowed() -> None:
    for kind in ("string", "bytes", "records", "[int8]"):
        null = b"\xff\xff" if kind == "string" else b"\xff\xff\xff\xff"
        rejects(f"it {kind}", LEGACY, null, "null")
        rejects(f"it {kind}", FLEXIBLE, b"\0\0", "null")
        assert program(f"it {kind}?", LEGACY).read(null)[0].it is None
        assert program(f"it {kind}?", FLEXIBLE).read(b"\0\0")[0].it is None
        rejects(f"it {kind}?", LEGACY, null[:-1] + b"\xfe", "negative")
    rejects("it Thing?\n  id int8", LEGACY, b"\x02\0", "nullable struct")
    assert program("it Thing?\n  id int8", LEGACY).read(b"\xff")[0].it is None
    assert program("it Thing?\n  id int8", LEGACY).read(b"\x01\x05")[0].it.id == 5


def test_length_beyond_the_end() -> None:
    rejects("it string", LEGACY, b"\x00\x05abcd", "truncated")
    rejects("it string", FLEXIBLE, b"\x81\x80\x02" + bytes(32769), "string over 32767")
    rejects("it bytes", LEGACY, b"\x7f\xff\xff\xffabcd", "truncated")
    rejects("it bytes", FLEXIBLE, b"\xff\xff\xff\xff\x0fabcd", "truncated")


def test_varint_overflow() -> None:
    rejects("it string", FLEXIBLE, b"\xff\xff\xff\xff\x1f", "varint")
    rejects("it string", FLEXIBLE, b"\x81\x80\x80\x80\x80\x00", "varint")
    assert program("it string", FLEXIBLE).read(b"\x82\x80\x80\x80\x00a\0")[0].it == "a"


@pytest.mark.parametrize("text", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xe2\x82"])
def test_invalid_utf8(text: bytes) -> None:
    rejects("it string", LEGACY, len(text).to_bytes(2, "big") + text, "UTF-8")


def test_element_budget_counts_arrays_and_tags() -> None:
    table = "many [Thing]\n  parts [int8]"
    body = b"".join([(1000).to_bytes(4, "big"), ((99).to_bytes(4, "big") + bytes(99)) * 1000])
    assert len(program(table, LEGACY).read(body)[0].many) == 1000
    body = b"".join([(1001).to_bytes(4, "big"), ((99).to_bytes(4, "big") + bytes(99)) * 1001])
    rejects(table, LEGACY, body, "too many")
    tags = b"\x03" + b"".join(varint(tag) + b"\0" for tag in range(3))
    assert len(program("", FLEXIBLE).read(tags, budget=3)[0].unknown_tags) == 3
    rejects("", FLEXIBLE, tags, "too many", budget=2)


def varint(value: int) -> bytes:
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def test_tags() -> None:
    table = "id int32 1+ #1\nname string 1+ #3"
    assert program(table, FLEXIBLE).read(b"\x02\x01\x04\0\0\0\x07\x03\x02\x02a")[0].name == "a"
    rejects(table, FLEXIBLE, b"\x02\x03\x02\x02a\x01\x04\0\0\0\x07", "order")
    rejects(table, FLEXIBLE, b"\x02\x01\x04\0\0\0\x07\x01\x04\0\0\0\x07", "order")
    rejects(table, FLEXIBLE, b"\x01\x01\x03\0\0\0\x07", "truncated")
    rejects(table, FLEXIBLE, b"\x01\x01\x05\0\0\0\x07\0", "shorter")
    rejects(table, FLEXIBLE, b"\x01\x09\x05\0", "truncated")
    rejects(table, FLEXIBLE, b"\x80\xad\xe2\x04" + bytes(1000), "more tags")
    rejects(table, FLEXIBLE, b"\x01\xff\xff\xff\xff\xff\x01\0", "varint")


def test_header_tags_are_few() -> None:
    frame = bytearray(codec.write_request(18, 3, 1, "c", api.API_VERSIONS.request()))
    assert frame[11] == 0
    tags = b"".join(varint(tag) + b"\0" for tag in range(65))
    with pytest.raises(MalformedRequest, match="too many"):
        codec.read_request(bytes(frame[:11] + b"\x41" + tags + frame[12:]))
    header, _ = codec.read_request(bytes(frame[:11] + b"\x40" + tags[:-2] + frame[12:]))
    assert header.client_id == "c"
