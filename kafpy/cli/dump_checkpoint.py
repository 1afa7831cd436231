"""Small files of a broker: producer snapshots and aborted transactions as kafka-dump-log prints them, and checkpoints.

Kafka's tool knows nothing of checkpoints; their lines are ours, in its style.
"""

import struct
from collections.abc import Callable
from pathlib import Path

import click

from kafpy._core.crc32c import crc32c
from kafpy.cli.dump_report import DumpError, Report
from kafpy.storage import checkpoints, leader_epochs, partition_folder

SNAPSHOT_HEADER, SNAPSHOT_ENTRY = struct.Struct(">hIi"), struct.Struct(">qhiqiqiq")
CRC_END = 6
ABORTED = struct.Struct(">hqqqq")
SEQUENCE_MASK = 0x7FFFFFFF


def dump_snapshot(path: Path, report: Report) -> None:
    data = path.read_bytes()
    if len(data) < SNAPSHOT_HEADER.size:
        _complain(report, f"Snapshot file '{path}' is corrupted: it ends early")
        return
    version, crc, count = SNAPSHOT_HEADER.unpack_from(data)
    if version != 1:
        _complain(report, f"Snapshot contained an unknown file version {version}")
        return
    if crc != crc32c(data[CRC_END:]):
        _complain(
            report,
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {crc32c(data[CRC_END:])}",
        )
        return
    for at in range(count):
        report.line(_producer(*SNAPSHOT_ENTRY.unpack_from(data, SNAPSHOT_HEADER.size + at * SNAPSHOT_ENTRY.size)))


def _producer(
    producer_id: int, epoch: int, last: int, offset: int, delta: int, time_ms: int, coordinator: int, first: int
) -> str:
    transaction = f"OptionalLong[{first}]" if first >= 0 else "OptionalLong.empty"
    line = (
        f"producerId: {producer_id} producerEpoch: {epoch} coordinatorEpoch: {coordinator} "
        f"currentTxnFirstOffset: {transaction} lastTimestamp: {time_ms} "
    )
    if offset < 0:
        return line  # it has written nothing yet
    begin = (last - delta) & SEQUENCE_MASK
    return (
        line
        + f"firstSequence: {begin} lastSequence: {last} lastOffset: {offset} offsetDelta: {delta} timestamp: {time_ms}"
    )


def dump_aborted(path: Path, report: Report) -> None:
    data = path.read_bytes()
    for version, producer_id, first, last, stable in ABORTED.iter_unpack(data[: len(data) - len(data) % ABORTED.size]):
        report.line(
            f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} "
            f"lastStableOffset: {stable}"
        )


def _offsets(path: Path, report: Report) -> None:
    try:
        found = checkpoints.read(path)
    except checkpoints.CheckpointError as error:
        raise DumpError(str(error)) from None
    for (topic, partition), offset in sorted(found.items()):
        report.line(f"topic: {topic} partition: {partition} offset: {offset}")


def _epochs(path: Path, report: Report) -> None:
    found = leader_epochs.read(path)
    if found is None:
        raise DumpError(f"{path}: not a checkpoint of leader epochs, or damaged")
    for epoch, start_offset in found:
        report.line(f"epoch: {epoch} startOffset: {start_offset}")


def _partition(path: Path, report: Report) -> None:
    try:
        topic_id = partition_folder.read_topic_id(path.parent)
    except partition_folder.PartitionMetadataError as error:
        raise DumpError(str(error)) from None
    report.line("empty" if topic_id is None else f"version: 0 topicId: {partition_folder.format_id(topic_id)}")


def _properties(path: Path, report: Report) -> None:
    for line in path.read_text("utf-8", "replace").splitlines():
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            report.line(f"{key}: {value}")


READERS: dict[str, Callable[[Path, Report], None]] = {
    checkpoints.RECOVERY_POINTS: _offsets,
    checkpoints.HIGH_WATERMARKS: _offsets,
    checkpoints.LOG_START_OFFSETS: _offsets,
    "cleaner-offset-checkpoint": _offsets,
    leader_epochs.LEADER_EPOCHS: _epochs,
    partition_folder.METADATA_FILE: _partition,
    "meta.properties": _properties,
}
"""By the file's name."""


def _complain(report: Report, text: str) -> None:
    report.flush()
    click.echo(text, err=True)
