"""One log in a live process: append, read, roll, look up by time, truncate, flush, close."""

import itertools
import os
import shutil
import threading
from pathlib import Path

import pytest

from kafpy._core import batch
from kafpy._core.log import Log
from kafpy._core.runtime import Runtime
from tests.core import reference
from tests.core.logs import NOW, append, batches, error_of, kill, make_batch, offsets, read_all, segment

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3"


def fresh(runtime: Runtime, folder: Path, **settings: int) -> Log:
    return Log(runtime, str(folder), **settings)


def test_offsets_count_records(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, leader_epoch=3)
    assert [append(log, make_batch(count)) for count in (1, 5, 2)] == [0, 1, 6]
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.last_stable_offset) == (0, 8, 8, 8)
    stored = read_all(log)
    assert [batch.header(each).leader_epoch for each in stored] == [3, 3, 3]
    assert segment(tmp_path).read_bytes() == b"".join(stored)
    assert log.size == sum(map(len, stored))


def test_a_read_gives_the_batch_that_holds_the_offset_and_whole_ones_behind(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path)
    for _ in range(100):
        append(log, make_batch(3))
    size = len(make_batch(3))
    for offset in (0, 1, 2, 3, 150, 298, 299):
        got = log.read(offset, 5 * size)
        assert batch.header(got).base_offset == offset // 3 * 3
        assert len(got) == min(5, 100 - offset // 3) * size
    assert len(log.read(150, 1)) == size
    assert log.read(300, 100) == b""
    for outside in (-1, 301):
        with pytest.raises(IndexError):
            log.read(outside, 100)


@pytest.mark.parametrize("interval", [0, 500, 1 << 30])
def test_every_offset_is_found_however_sparse_the_index(runtime: Runtime, tmp_path: Path, interval: int) -> None:
    log = fresh(runtime, tmp_path, index_interval_bytes=interval, segment_bytes=6000)
    counts = [1 + i % 7 for i in range(200)]
    for count in counts:
        append(log, make_batch(count))
    starts = list(itertools.accumulate(counts, initial=0))
    for start, end in itertools.pairwise(starts):
        for offset in range(start, end):
            assert batch.header(log.read(offset, 1)).base_offset == start
    log.close()
    again = Log(runtime, str(tmp_path), clean=True, index_interval_bytes=interval, segment_bytes=6000)
    assert offsets(again) == starts[:-1]


def test_rolls_when_the_segment_would_grow_too_large(runtime: Runtime, tmp_path: Path) -> None:
    size = len(make_batch())
    log = fresh(runtime, tmp_path, segment_bytes=3 * size)
    for _ in range(7):
        append(log, make_batch())
    runtime.settle()
    assert log.segment_count == 3
    assert sorted(path.name for path in tmp_path.glob("*.log")) == [f"{base:020}.log" for base in (0, 3, 6)]
    assert [path.stat().st_size for path in sorted(tmp_path.glob("*.log"))] == [3 * size, 3 * size, size]
    assert sorted(path.stem for path in tmp_path.glob("*.timeindex")) == [f"{base:020}" for base in (0, 3)]
    assert offsets(log) == list(range(7))
    assert log.recovery_point == 6


def test_rolls_by_the_time_of_its_batches(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, segment_ms=1000)
    for timestamp in (NOW, NOW + 1000, NOW + 1001, NOW + 1500, NOW + 2002):
        append(log, make_batch(timestamp=timestamp))
    assert log.segment_count == 3
    assert sorted(int(path.stem) for path in tmp_path.glob("*.log")) == [0, 2, 4]


def test_rolls_when_the_offset_index_is_full(runtime: Runtime, tmp_path: Path) -> None:
    # All batches of one time: the time index stays at one entry.
    log = fresh(runtime, tmp_path, index_interval_bytes=0, segment_index_bytes=6 * 8)
    for _ in range(15):
        append(log, make_batch())
    runtime.settle()
    # The first batch of a segment has no entry; with six entries the next batch starts another.
    assert sorted(int(path.stem) for path in tmp_path.glob("*.log")) == [0, 7, 14]
    assert segment(tmp_path, 0, "index").stat().st_size == 6 * 8


def test_rolls_when_the_time_index_has_one_place_left(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, index_interval_bytes=0, segment_index_bytes=5 * 12)
    for i in range(11):
        append(log, make_batch(timestamp=NOW + i))
    runtime.settle()
    assert sorted(int(path.stem) for path in tmp_path.glob("*.log")) == [0, 5, 10]
    assert segment(tmp_path, 0, "timeindex").stat().st_size == 4 * 12


def test_a_prepared_file_becomes_the_next_segment(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, segment_bytes=4 << 20)
    while log.size < 3 << 20:
        append(log, make_batch(value=bytes(100_000)))
    runtime.settle()
    append(log, make_batch(value=bytes(100_000)))  # a helper that looked before the half was full looks again
    runtime.settle()
    prepared = (tmp_path / "next").stat().st_ino
    while log.segment_count == 1:
        append(log, make_batch(value=bytes(100_000)))
    runtime.settle()
    assert sorted(tmp_path.glob("*.log"))[1].stat().st_ino == prepared
    assert not (tmp_path / "next").exists()
    assert len(offsets(log)) == log.log_end_offset


def test_r19_offsets_beyond_the_reach_of_a_segment(runtime: Runtime, tmp_path: Path) -> None:
    """A batch that is not opened may claim two billion records; an index counts from its segment's base in 32 bits."""
    most = 2**31 - 1
    claim = reference.frame(
        bytes(3 << 20),
        attributes=4,
        record_count=most,
        last_offset_delta=most - 1,
        base_timestamp=NOW,
        max_timestamp=NOW,
    )
    log = fresh(runtime, tmp_path, max_message_bytes=4 << 20)
    expected = [0, most, most + 1, 2 * most + 1, 2 * most + 2]
    assert [append(log, each) for each in (claim, make_batch(), claim, make_batch(), make_batch())] == expected
    runtime.settle()
    assert sorted(int(path.stem) for path in tmp_path.glob("*.log")) == [0, most + 1, 2 * most + 2]
    kill(log)
    log = fresh(runtime, tmp_path, max_message_bytes=4 << 20)
    assert offsets(log) == expected
    assert log.log_end_offset == 2 * most + 3


def test_the_next_file_is_prepared_before_a_segment_is_too_old(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, segment_ms=64_000)
    append(log, make_batch(timestamp=NOW))
    append(log, make_batch(timestamp=NOW + 63_000))
    runtime.settle()
    assert not (tmp_path / "next").exists()
    append(log, make_batch(timestamp=NOW + 63_001))
    runtime.settle()
    prepared = (tmp_path / "next").stat().st_ino
    append(log, make_batch(timestamp=NOW + 64_001))
    runtime.settle()
    assert segment(tmp_path, 3).stat().st_ino == prepared
    assert not (tmp_path / "next").exists()


def test_space_ahead_is_given_back(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path)
    for _ in range(20):
        append(log, make_batch(value=bytes(100_000)))
    runtime.settle()
    ahead = segment(tmp_path).stat().st_blocks * 512 - log.size
    if ahead < 1 << 19:
        pytest.skip("this file system allocates nothing ahead")
    log.release_space()
    log.release_space()
    assert segment(tmp_path).stat().st_blocks * 512 - log.size < 1 << 16
    assert segment(tmp_path).stat().st_size == log.size


@pytest.mark.parametrize("reopen", [False, True])
def test_look_up_by_time(runtime: Runtime, tmp_path: Path, reopen: bool) -> None:
    times = [NOW + step for step in (0, 50, 40, 100, 100, 90, 300, 200, 400)]
    settings = {"index_interval_bytes": 0, "segment_bytes": 3 * len(make_batch())}
    log = fresh(runtime, tmp_path, **settings)
    for timestamp in times:
        append(log, make_batch(timestamp=timestamp))
    if reopen:
        log.close()
        log = Log(runtime, str(tmp_path), clean=True, **settings)
    for wanted in {step for base in times for step in (base - 1, base, base + 1)}:
        first = next((i for i, timestamp in enumerate(times) if timestamp >= wanted), None)
        found = log.batch_for_time(wanted)
        assert (None if found is None else batch.header(found).base_offset) == first
    assert log.max_timestamp() == NOW + 400


def test_log_append_time(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, log_append_time=True)
    before = runtime.wall_ms()
    error, _, stamped = log.append(make_batch(2, timestamp=5))
    assert error == 0
    assert before <= stamped <= runtime.wall_ms()
    header = batch.header(log.read(0, 1))
    assert header.attributes & 8
    assert header.max_timestamp == stamped
    assert batch.intact(log.read(0, 1))
    log.configure(log_append_time=False)
    assert log.append(make_batch(timestamp=5))[2] == -1
    assert batch.header(log.read(2, 1)).max_timestamp == 5


def test_settings_are_obeyed_at_once(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, max_message_bytes=len(make_batch()))
    assert error_of(log, make_batch(value=b"vv")) == 10
    log.configure(max_message_bytes=1000, keys_required=True)
    assert error_of(log, make_batch()) == 87
    log.configure(keys_required=False)
    assert error_of(log, make_batch(value=b"vv")) == 0


@pytest.mark.parametrize("offset", range(13))
def test_truncate(runtime: Runtime, tmp_path: Path, offset: int) -> None:
    log = fresh(runtime, tmp_path, segment_bytes=2 * len(make_batch(2)))
    for _ in range(6):
        append(log, make_batch(2))
    runtime.settle()
    log.truncate(offset)
    kept = offset // 2
    assert offsets(log) == [2 * i for i in range(kept)]
    assert (log.log_end_offset, log.high_watermark) == (2 * kept, 2 * kept)
    assert log.recovery_point <= 2 * kept
    assert sum(path.stat().st_size for path in tmp_path.glob("*.log")) == log.size == kept * len(make_batch(2))
    assert len(list(tmp_path.glob("*.log"))) == log.segment_count
    assert append(log, make_batch(2)) == 2 * kept
    log.close()
    again = Log(runtime, str(tmp_path), clean=True)
    assert offsets(again) == [2 * i for i in range(kept + 1)]


def test_truncate_above_the_high_watermark(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, flush_messages=1)
    for _ in range(50):
        append(log, make_batch())
    log.truncate(49)
    assert log.log_end_offset == 49
    assert not log.offline


def test_with_flush_messages_1_the_high_watermark_waits_for_the_sync(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, flush_messages=1)
    assert append(log, make_batch(3)) == 0
    assert log.high_watermark <= log.recovery_point
    runtime.settle()
    assert (log.high_watermark, log.recovery_point) == (3, 3)
    many = fresh(runtime, tmp_path / "many", flush_messages=10)
    for _ in range(9):
        append(many, make_batch())
    runtime.settle()
    assert (many.high_watermark, many.recovery_point) == (9, 0)
    append(many, make_batch())
    runtime.settle()
    assert many.recovery_point == 10


def test_the_high_watermark_no_longer_waits_when_flush_messages_grows(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, flush_messages=1)
    append(log, make_batch())
    log.configure(flush_messages=100)
    assert log.high_watermark == 1


def test_flushes_of_rolled_segments_do_not_meet(runtime: Runtime, tmp_path: Path) -> None:
    """Helpers that seal and that commit, and Python's own flush, all want the same index files."""
    log = fresh(runtime, tmp_path, flush_messages=1, segment_bytes=500, index_interval_bytes=0)
    stop = threading.Event()

    def flush() -> None:
        while not stop.is_set():
            log.flush()

    threads = [threading.Thread(target=flush) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(300):
        append(log, make_batch(timestamp=NOW + i))
    stop.set()
    for thread in threads:
        thread.join()
    runtime.settle()
    assert not log.offline
    assert log.high_watermark == 300
    assert {path.stem for path in tmp_path.glob("*.index")} >= {
        path.stem for path in sorted(tmp_path.glob("*.log"))[:-1]
    }


def test_settings_change_while_the_log_is_cut(runtime: Runtime, tmp_path: Path) -> None:
    """Neither waits for the other with the GIL held."""
    log = fresh(runtime, tmp_path, segment_bytes=1000)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            log.configure(max_message_bytes=100_000)
            log.producers()

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(20):
        for _ in range(30):
            append(log, make_batch())
        log.truncate(5)
    stop.set()
    thread.join()
    assert offsets(log) == list(range(5))


def test_a_failed_write_takes_the_log_offline_for_good(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path, segment_bytes=2 * len(make_batch()))
    assert append(log, make_batch()) == 0
    assert append(log, make_batch()) == 1
    runtime.settle()
    moved = tmp_path.with_name(tmp_path.name + "-gone")
    tmp_path.rename(moved)  # the roll has nowhere to put its file
    assert error_of(log, make_batch()) == 56
    assert log.offline
    assert log.log_end_offset == 2
    moved.rename(tmp_path)
    assert error_of(log, make_batch()) == 56
    log.close()
    assert offsets(Log(runtime, str(tmp_path))) == [0, 1]


def test_a_closed_log_serves_nobody(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path)
    append(log, make_batch())
    log.close()
    log.close()
    assert error_of(log, make_batch()) == 3
    with pytest.raises(OSError, match="closed"):
        log.read(0, 10)
    with pytest.raises(OSError, match="truncate"):
        log.truncate(0)
    assert segment(tmp_path, 0, "index").exists()


def test_nothing_appears_in_a_folder_whose_log_is_closed(runtime: Runtime, tmp_path: Path) -> None:
    for round_ in range(30):
        log = fresh(runtime, tmp_path / str(round_), segment_bytes=300, index_interval_bytes=0, flush_messages=1)
        for _ in range(20):
            append(log, make_batch())
        log.close(flush=False)
        shutil.rmtree(log.directory)
        with pytest.raises(OSError, match="flush"):
            log.flush()
    runtime.settle()
    assert not list(tmp_path.iterdir())


def test_a_closed_runtime_does_not_hang_its_logs(tmp_path: Path) -> None:
    runtime = Runtime()
    log = Log(runtime, str(tmp_path), segment_bytes=2 * len(make_batch()), flush_messages=1)
    runtime.close()
    for i in range(5):
        assert append(log, make_batch()) == i
    log.flush()
    assert log.high_watermark == 5
    log.close()


def test_a_forks_child_touches_nothing(runtime: Runtime, tmp_path: Path) -> None:
    log = fresh(runtime, tmp_path)
    append(log, make_batch())
    child = os.fork()
    if not child:
        try:
            log.close()
            runtime.settle()
            runtime.close()
            del log
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert not segment(tmp_path, 0, "index").exists()
    assert append(log, make_batch()) == 1


def golden(folder: Path, kind: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob(f"*{kind}")}


TOPICS = sorted(path.parent for path in GOLDEN.glob("*/manifest.json"))
# Not by appending: times that Kafka's clock gave, and markers that only a coordinator writes.
APPENDABLE = [path for path in TOPICS if path.name not in ("java-append-time", "librdkafka-transactions")]


@pytest.mark.parametrize("topic", APPENDABLE, ids=lambda topic: topic.name)
def test_kafkas_batches_appended_make_kafkas_files(runtime: Runtime, tmp_path: Path, topic: Path) -> None:
    log = fresh(runtime, tmp_path, index_interval_bytes=300, after_max_ms=2**62)
    for each in batches(segment(topic).read_bytes()):
        sent = bytearray(each)
        batch.stamp(sent, 0, -1)
        assert error_of(log, bytes(sent)) == 0
    log.close()
    assert golden(tmp_path, "") == golden(topic, "log") | golden(topic, "index")


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_recovery_makes_kafkas_indexes(runtime: Runtime, tmp_path: Path, topic: Path) -> None:
    for name, data in golden(topic, ".log").items():
        (tmp_path / name).write_bytes(data)
    log = fresh(runtime, tmp_path, index_interval_bytes=300)
    log.close()
    assert golden(tmp_path, "") == golden(topic, "log") | golden(topic, "index")
