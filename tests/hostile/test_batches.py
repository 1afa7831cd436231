"""Rows R: record batches that a producer should not have sent.

What each field may hold is tested beside the batch code; here is what a client is told, and that nothing is stored.
"""

import struct
from collections.abc import Callable

import pytest

from kafpy._core import batch
from kafpy._core.crc32c import crc32c
from kafpy.protocol import api, codec
from kafpy.storage import compression
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, produce_request
from tests.hostile.conftest import Hostile, framed

NOW = 1_700_000_000_000
GOOD = batch.encode([b"one", b"two"], keys=[b"k", None], timestamps=NOW)
CORRUPT, TOO_LARGE, INVALID, TIMESTAMP = 2, 10, 87, 32
FIELDS = {"attributes": (21, ">h"), "last_offset_delta": (23, ">i"), "base_timestamp": (27, ">q")}
FIELDS |= {"max_timestamp": (35, ">q"), "producer_id": (43, ">q"), "producer_epoch": (51, ">h")}
FIELDS |= {"base_sequence": (53, ">i"), "count": (57, ">i")}


def sealed(data: bytes) -> bytes:
    """With the right CRC again."""
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


def patched(**fields: int) -> bytes:
    data = bytearray(GOOD)
    for name, value in fields.items():
        at, form = FIELDS[name]
        struct.pack_into(form, data, at, value)
    return sealed(bytes(data))


def packed(codec_id: int, payload: bytes) -> bytes:
    return batch.rebuild(batch.header(GOOD), codec_id, payload)


def patched_record(at: int, byte: int) -> bytes:
    """One byte of the first record."""
    return sealed(GOOD[: 61 + at] + bytes([byte]) + GOOD[62 + at :])


ROWS: list[tuple[str, bytes | None, int]] = [
    ("R1-crc", GOOD[:17] + bytes(4) + GOOD[21:], CORRUPT),
    ("R1-last-byte", GOOD[:-1] + bytes([GOOD[-1] ^ 1]), CORRUPT),
    ("R2-negative", GOOD[:8] + b"\xff\xff\xff\xff" + GOOD[12:], CORRUPT),
    ("R2-short", GOOD[:8] + struct.pack(">i", 48) + GOOD[12:], CORRUPT),
    ("R2-long", GOOD[:8] + struct.pack(">i", 1 << 20) + GOOD[12:], CORRUPT),
    ("R2-too-large", batch.encode([bytes(1_100_000)], timestamps=NOW), TOO_LARGE),
    ("R3-magic-0", GOOD[:16] + b"\x00" + GOOD[17:], INVALID),
    ("R3-magic-1", GOOD[:16] + b"\x01" + GOOD[17:], INVALID),
    ("R3-magic-3", GOOD[:16] + b"\x03" + GOOD[17:], INVALID),
    ("R4-none", b"", INVALID),
    ("R4-null", None, INVALID),
    ("R4-two", GOOD + GOOD, INVALID),
    ("R5-base-offset", struct.pack(">q", 5) + GOOD[8:], INVALID),
    ("R6-delta", patched(last_offset_delta=2), INVALID),
    ("R6-negative-delta", patched(last_offset_delta=-1), INVALID),
    ("R6-count-0", patched(count=0), INVALID),
    ("R6-count-most", patched(count=2**31 - 1, last_offset_delta=2**31 - 2), INVALID),
    ("R6-one-too-many", patched(count=3, last_offset_delta=2), INVALID),
    ("R7-trailing", sealed(GOOD[:8] + struct.pack(">i", len(GOOD) - 12 + 1) + GOOD[12:] + b"\0"), INVALID),
    ("R7-record-length", patched_record(0, 0x7E), INVALID),
    ("R7-key-length", patched_record(4, 0x7D), INVALID),
    ("R8-control", patched(attributes=0x20), INVALID),
    ("R9-no-sequence", patched(producer_id=9, producer_epoch=0), INVALID),
    ("R9-no-epoch", patched(producer_id=9, producer_epoch=-1, base_sequence=0), INVALID),
    ("R10-transactional", patched(attributes=0x10, producer_id=9, producer_epoch=0, base_sequence=0), 53),
    ("R14-codec-5", patched(attributes=5), 76),
    ("R14-codec-7", patched(attributes=7), 76),
    ("R18-overflow", patched(base_timestamp=2**63 - 1, max_timestamp=2**63 - 1), TIMESTAMP),
    ("R18-far-ahead", patched(max_timestamp=2**62, base_timestamp=2**62), TIMESTAMP),
]


@pytest.mark.parametrize(("data", "code"), [pytest.param(data, code, id=name) for name, data, code in ROWS])
def test_refused(hostile: Hostile, witness: RawClient, data: bytes | None, code: int) -> None:
    for version in (3, 7, 8, 9, 12):
        request = produce_request("quiet", {0: data})
        answer = witness.call(api.PRODUCE, version, request).responses[0].partition_responses[0]
        assert (answer.error_code, answer.base_offset) == (code, -1)


def test_r11_a_transaction_that_nobody_began(hostile: Hostile, witness: RawClient) -> None:
    request = produce_request("quiet", {0: patched(attributes=0x10, producer_id=9, producer_epoch=0, base_sequence=0)})
    request.transactional_id = "t"
    for version in (3, 9, 12):
        answer = witness.call(api.PRODUCE, version, request).responses[0].partition_responses[0]
        assert (answer.error_code, answer.base_offset) == (48, -1)


