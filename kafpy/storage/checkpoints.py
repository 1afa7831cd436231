"""Kafka's checkpoint files of offsets per partition (CheckpointFile, OffsetCheckpointFile).

    0                        version
    2                        number of entries
    topic 0 1234             topic partition offset
    topic 1 77

Written to a .tmp file, synced, renamed, and the folder synced: a reader finds the old file or the new one, never half.
"""

import os
from collections.abc import Mapping
from pathlib import Path

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"

_VERSION = "0"

TopicPartition = tuple[str, int]


class CheckpointError(Exception):
    """The file is refused; the text says why. What it would have told is unknown, so logs are recovered from 0."""


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def write(path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
    write_atomically(path, "\n".join([_VERSION, str(len(lines)), *lines, ""]).encode())


def read(path: Path) -> dict[TopicPartition, int]:
    """Empty when there is no such file; CheckpointError when it cannot be believed."""
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise CheckpointError(f"{path}: not text") from None
    if not lines:
        raise CheckpointError(f"{path}: empty")
    if lines[0].strip() != _VERSION:
        raise CheckpointError(f"{path}: line 1: version {lines[0][:20]!r}, expected {_VERSION}")
    count = _number(path, lines, 2)
    entries = lines[2:]
    if len(entries) != count:
        raise CheckpointError(f"{path}: {count} entries announced, {len(entries)} found")
    return dict(_entry(path, number, line) for number, line in enumerate(entries, 3))


def _entry(path: Path, number: int, line: str) -> tuple[TopicPartition, int]:
    parts = line.split(" ")
    if len(parts) == 3 and parts[0] and _digits(parts[1]) and _digits(parts[2]):
        return (parts[0], int(parts[1])), int(parts[2])
    raise CheckpointError(f"{path}: line {number}: malformed entry {line[:80]!r}")


def _number(path: Path, lines: list[str], number: int) -> int:
    text = lines[number - 1].strip() if len(lines) >= number else ""
    if not _digits(text):
        raise CheckpointError(f"{path}: line {number}: {text[:20]!r} is not a number of entries")
    return int(text)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19
