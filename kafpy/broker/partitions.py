"""The partitions that this broker hosts: their folders, their logs, and what the planes know of them.

Methods that touch a disk block and are called from a helper thread; publish() and withdraw() are called on the loop.
The first write, sync, rename or truncate that fails takes its directory offline for good: nothing there is tried again.
Changes are made by one task at a time (BrokerState's lock); log() and opening() may be asked at any time on the loop.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import EIO, EMFILE, ENFILE
from pathlib import Path
from typing import TypeVar

from kafpy._core.log import Log
from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.broker.recovery_progress import Progress
from kafpy.broker.settings import Settings
from kafpy.broker.topic_config import Effective, Opening
from kafpy.metadata import Image, Topic, topic_name
from kafpy.storage import leader_epochs, partition_folder, producer_snapshot
from kafpy.storage.checkpoints import TopicPartition
from kafpy.storage.directories import Directory

logger = logging.getLogger(__name__)

T = TypeVar("T")

DESCRIPTORS_TOLD_S = 60.0


@dataclass(slots=True, eq=False)
class Hosted:
    directory: Directory
    folder: Path
    log: Log
    snapshot_offset: int = 0
    """Of its producers; the next one is taken when all below is on disk."""
    damage_told: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a partition lies, and what is known about it before its log is opened."""

    topic: Topic
    index: int
    directory: Directory
    folder: Path
    recovery_point: int = 0
    log_start_offset: int = 0
    clean: bool = True
    new: bool = False


@dataclass(slots=True)
class Contents:
    """What a directory holds, and its volume has room for."""

    path: str
    total_bytes: int
    usable_bytes: int
    sizes: dict[TopicPartition, int] = field(default_factory=dict)
    offline: bool = False