@pytest.mark.parametrize("version", [8, 9, 12])
def test_the_record_to_blame(hostile: Hostile, witness: RawClient, version: int) -> None:
    """KIP-467: its place in the batch and a sentence, so that the client can tell the records apart."""
    late = batch.encode([b"x"] * 200, timestamps=[NOW] * 150 + [2**62] * 50)
    cut = batch.encode([b"x"] * 3, timestamps=NOW)
    cut = sealed(cut[:-1] + b"\2")  # the last record claims a header
    whole = {0: late, 1: cut, 2: patched(attributes=0x20)}
    topic = f"blame-{version}"
    witness.create(topic, partitions=60)
    request = produce_request(topic, {index: whole[index % 3] for index in range(60)})
    found = witness.call(api.PRODUCE, version, request).responses[0].partition_responses
    for index, part in enumerate(found):
        code, place, words = [(32, 150, "timestamp"), (87, 2, "malformed"), (87, None, "")][index % 3]
        assert (part.index, part.error_code) == (index, code)
        assert [each.batch_index for each in part.record_errors] == ([] if place is None else [place])
        assert words in (part.error_message or "")
    request = produce_request(topic, dict.fromkeys(range(60), GOOD))
    for part in witness.call(api.PRODUCE, version, request).responses[0].partition_responses:
        assert (part.error_code, part.record_errors, part.error_message) == (0, [], None)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"], ids=lambda name: f"R21[{name}]")
def test_topics_of_the_broker_itself(hostile: Hostile, witness: RawClient, name: str) -> None:
    if witness.metadata(name).topics[0].error_code:
        witness.create(name)
    before = witness.offset(name, -1).offset
    assert witness.produce(name, GOOD).error_code == 17
    assert witness.offset(name, -1).offset == before


def test_r12_sequences(hostile: Hostile, witness: RawClient) -> None:
    name = "sequences"
    witness.create(name)

    def send(sequence: int, epoch: int = 0) -> tuple[int, int]:
        data = batch.encode([b"x"], timestamps=NOW, producer_id=77, producer_epoch=epoch, base_sequence=sequence)
        answer = witness.produce(name, data)
        return answer.error_code, answer.base_offset

    assert [send(each) for each in range(7)] == [(0, each) for each in range(7)]
    assert send(8) == (45, -1)
    assert [send(each) for each in (2, 3, 4, 5, 6)] == [(0, each) for each in (2, 3, 4, 5, 6)]
    assert send(1) == (45, -1)
    assert send(3, epoch=1) == (45, -1)
    assert send(0, epoch=1) == (0, 7)
    assert send(7) == (47, -1)


def test_r15_zstd_before_its_time(hostile: Hostile, witness: RawClient) -> None:
    data = batch.encode([b"x" * 100], timestamps=NOW, codec=4, compress=lambda each: compression.compress(4, each))
    request = produce_request("quiet", {0: data})
    assert witness.call(api.PRODUCE, 6, request).responses[0].partition_responses[0].error_code == 76


OPENED: dict[str, Callable[[], bytes]] = {
    "R16-gzip-random": lambda: packed(1, b"\x1f\x8b" + bytes(range(100))),
    "R16-snappy-random": lambda: packed(2, bytes(range(100))),
    "R16-lz4-random": lambda: packed(3, bytes(range(100))),
    "R16-zstd-random": lambda: packed(4, bytes(range(100))),
    "R16-other-codec": lambda: packed(4, compression.compress(1, b"hello" * 50)),
    "R16-cut": lambda: packed(4, compression.compress(4, GOOD[61:] * 50)[:-3]),
    "R17-gzip": lambda: packed(1, compression.compress(1, bytes(200 << 20))),
    "R17-zstd": lambda: packed(4, compression.compress(4, bytes(200 << 20))),
    "R17-lz4": lambda: packed(3, compression.compress(3, bytes(200 << 20))),
    "R17-zstd-claims-1-tib": lambda: packed(4, b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\1\0\0"),
    "R17-zstd-window-31": lambda: packed(4, b"\x28\xb5\x2f\xfd\x00\xa8\1\0\0"),
    "R17-zstd-frames": lambda: packed(4, compression.compress(4, bytes(16 << 20)) * 16),
    "R17-gzip-in-gzip": lambda: packed(1, compression.compress(1, compression.compress(1, bytes(200 << 20)))),
    "R17-snappy-preamble": lambda: packed(2, b"\xff\xff\xff\xff\x0f" + bytes(100)),
    "R7-inside": lambda: packed(4, compression.compress(4, GOOD[61:-4] + b"\x7f\x7f\x7f\x7f")),
}


@pytest.mark.parametrize("name", list(OPENED))
def test_batches_that_are_opened(hostile: Hostile, witness: RawClient, name: str) -> None:
    topic = f"opened-{name}"
    witness.create(topic, configs={"kafpy.validate.compressed": "true"})
    assert witness.produce(topic, OPENED[name]()).error_code in (CORRUPT, TOO_LARGE, INVALID)
    assert witness.offset(topic, -1).offset == 0


def test_r20_keys_where_they_are_needed(hostile: Hostile, witness: RawClient) -> None:
    witness.create("compacted", configs={"cleanup.policy": "compact"})
    assert witness.produce("compacted", batch.encode([b"v"], timestamps=NOW)).error_code == INVALID
    assert witness.produce("compacted", batch.encode([b"v"], keys=[b"k"], timestamps=NOW)).error_code == 0


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_r22_acks(hostile: Hostile, witness: RawClient, acks: int) -> None:
    assert witness.produce("quiet", GOOD, acks=acks).error_code == 21


@pytest.mark.parametrize("data", [GOOD[:-1] + b"\1", b""], ids=["R23-corrupt", "R23-none"])
def test_acks_0_and_an_error(hostile: Hostile, target: BrokerProcess, data: bytes) -> None:
    payload = codec.write_request(0, 9, 1, "h", produce_request("quiet", {0: data}, acks=0))
    assert hostile.closes(framed(payload))
