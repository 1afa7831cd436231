"""One of log.dirs: who holds it, whose it is, how it was left, and the partition folders in it.

.lock                              flock of the broker that uses it (held while `Directory` is open)
meta.properties                    version=1, cluster.id, node.id, directory.id
.kafka_cleanshutdown               left by a clean stop; deleted before anything is used, so that a crash looks like one
recovery-point-offset-checkpoint, log-start-offset-checkpoint, replication-offset-checkpoint (high watermarks)
topic-N/                           partitions
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kafpy.storage import partition_folder
from kafpy.storage.checkpoints import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    CheckpointError,
    TopicPartition,
    read,
    sync_directory,
    write,
    write_atomically,
)

META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"


class DirectoryError(Exception):
    """The broker must not start with this directory; one line that says what to do."""


class UnusableDirectory(DirectoryError):
    """Its disk does not work. The broker may start without it."""


class Directory:
    """Locked from construction until close(). Not thread-safe; different directories may be used in parallel.

    Once `failure` says why, it is offline for good: nothing is written there any more.
    """

    def __init__(self, path: Path, *, failure: str | None = None) -> None:
        """With `failure`: one that could not be opened, offline from the beginning."""
        self.path = path
        self.failure = failure
        self._lock = -1
        if failure is not None:
            return
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            message = f"cannot use {path}: {error.strerror}; repair it, or choose another directory with --data DIR"
            raise UnusableDirectory(message) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise DirectoryError(
                f"{path} is in use by another broker: stop that broker, or choose another directory with --data DIR"
            ) from None

    def close(self) -> None:
        """Gives the lock back; the file stays, as a removed lock file could be locked twice."""
        if self._lock >= 0:
            os.close(self._lock)

    def identify(self, cluster_id: str, node_id: int) -> None:
        """Checks meta.properties, or writes it on first use."""
        path = self.path / META_PROPERTIES
        found = self._meta_properties()
        if found is None:
            directory_id = partition_folder.format_id(uuid.uuid4().bytes)
            lines = [
                "#",
                "version=1",
                f"directory.id={directory_id}",
                f"node.id={node_id}",
                f"cluster.id={cluster_id}",
                "",
            ]
            try:
                write_atomically(path, "\n".join(lines).encode())
            except OSError as error:
                raise UnusableDirectory(f"cannot write {path}: {error.strerror}") from None
            return
        if found.get("version") != "1":
            raise DirectoryError(f"{path}: version {found.get('version')!r} is not 1; move the directory away")
        if found.get("cluster.id") != cluster_id:
            raise DirectoryError(
                f"{path}: the directory belongs to cluster {found.get('cluster.id')}, the metadata to {cluster_id}; "
                "use the directories that belong together"
            )
        if found.get("node.id") != str(node_id):
            raise DirectoryError(
                f"{path}: the directory belongs to node {found.get('node.id')}, this broker is node {node_id}; "
                f"set node.id={found.get('node.id')} or use another directory"
            )

    def cluster_id(self) -> str | None:
        found = self._meta_properties()
        return None if found is None else found.get("cluster.id")

    def _meta_properties(self) -> dict[str, str] | None:
        try:
            text = (self.path / META_PROPERTIES).read_text("utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnusableDirectory(f"cannot read {self.path / META_PROPERTIES}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise DirectoryError(f"cannot read {self.path / META_PROPERTIES}: {error}") from None
        lines = [line.strip() for line in text.splitlines()]
        return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

    def take_clean_shutdown(self) -> bool:
        """Whether the last stop was clean. The marker is gone, durably, when this returns: it is believed once."""
        try:
            (self.path / CLEAN_SHUTDOWN).unlink()
        except FileNotFoundError:
            return False
        sync_directory(self.path)
        return True

    def mark_clean_shutdown(self) -> None:
        write_atomically(self.path / CLEAN_SHUTDOWN, b'{"version":0,"brokerEpoch":-1}')

    def recovery_points(self) -> tuple[dict[TopicPartition, int], str | None]:
        """With the reason when the file is refused: then every log is recovered from its start."""
        try:
            return read(self.path / RECOVERY_POINTS), None
        except CheckpointError as error:
            return {}, str(error)

    def log_start_offsets(self) -> tuple[dict[TopicPartition, int], str | None]:
        """With the reason when the file is refused: then every log starts with its first segment."""
        try:
            return read(self.path / LOG_START_OFFSETS), None
        except CheckpointError as error:
            return {}, str(error)

    def write_recovery_points(self, points: Mapping[TopicPartition, int]) -> None:
        write(self.path / RECOVERY_POINTS, points)

    def write_log_start_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        write(self.path / LOG_START_OFFSETS, offsets)

    def write_high_watermarks(self, offsets: Mapping[TopicPartition, int]) -> None:
        """For replicas that start again: they follow from there. A log that is alone is committed to its end."""
        write(self.path / HIGH_WATERMARKS, offsets)

    def partitions(self) -> dict[TopicPartition, Path]:
        """Folders named like partitions; whose they are, their topic id tells."""
        found = {}
        for entry in os.scandir(self.path):
            parsed = partition_folder.parse_name(entry.name)
            if parsed is not None and entry.is_dir(follow_symlinks=False):
                found[parsed] = Path(entry.path)
        return found

    def obstacles(self) -> dict[TopicPartition, Path]:
        """What is named like a partition and is no folder: a link is not followed, it may lead anywhere."""
        found = {}
        for entry in os.scandir(self.path):
            parsed = partition_folder.parse_name(entry.name)
            if parsed is not None and not entry.is_dir(follow_symlinks=False):
                found[parsed] = Path(entry.path)
        return found

    def create_partition(self, topic: str, partition: int, topic_id: bytes) -> Path:
        """The folder with its id; durable only after sync() of the whole directory, made once for many folders.

        FileExistsError when the name is taken: what lies there is another topic's.
        """
        folder = self.path / partition_folder.format_name(topic, partition)
        folder.mkdir()
        try:
            partition_folder.write_topic_id(folder, topic_id)
        except OSError:
            with suppress(OSError):
                folder.rmdir()  # takes no descriptor, which may be what is missing
            remove(folder)
            raise
        return folder

    def sync(self) -> None:
        sync_directory(self.path)

    def set_aside(self, folder: Path, *, stray: bool = False) -> Path:
        """Renames a partition's folder, so that its name is free at once; the files are removed later."""
        rename = partition_folder.stray_name if stray else partition_folder.deleted_name
        return folder.rename(folder.with_name(rename(folder.name)))

    def deleted(self) -> list[Path]:
        """What a stop left to be removed: deleted partitions, and copies of those that were being moved here."""
        found = [Path(entry.path) for entry in os.scandir(self.path)]
        return [
            each for each in found if partition_folder.is_deleted(each.name) or partition_folder.is_future(each.name)
        ]


def remove(path: Path) -> None:
    """A folder with all in it, or a file; one that is gone already is no fault."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
