"""C-04: a bit of an old, flushed segment changes. It is never served silently, and nothing is cut off."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from tests.clients.raw import RawClient, batch_of
from tests.core.logs import batches
from tests.faults.nursery import KILLED, Nursery

SETTINGS: dict[str, Any] = {
    "log_segment_bytes": 1200,
    "log_index_interval_bytes": 300,
    "log_flush_offset_checkpoint_interval_ms": 3_600_000,
}
BATCHES = 24
RECORDS = 3
END = BATCHES * RECORDS
CORRUPT_MESSAGE = 2
HEADER = 61
LEADER_EPOCH = range(12, 16)
"""Bytes that say nothing about the records, and which no checksum covers."""


def write(client: RawClient, topic: str) -> None:
    client.create(topic)
    for number in range(BATCHES):
        values = [b"%d" % (number * RECORDS + index) * 30 for index in range(RECORDS)]
        assert client.produce(topic, batch_of(values)).base_offset == number * RECORDS


class Seen(Exception):
    """That something is wrong, by a consumer that checks what it gets."""


def consume(client: RawClient, max_bytes: int) -> list[bytes]:
    """As a careful consumer does: batch by batch, each CRC, each offset in its place."""
    found, offset = 0, 0
    values: list[bytes] = []
    while offset < END:
        part = client.fetch("t", offset, partition_max_bytes=max_bytes)
        if part.error_code == CORRUPT_MESSAGE:
            raise Seen("error code")
        assert part.error_code == 0
        try:
            whole = batches(part.records)
        except ValueError:
            raise Seen("a batch that is none") from None
        if not whole:
            raise AssertionError(f"stuck at {offset}: {len(part.records)} bytes without a whole batch")
        for each in whole:
            header = batch.header(each)
            if not batch.intact(each):
                raise Seen("CRC")
            if header.base_offset != offset:
                raise Seen("offsets")
            offset = header.base_offset + header.last_offset_delta + 1
            found += 1
            values.append(each)
    assert found == BATCHES
    return values


@pytest.fixture
def client(nursery: Nursery, folder: Path) -> Iterator[RawClient]:
    port = nursery.start([folder / "data"], errors=folder / "errors", **SETTINGS)
    assert port is not None
    client = RawClient("127.0.0.1", port)
    write(client, "t")
    assert nursery.run("settle")
    yield client
    client.close()
    if nursery.status is None:
        nursery.stop()


def old_segment(folder: Path) -> Path:
    segments = sorted((folder / "data" / "t-0").glob("*.log"))
    assert len(segments) > 4
    return segments[2]


def flip(path: Path, position: int, bit: int) -> None:
    with path.open("r+b") as file:
        byte = os.pread(file.fileno(), 1, position)[0]
        os.pwrite(file.fileno(), bytes([byte ^ 1 << bit]), position)


@pytest.mark.parametrize("max_bytes", [1, 400, 1 << 20])
def test_c_04_every_bit_of_a_batch(client: RawClient, folder: Path, max_bytes: int) -> None:
    segment = old_segment(folder)
    stored = batches(segment.read_bytes())
    start = len(stored[0])
    good = consume(client, max_bytes)
    header = [(byte, bit) for byte in range(HEADER) for bit in range(8)]
    payload = [(byte, byte % 8) for byte in range(HEADER, len(stored[1]), 7)]
    for byte, bit in header + payload:
        flip(segment, start + byte, bit)
        try:
            if byte in LEADER_EPOCH:
                consume(client, max_bytes)
            else:
                with pytest.raises(Seen):
                    consume(client, max_bytes)
        except AssertionError as error:
            error.add_note(f"byte {byte}, bit {bit}")
            raise
        flip(segment, start + byte, bit)
    assert consume(client, max_bytes) == good
    said = [line for line in (folder / "errors").read_text().splitlines() if "damaged" in line]
    assert len(said) == 1
    assert str(folder / "data" / "t-0") in said[0]


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("byte", [3, 8, 16, 17, 30, 70], ids="byte {}".format)
def test_c_04_nothing_is_cut_off(client: RawClient, nursery: Nursery, folder: Path, clean: bool, byte: int) -> None:
    """Whichever way the broker ended: all other segments answer as before, new records go behind them."""
    segment = old_segment(folder)
    nursery.run("checkpoint")
    good = consume(client, 1 << 20)
    client.close()
    assert (nursery.stop() if clean else nursery.kill()) == (0 if clean else KILLED)
    sizes = {path.name: path.stat().st_size for path in (folder / "data" / "t-0").glob("*.log")}
    flip(segment, len(batches(segment.read_bytes())[0]) + byte, 2)
    port = nursery.start([folder / "data"], errors=folder / "errors", **SETTINGS)
    assert port is not None
    with RawClient("127.0.0.1", port) as again:
        assert {path.name: path.stat().st_size for path in (folder / "data" / "t-0").glob("*.log")} == sizes
        assert again.offset("t", -1).offset == END
        with pytest.raises(Seen):
            consume(again, 1 << 20)
        after = int(sorted(path.stem for path in (folder / "data" / "t-0").glob("*.log"))[3])
        found = batches(again.fetch("t", after).records)
        assert found == [each for each in good if batch.header(each).base_offset >= after][: len(found)] != []
        assert again.produce("t", batch_of([b"behind"])).base_offset == END
