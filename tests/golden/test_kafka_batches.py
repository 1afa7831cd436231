"""Batches as Apache Kafka stored them: read, checked, and where nothing is compressed written again to the byte."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafpy._core import batch
from tests.core import codecs

FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("kafka-4.3/*/manifest.json"))
TOPICS = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def segments(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("*.log"))]


def batches(folder: Path) -> Iterator[bytes]:
    for data in segments(folder):
        bounds = batch.split(data)
        assert bounds[-1] == len(data)
        for start, end in itertools.pairwise(bounds):
            yield data[start:end]


def texts(column: batch.BytesColumn) -> list[str | None]:
    data, offsets = column.data.tobytes(), column.offsets.tolist()
    values = [data[offsets[i] : offsets[i + 1]].decode() for i in range(len(offsets) - 1)]
    valid = column.validity
    return [value if valid is None or valid[i >> 3] >> (i & 7) & 1 else None for i, value in enumerate(values)]


def rows(columns: batch.Columns) -> list[dict[str, Any]]:
    keys, values = texts(columns.keys), texts(columns.values)
    names, contents = texts(columns.headers.keys), texts(columns.headers.values)
    starts = columns.headers.offsets.tolist()
    return [
        {
            "offset": offset,
            "timestamp": int(columns.timestamps[i]),
            "append_time": bool(columns.timestamp_types[i]),
            "leader_epoch": int(columns.leader_epochs[i]),
            "key": keys[i],
            "value": values[i],
            "headers": [[names[h], contents[h]] for h in range(starts[i], starts[i + 1])],
        }
        for i, offset in enumerate(columns.offsets.tolist())
    ]


def test_there_are_golden_files() -> None:
    assert len(FOLDERS) == 13


@TOPICS
def test_records_are_what_a_consumer_read(folder: Path) -> None:
    expected = json.loads((folder / "manifest.json").read_text())["records"]
    found = [row for data in segments(folder) for row in rows(batch.decode_columns(data, codecs.decompress))]
    assert found == expected


@TOPICS
def test_stored_batches_pass_the_checks_of_a_client(folder: Path) -> None:
    for data in batches(folder):
        header = batch.header(data)
        assert batch.intact(data)
        assert header.record_count > 0
        sent = bytearray(data)
        batch.stamp(sent, 0, -1)
        expected = 87 if header.attributes & 0x20 else 0
        append_time = 32 if header.attributes & 8 else expected
        assert batch.check(sent, now_ms=header.max_timestamp) == expected
        assert batch.check(sent, now_ms=header.max_timestamp, log_append_time=True) == append_time
        records = codecs.decompress(header.codec, data[61:]) if header.codec else data[61:]
        assert batch.check_records(records, header.record_count, base_timestamp=header.base_timestamp) == 0


@TOPICS
def test_encoding_again_gives_the_same_bytes(folder: Path) -> None:
    for data in batches(folder):
        header = batch.header(data)
        records = codecs.decompress(header.codec, data[61:]) if header.codec else data[61:]
        plain = batch.rebuild(header._replace(attributes=header.attributes & ~8), 0, records)
        columns = batch.decode_columns(plain, control=True)
        again = batch.encode(
            columns.values,
            keys=columns.keys,
            timestamps=columns.timestamps,
            headers=columns.headers,
            base_offset=header.base_offset,
            leader_epoch=header.leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=bool(header.attributes & 0x10),
            control=bool(header.attributes & 0x20),
        )
        if header.attributes & 8:
            stamped = bytearray(again)
            batch.stamp_append_time(stamped, header.max_timestamp)
            again = bytes(stamped)
        assert batch.rebuild(batch.header(again), header.codec, data[61:]) == data
        if not header.codec:
            assert again == data