class Partitions:
    def __init__(self, runtime: Runtime, planes: Planes, settings: Settings, directories: list[Directory]) -> None:
        self._runtime = runtime
        self._planes = planes
        self._settings = settings
        self._directories = directories
        self._hosted: dict[str, list[Hosted | None]] = {}
        self._openings: dict[str, Opening] = {}
        self._checkpointing = threading.Lock()
        self._snapshotting = threading.Lock()
        self._descriptors_told = -DESCRIPTORS_TOLD_S

    def log(self, topic: str, partition: int) -> Log | None:
        """None where there is none, or it is offline."""
        hosted = self._hosted.get(topic)
        if hosted is None or not 0 <= partition < len(hosted):
            return None
        found = hosted[partition]
        return None if found is None or found.log.offline else found.log

    @property
    def offline(self) -> bool:
        """Every directory is."""
        return all(directory.failure is not None for directory in self._directories)

    def tell_damage(self) -> None:
        """Once per log: of what a disk gave back changed. The rest of the log is served on."""
        for _, _, each in self.hosted():
            if not each.damage_told and each.log.damaged_at >= 0:
                each.damage_told = True
                logger.error(
                    "%s is damaged: there is no batch with offset %d where one was written; fetches of it answer "
                    "CORRUPT_MESSAGE, nothing was cut off",
                    each.folder,
                    each.log.damaged_at,
                )

    def fail_directories(self) -> None:
        """A directory in which a log went offline goes offline with all its logs."""
        for directory in self._directories:
            hosted = [each for _, _, each in self.hosted() if each.directory is directory]
            failed = next((each for each in hosted if each.log.offline), None)
            if failed is not None and directory.failure is None:
                _fail(directory, f"{failed.folder.name}: {os.strerror(failed.log.failure)}")
            if directory.failure is not None:
                for each in hosted:
                    each.log.fail()

    @contextmanager
    def watched(self, directory: Directory) -> Iterator[None]:
        """An I/O error of the block takes the directory offline; the loop hears of it as it does of a log's failure.
        Descriptors that are missing are no fault of the disk."""
        try:
            yield
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno in (EMFILE, ENFILE):
                self._tell_descriptors()
                raise
            _fail(directory, f"{error.filename or 'sync'}: {os.strerror(error.errno or EIO)}")
            os.eventfd_write(self._runtime.failures_fd, 1)
            raise

    def _tell_descriptors(self) -> None:
        now = time.monotonic()
        if now - self._descriptors_told >= DESCRIPTORS_TOLD_S:
            self._descriptors_told = now
            logger.error("no descriptors are left to open files with; raise the limit (ulimit -n)")

    def lost(self) -> dict[str, set[int]]:
        """Partitions in failed directories."""
        return {
            name: lost
            for name, hosted in self._hosted.items()
            if (lost := {index for index, each in enumerate(hosted) if each is None or each.log.offline})
        }

    def opening(self, topic: str) -> Opening | None:
        return self._openings.get(topic)

    def load(self, image: Image, deleted_topic_ids: frozenset[bytes]) -> None:
        """At start: finds the folders of every topic, opens their logs in parallel, publishes them. Blocks."""
        for directory in self._directories:
            if directory.failure is not None:
                _say_offline(directory)
        places: list[Place] = []
        for directory in self._online():
            with suppress(OSError), self.watched(directory):
                places += list(self._scan(directory, image, deleted_topic_ids))
        places = self._without_doubles(places)
        places += self._replace_missing(image, {(place.topic.name, place.index) for place in places})
        opened: dict[str, list[Hosted | None]] = {
            name: [None] * len(topic.partitions) for name, topic in image.topics.items()
        }

        def open_one(place: Place) -> None:
            with suppress(OSError), progress.opening(place.folder):
                opened[place.topic.name][place.index] = self._open(place)

        with Progress(len(places)) as progress:
            _in_parallel(open_one, places, self._settings.num_recovery_threads_per_data_dir * len(self._directories))
        for name, hosted in opened.items():
            self.publish(image.topics[name], hosted)

    def _without_doubles(self, places: list[Place]) -> list[Place]:
        """A crash at the end of a move leaves two folders, the same, or the one that was used since is longer."""
        chosen: dict[TopicPartition, Place] = {}
        for place in places:
            key = place.topic.name, place.index
            other = chosen.setdefault(key, place)
            if other is not place:
                chosen[key], loser = (place, other) if _length(place) > _length(other) else (other, place)
                logger.warning("%s is there twice; %s is set aside", chosen[key].folder, loser.folder)
                with suppress(OSError), self.watched(loser.directory):
                    loser.directory.set_aside(loser.folder, stray=True)
        return list(chosen.values())

    def _replace_missing(self, image: Image, known: set[TopicPartition]) -> list[Place]:
        """New folders for partitions that have none; but none where the old one may only be out of reach."""
        if any(directory.failure is not None for directory in self._directories):
            return []
        obstacles = {key: path for directory in self._directories for key, path in directory.obstacles().items()}
        places: list[Place] = []
        for topic in image.topics.values():
            missing = [each.index for each in topic.partitions if (topic.name, each.index) not in known]
            for index in missing:
                if (topic.name, index) in obstacles:
                    logger.error(
                        "%s is no folder and was left alone: the partition answers KAFKA_STORAGE_ERROR until a folder "
                        "is in its place and the broker started again",
                        obstacles[topic.name, index],
                    )
                else:
                    logger.warning("%s-%d has no folder in any log directory; it starts empty", topic.name, index)
            places += self._new_places(topic, [index for index in missing if (topic.name, index) not in obstacles])
        return places

    def _scan(self, directory: Directory, image: Image, deleted_topic_ids: frozenset[bytes]) -> Iterator[Place]:
        clean = directory.take_clean_shutdown()
        points, refused = directory.recovery_points()
        if refused is not None:
            logger.warning("%s; its logs are recovered from their start", refused)
            clean = False
        starts, refused = directory.log_start_offsets()
        if refused is not None:
            logger.warning("%s; its logs start with their first segments", refused)
        for (name, index), folder in directory.partitions().items():
            topic = image.topic(name)
            topic_id = _topic_id(folder)
            ours = topic is not None and topic_id in (None, topic.topic_id) and index < len(topic.partitions)
            if topic is not None and ours:
                known = points.get((name, index), 0), starts.get((name, index), 0)
                yield Place(topic, index, directory, folder, *known, clean)
            elif topic_id in deleted_topic_ids:
                directory.set_aside(folder)
            else:
                aside = directory.set_aside(folder, stray=True)
                logger.warning("%s belongs to no topic of this broker; it was renamed to %s", folder, aside.name)

    def _new_places(self, topic: Topic, indexes: Iterable[int]) -> Iterator[Place]:
        """Makes folders for new partitions, each in the directory that has the fewest."""
        load = {directory.path: 0 for directory in self._directories}
        for _, _, hosted in self.hosted():
            load[hosted.directory.path] += 1
        for index in indexes:
            directory = min(self._online(), key=lambda each: load[each.path], default=None)
            if directory is None:
                raise OSError(EIO, "every log directory is offline")
            load[directory.path] += 1
            with self.watched(directory):
                folder = directory.create_partition(topic.name, index, topic.topic_id)
            yield Place(topic, index, directory, folder, new=True)

    def reopen(self, moved: Hosted, topic: Topic, index: int, directory: Directory, folder: Path) -> Hosted:
        """The log of a finished copy, which must be as long as the original; nothing is appended to either. Blocks."""
        offset, producers = moved.log.producer_snapshot()
        with self.watched(directory):
            log = Log(
                self._runtime,
                str(folder),
                recovery_point=offset,
                clean=True,
                log_start_offset=moved.log.log_start_offset,
                leader_epoch=moved.log.leader_epoch,
                producers=producers,
                producers_offset=offset,
                **Effective(self._settings, topic.configs).log_settings(),
            )
        log.lead(False)
        if (log.log_start_offset, log.log_end_offset) != (moved.log.log_start_offset, offset):
            log.close(flush=False)
            raise OSError(EIO, "the copy is not what the original is", str(folder))
        return Hosted(directory, folder, log, offset)

    def announce_start(self, name: str, index: int, log: Log, directory: Directory) -> None:
        """The log's start is durable in a directory that is about to hold it. Blocks."""
        with self._checkpointing, self.watched(directory):
            starts = dict(self._per_directory(lambda each: each.log_start_offset)).get(directory)
            if starts is None:
                raise OSError(EIO, "went offline", str(directory.path))
            starts[name, index] = log.log_start_offset
            directory.write_log_start_offsets({key: start for key, start in starts.items() if start > 0})

    def set_moved_aside(self, moved: Hosted) -> list[Path]:
        """Closes a log whose successor is served, and frees its folder's name, durably. Blocks."""
        moved.log.close(flush=False)
        with self._snapshotting:
            aside = self._set_aside(moved.directory, moved.folder)
        if aside:
            with suppress(OSError), self.watched(moved.directory):
                moved.directory.sync()
        return aside

    def _open(self, place: Place) -> Hosted:
        with self.watched(place.directory):
            snapshot = producer_snapshot.newest(place.folder, place.recovery_point)
            log = Log(
                self._runtime,
                str(place.folder),
                recovery_point=place.recovery_point,
                clean=place.clean,
                log_start_offset=place.log_start_offset,
                leader_epoch=place.topic.partitions[place.index].leader_epoch,
                producers=snapshot.producers,
                producers_offset=snapshot.offset,
                **Effective(self._settings, place.topic.configs).log_settings(),
            )
            if not place.clean:
                producer_snapshot.remove_above(place.folder, log.log_end_offset)
            leader_epochs.bring_up_to_date(place.folder, log, new=place.new)
        return Hosted(place.directory, place.folder, log, log.log_end_offset if place.clean else snapshot.offset)

    def create(self, topic: Topic, first: int = 0) -> list[Hosted | None]:
        """Folders and logs of a new topic, or of its partitions from `first` on.

        OSError leaves nothing behind but folders set aside. Blocks.
        """
        places: list[Place] = []
        opened: list[Hosted | None] = []
        try:
            for place in self._new_places(topic, range(first, len(topic.partitions))):
                places.append(place)
                opened.append(self._open(place))
            for directory in self._online():
                with self.watched(directory):
                    directory.sync()
        except OSError:
            while opened:  # no traceback may hold a log: its descriptor is wanted
                hosted = opened.pop()
                if hosted is not None:
                    hosted.log.close(flush=False)
            hosted = None
            for place in places:
                self._set_aside(place.directory, place.folder)
            raise
        return opened

    def publish(self, topic: Topic, hosted: list[Hosted | None]) -> None:
        self._hosted[topic.name] = hosted
        self._openings[topic.name] = Effective(self._settings, topic.configs).opening()
        logs = [None if each is None else each.log for each in hosted]
        self._planes.publish(topic.name, topic.topic_id, logs, topic.name in topic_name.INTERNAL)

    def extend(self, topic: Topic, added: list[Hosted | None]) -> None:
        self.publish(topic, [*self._hosted[topic.name], *added])

    def configure(self, topics: Iterable[Topic], settings: Settings) -> None:
        """Logs follow the broker's settings and their topic's configs from now on. Blocks for locks, not for disks."""
        self._settings = settings
        for topic in topics:
            effective = Effective(settings, topic.configs)
            self._openings[topic.name] = effective.opening()
            for hosted in self._hosted[topic.name]:
                if hosted is not None:
                    hosted.log.configure(**effective.log_settings())

    def place(self, topic: str, partition: int) -> Hosted | None:
        """Also of one that is offline."""
        hosted = self._hosted.get(topic, [])
        return hosted[partition] if 0 <= partition < len(hosted) else None

    def replace(self, topic: Topic, index: int, hosted: Hosted) -> None:
        """From now on the planes serve this log of the partition; the one before it is still open."""
        logs = list(self._hosted[topic.name])
        logs[index] = hosted
        self.publish(topic, logs)

    def withdraw(self, name: str) -> list[Hosted]:
        """The planes stop serving the topic; its logs are still open."""
        self._planes.withdraw(name)
        del self._openings[name]
        return [each for each in self._hosted.pop(name) if each is not None]

    def discard(self, withdrawn: list[Hosted]) -> list[Path]:
        """Closes the logs and frees their names, durably; gives the folders to remove later. Blocks."""
        aside = []
        for hosted in withdrawn:
            hosted.log.close(flush=False)
            with self._snapshotting:
                aside += self._set_aside(hosted.directory, hosted.folder)
        for directory in self._online():
            with suppress(OSError), self.watched(directory):
                directory.sync()
        if any(hosted.log.log_start_offset for hosted in withdrawn):
            # a topic of the same name must not start where this one did
            with suppress(OSError):
                self.write_log_start_offsets()
        return aside

    def _set_aside(self, directory: Directory, folder: Path) -> list[Path]:
        """Nothing where the directory is offline: the next start does it."""
        if directory.failure is None:
            with suppress(OSError), self.watched(directory):
                return [directory.set_aside(folder)]
        return []

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | Exception]:
        """Moves the starts of logs, durably. IndexError for an offset beyond the high watermark. Blocks."""
        results: dict[TopicPartition, int | Exception] = {}
        for (name, index), offset in offsets.items():
            log = self.log(name, index)
            try:
                results[name, index] = log.delete_records(offset) if log else OSError(EIO, "the log is offline")
            except (IndexError, OSError) as error:
                results[name, index] = error
        try:
            self.write_log_start_offsets()
        except OSError as error:
            results = {key: error if isinstance(result, int) else result for key, result in results.items()}
        return results

    def write_checkpoints(self) -> None:
        """Recovery points, high watermarks and starts of all logs, and snapshots of those that rolled; blocks."""
        self._write_snapshots()
        with self._checkpointing:
            for directory, points in self._per_directory(lambda log: log.recovery_point):
                with suppress(OSError), self.watched(directory):
                    directory.write_recovery_points(points)
            for directory, watermarks in self._per_directory(lambda log: log.high_watermark):
                with suppress(OSError), self.watched(directory):
                    directory.write_high_watermarks(watermarks)
        with suppress(OSError):
            self.write_log_start_offsets()

    def write_log_start_offsets(self) -> None:
        """0 is not written: it goes without saying. OSError when a directory did not take it; it is offline then."""
        failure: OSError | None = None
        with self._checkpointing:
            for directory, starts in self._per_directory(lambda log: log.log_start_offset):
                try:
                    with self.watched(directory):
                        directory.write_log_start_offsets({key: start for key, start in starts.items() if start > 0})
                except OSError as error:
                    failure = error
        if failure is not None:
            raise failure

    def _per_directory(self, of: Callable[[Log], int]) -> Iterator[tuple[Directory, dict[TopicPartition, int]]]:
        """Of directories that are online."""
        found: dict[Path, dict[TopicPartition, int]] = {directory.path: {} for directory in self._directories}
        for name, index, each in self.hosted():
            found[each.directory.path][name, index] = of(each.log)
        for directory in self._online():
            yield directory, found[directory.path]

    def _write_snapshots(self) -> None:
        """Of logs that rolled since their last: after a crash only what follows is replayed."""
        for name, _, each in self.hosted():
            online = each.directory.failure is None and not each.log.offline
            if online and each.log.recovery_point > each.snapshot_offset:
                self._write_snapshot(name, each)

    def _write_snapshot(self, name: str, hosted: Hosted) -> None:
        with self._snapshotting:
            if hosted not in self._hosted.get(name, ()):
                return  # deleted; its folder's name may be another's by now
            with suppress(OSError), self.watched(hosted.directory):
                offset, producers = hosted.log.producer_snapshot()
                producer_snapshot.write(hosted.folder, offset, producers)
                hosted.snapshot_offset = offset

    def hosted(self) -> Iterator[tuple[str, int, Hosted]]:
        """All of them, with topic and index; from any thread."""
        for name, hosted in list(self._hosted.items()):
            for index, each in enumerate(hosted):
                if each is not None:
                    yield name, index, each

    @property
    def directories(self) -> list[str]:
        return [str(directory.path) for directory in self._directories]

    def directory_at(self, path: str) -> Directory | None:
        return next((each for each in self._directories if str(each.path) == path), None)

    def directory(self, topic: str, partition: int) -> str | None:
        """Where a partition lies."""
        found = self.place(topic, partition)
        return None if found is None else str(found.directory.path)

    def contents(self) -> list[Contents]:
        """Of each directory; blocks."""
        found = {
            str(each.path): Contents(str(each.path), *_space(str(each.path)), offline=each.failure is not None)
            for each in self._directories
        }
        for name, index, each in self.hosted():
            contents = found[str(each.directory.path)]
            contents.sizes[name, index] = each.log.size
            contents.offline = contents.offline or each.log.offline
        return list(found.values())

    def release_idle_space(self) -> None:
        for _, _, hosted in self.hosted():
            hosted.log.release_space()

    def close(self) -> None:
        """A clean stop: every log flushed and closed, then the checkpoints, then the markers. Blocks."""
        threads = self._settings.num_recovery_threads_per_data_dir * len(self._directories)

        def close_one(hosted: Hosted) -> None:
            with suppress(OSError), self.watched(hosted.directory):
                hosted.log.close()
                if hosted.directory.failure is None:
                    producer_snapshot.write(hosted.folder, hosted.log.log_end_offset, hosted.log.producers())

        self.fail_directories()
        _in_parallel(close_one, [hosted for _, _, hosted in self.hosted()], threads)
        self.write_checkpoints()
        for directory in self._online():
            with suppress(OSError), self.watched(directory):
                directory.mark_clean_shutdown()

    def _online(self) -> list[Directory]:
        return [directory for directory in self._directories if directory.failure is None]


