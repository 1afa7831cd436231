"""Rows B: bodies that lie, for every API and version from its own table.

Frames are made well and then damaged, byte by byte, with what makes counts, lengths and varints lie.
"""

import random
import socket
from collections.abc import Iterator

import pytest

from kafpy.protocol import api, codec
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient
from tests.hostile.conftest import Hostile, cpu_s, framed

EVERY = [(spoken, version) for spoken in api.ALL.values() for version in spoken.versions]
IDS = [f"{spoken.name}-{version}" for spoken, version in EVERY]
SERVED_EMPTY = [api.METADATA, api.PRODUCE, api.FETCH, api.LIST_OFFSETS, api.CREATE_TOPICS]


LIES = (b"\xff\xff\xff\xff\x0f", b"\xff" * 10, b"\x7f\xff\xff\xff", b"\xff\xff\xff\xfe")
LAST = codec.write_request(18, 0, 99, "h", api.API_VERSIONS.request())


def answer_or_close(target: BrokerProcess, payload: bytes) -> bytes:
    """The answer's frame; nothing when the broker hung up, or had nothing to say and went on to the next request."""
    with socket.create_connection((target.host, target.port), 10) as made:
        try:
            made.sendall(framed(payload) + framed(LAST))
        except OSError:
            return b""
        first = receive_frame(made)
        return b"" if first[4:8] == LAST[4:8] else first


def receive_frame(made: socket.socket) -> bytes:
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        try:
            got = made.recv(65536)
        except ConnectionResetError:
            return b""
        if not got:
            return b""
        data += got
    return data[: 4 + int.from_bytes(data[:4], "big")]


@pytest.mark.parametrize(("spoken", "version"), EVERY, ids=IDS)
def test_b1_b2_b3_counts_and_lengths(hostile: Hostile, target: BrokerProcess, spoken: api.Api, version: int) -> None:
    """Every byte of a small request in turn is replaced by what makes counts, lengths and varints lie."""
    whole = codec.write_request(spoken.key, version, 7, "h", spoken.request())
    for at in range(11, len(whole)):
        for lie in (
            b"\xff\xff\xff\xff\x0f",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x7f\xff\xff\xff",
            b"\xff\xff\xff\xfe",
        ):
            answer = answer_or_close(target, whole[:at] + lie + whole[at + len(lie) :])
            assert answer == b"" or answer[4:8] == whole[4:8]


def texts() -> Iterator[tuple[str, bytes]]:
    request = api.METADATA.request
    for name, text in (("not UTF-8", b"\xc3\x28"), ("surrogate", b"\xed\xa0\x80"), ("overlong", b"\xc0\xaf")):
        good = codec.write_request(3, 12, 7, "h", request(topics=[request.Topic(name="Q" * len(text))]))
        yield name, good.replace(b"Q" * len(text), text)


@pytest.mark.parametrize(
    ("name", "payload"), list(texts()), ids=lambda each: f"B4[{each}]" if isinstance(each, str) else ""
)
def test_text_that_is_no_text(hostile: Hostile, name: str, payload: bytes) -> None:
    assert hostile.closes(framed(payload))


def test_b5_the_same_topic_a_thousand_times(hostile: Hostile, target: BrokerProcess, witness: RawClient) -> None:
    request = api.LIST_OFFSETS.request
    part = request.Partition(partition_index=0, timestamp=-1)
    many = request(replica_id=-1, topics=[request.Topic(name="quiet", partitions=[part] * 20_000)])
    before = cpu_s(target)
    with RawClient(target.host, target.port) as client:
        answer = client.call(api.LIST_OFFSETS, 7, many)
    assert {each.error_code for each in answer.topics[0].partitions} == {42}
    assert cpu_s(target) - before < 5


def test_b6_no_storm_of_topics(tmp_path_factory: pytest.TempPathFactory) -> None:
    broker = BrokerProcess(tmp_path_factory.mktemp("storm") / "data")
    try:
        with RawClient(broker.host, broker.port) as client:
            answer = client.metadata(*(f"storm-{i}" for i in range(5000)), create=True)
            created = [each for each in answer.topics if each.error_code == 0]
            assert len(answer.topics) == 5000
            assert len(created) <= 200
    finally:
        broker.kill()


@pytest.mark.parametrize("spoken", SERVED_EMPTY, ids=lambda each: f"B7[{each.name}]")
def test_empty_arrays(hostile: Hostile, target: BrokerProcess, spoken: api.Api) -> None:
    for version in spoken.versions:
        fields = {"acks": 1} if spoken is api.PRODUCE else {}
        payload = codec.write_request(spoken.key, version, 7, "h", spoken.request(**fields))
        answer = answer_or_close(target, payload)
        assert answer[4:8] == (7).to_bytes(4, "big"), version


def test_b8_tags_in_a_body(hostile: Hostile, target: BrokerProcess) -> None:
    good = codec.write_request(3, 12, 7, "h", api.METADATA.request(topics=[]))
    bomb = good[:-1] + b"\x80\xb5\x18" + b"".join(bytes((128 | i & 127, i >> 7 & 127, 0)) for i in range(400_000))
    before = cpu_s(target)
    assert hostile.closes(framed(bomb))
    assert cpu_s(target) - before < 1


def test_structured_noise(hostile: Hostile, target: BrokerProcess) -> None:
    """Valid requests with a few bytes changed, spliced or cut: each is answered or ends its connection."""
    dice = random.Random(20261118)
    wholes = [codec.write_request(spoken.key, version, 7, "h", spoken.request()) for spoken, version in EVERY]
    for _ in range(1500):
        noise = bytearray(dice.choice(wholes))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(8, len(noise))
            kind = dice.randrange(3)
            if kind == 0:
                noise[at] = dice.randrange(256)
            elif kind == 1:
                noise[at:at] = dice.randbytes(dice.randint(1, 9))
            else:
                del noise[at : at + dice.randint(1, 4)]
                noise += b"" if len(noise) > 9 else bytes(4)
        answer = answer_or_close(target, bytes(noise))
        assert answer == b"" or answer[4:8] == bytes(noise[4:8])
