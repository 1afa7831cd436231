"""Names and identity of partition folders, as Kafka keeps them (UnifiedLog, PartitionMetadataFile).

    topic-0                                   a partition
    topic-0.3f2a…-delete                      renamed away by a deletion, to be removed
    topic-0.3f2a…-stray                       belongs to no topic the broker knows; kept
    topic-0.3f2a…-future                      a copy on its way here from another directory
    topic-0/partition.metadata                "version: 0\\ntopic_id: <base64 uuid>"

A topic's name may itself end in -3 or -delete; only the part after the last dash counts, and `.<32 hex>-delete` with
a dot can never be the end of a partition's name, since a partition ends in digits.
"""

import base64
import re
import uuid
from pathlib import Path

from kafpy.metadata import topic_name

METADATA_FILE = "partition.metadata"
MAX_FOLDER_NAME = 255

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<partition>0|[1-9][0-9]{0,9})\Z")
_REMOVED = re.compile(r".+\.[0-9a-f]{32}-delete\Z")
_FUTURE = re.compile(r".+\.[0-9a-f]{32}-future\Z")
_STRAY = re.compile(r".+\.[0-9a-f]{32}-stray\Z")


class PartitionMetadataError(Exception):
    """partition.metadata cannot be believed."""


def format_name(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def parse_name(name: str) -> tuple[str, int] | None:
    match = _PARTITION.match(name)
    if match is None or topic_name.fault(match["topic"]) is not None or int(match["partition"]) > 2**31 - 1:
        return None
    return match["topic"], int(match["partition"])


def is_deleted(name: str) -> bool:
    return _REMOVED.match(name) is not None


def is_future(name: str) -> bool:
    return _FUTURE.match(name) is not None


def is_stray(name: str) -> bool:
    return _STRAY.match(name) is not None


def deleted_name(name: str) -> str:
    return _renamed(name, "delete")


def future_name(name: str) -> str:
    return _renamed(name, "future")


def stray_name(name: str) -> str:
    return _renamed(name, "stray")


def _renamed(name: str, suffix: str) -> str:
    """A long name is cut to keep within what a file system allows, as Kafka does."""
    tail = f".{uuid.uuid4().hex}-{suffix}"
    return name[: MAX_FOLDER_NAME - len(tail)] + tail


def format_id(topic_id: bytes) -> str:
    """Kafka's text of a uuid: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def parse_id(text: str) -> bytes:
    topic_id = base64.urlsafe_b64decode(text + "==")
    if len(topic_id) != 16:
        raise ValueError(f"{text!r} is not a uuid")
    return topic_id


def write_topic_id(folder: Path, topic_id: bytes) -> None:
    """Not synced: an id lost in a crash reads as None, and a deletion is durable before its name can be used again."""
    (folder / METADATA_FILE).write_bytes(f"version: 0\ntopic_id: {format_id(topic_id)}".encode())


def read_topic_id(folder: Path) -> bytes | None:
    """None when the folder has no such file, or an empty one: a crash came before it was written."""
    path = folder / METADATA_FILE
    try:
        lines = path.read_text("ascii").splitlines()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise PartitionMetadataError(f"{path}: not text") from None
    if not lines:
        return None
    if len(lines) != 2 or lines[0].strip() != "version: 0" or not lines[1].startswith("topic_id: "):
        raise PartitionMetadataError(f"{path}: malformed")
    try:
        return parse_id(lines[1].removeprefix("topic_id: ").strip())
    except ValueError as error:
        raise PartitionMetadataError(f"{path}: {error}") from None