def _space(path: str) -> tuple[int, int]:
    """Bytes of the volume, and those that are free for us; -1 where nobody can tell."""
    try:
        volume = os.statvfs(path)
    except OSError:
        return -1, -1
    return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize


def _fail(directory: Directory, why: str) -> None:
    if directory.failure is None:
        directory.failure = why
        _say_offline(directory)


def _say_offline(directory: Directory) -> None:
    logger.error(
        "%s is offline (%s): its partitions answer KAFKA_STORAGE_ERROR until the disk is repaired and the broker "
        "started again",
        directory.path,
        directory.failure,
    )


def _length(place: Place) -> tuple[int, int]:
    """Of its log: where its last segment begins, and how long that is."""
    return max(((int(path.stem), path.stat().st_size) for path in place.folder.glob("*.log")), default=(-1, 0))


def _topic_id(folder: Path) -> bytes | None:
    try:
        return partition_folder.read_topic_id(folder)
    except partition_folder.PartitionMetadataError as error:
        logger.warning("%s; the folder is taken by its name", error)
        return None


def _in_parallel(work: Callable[[T], None], items: list[T], threads: int) -> None:
    """Runs work over items; the calling thread helps. `work` does not raise what it expects."""
    queue = deque(items)

    def worker() -> None:
        while queue:
            try:
                item = queue.popleft()
            except IndexError:
                return
            work(item)

    helpers = [threading.Thread(target=worker) for _ in range(min(threads, len(items)) - 1)]
    for helper in helpers:
        helper.start()
    worker()
    for helper in helpers:
        helper.join()
