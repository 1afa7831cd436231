"""A partition's log as Python holds it: opening and recovery, settings, look-ups that may wait for a disk, closing.

Files of the folder: NNNNNNNNNNNNNNNNNNNN.log with .index and .timeindex, as Kafka names and writes them. The index files of
the active segment are written when it is sealed or the log is closed; until then recovery would rebuild them anyway.
`next` is an empty file kept ready for the coming roll.
"""

import os
import re

cimport cython

from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strdup
from kafpy._core.append cimport *
from kafpy._core.atomic cimport atomic_get64
from kafpy._core.batch cimport (
    BatchInfo, BatchPolicy, batch_check, batch_header, batch_stamp_append_time, batch_stamp_create_time
)
from kafpy._core.index cimport index_free
from kafpy._core.locate cimport Mark, log_find_time, log_locate, log_marks
from kafpy._core.partition cimport *
from kafpy._core.posix cimport *
from kafpy._core.producers cimport Producer, producers_note, producers_replay
from kafpy._core.runtime cimport Runtime, clock_wall_ms
from kafpy._core.segment cimport *
from kafpy._core.truncate cimport OFFSET_BEYOND, log_delete_records, log_delete_segments, log_truncate
from kafpy._core.upkeep cimport *

SEGMENT_NAME = re.compile(r"(\d{20})\.log")


@cython.no_gc            # its runtime must be there when it is freed
cdef class Log:
    def __cinit__(self, Runtime runtime not None, str directory not None, *, int64_t recovery_point=0, bint clean=False,
                  int64_t log_start_offset=0, int32_t leader_epoch=0, producers=None, int64_t producers_offset=0, **settings):
        self.runtime = runtime
        self.directory = directory
        self.c = <CLog*>calloc(1, sizeof(CLog))
        if self.c == NULL:
            raise MemoryError
        log_init(self.c)
        self.c.runtime = runtime.c
        self.c.directory = strdup(os.fsencode(directory))
        self.c.leader_epoch = leader_epoch
        self.c.recovery_point = recovery_point
        self.c.log_start_offset = log_start_offset
        self.set_defaults()
        self.configure(**settings)
        self.open_segments(clean)
        self.restore_producers(producers or (), producers_offset)

    def __dealloc__(self):
        if self.c != NULL and self.c.runtime.owner == getpid():
            log_unref(self.c)

    cdef void set_defaults(self):
        self.c.settings = LogSettings(
            segment_bytes=1 << 30, segment_ms=604800000, segment_jitter_ms=0, index_interval_bytes=4096, segment_index_bytes=10485760,
            max_message_bytes=1048588, log_append_time=False, before_max_ms=0x7FFFFFFFFFFFFFFF, after_max_ms=3600000,
            flush_messages=0x7FFFFFFFFFFFFFFF, keys_required=False, open_batches=False, target_codec=-1, producer_expiry_ms=86400000)

    def configure(self, *, segment_bytes=None, segment_ms=None, segment_jitter_ms=None, index_interval_bytes=None, segment_index_bytes=None,
                  max_message_bytes=None, log_append_time=None, before_max_ms=None, after_max_ms=None,
                  flush_messages=None, keys_required=None, open_batches=None, target_codec=None,
                  producer_expiry_ms=None):
        cdef LogSettings s
        with nogil:
            log_lock(&self.c.lock)
            s = self.c.settings
            log_unlock(&self.c.lock)
        # A position is an int32 in the index file, so a segment ends below 2 GiB whatever is asked for.
        s.segment_bytes = s.segment_bytes if segment_bytes is None else min(segment_bytes, 0x7FFFFFFF)
        s.segment_ms = s.segment_ms if segment_ms is None else segment_ms
        s.segment_jitter_ms = s.segment_jitter_ms if segment_jitter_ms is None else segment_jitter_ms
        s.index_interval_bytes = s.index_interval_bytes if index_interval_bytes is None else index_interval_bytes
        s.segment_index_bytes = s.segment_index_bytes if segment_index_bytes is None else segment_index_bytes
        s.max_message_bytes = s.max_message_bytes if max_message_bytes is None else max_message_bytes
        s.log_append_time = s.log_append_time if log_append_time is None else log_append_time
        s.before_max_ms = s.before_max_ms if before_max_ms is None else before_max_ms
        s.after_max_ms = s.after_max_ms if after_max_ms is None else after_max_ms
        s.flush_messages = s.flush_messages if flush_messages is None else flush_messages
        s.keys_required = s.keys_required if keys_required is None else keys_required
        s.open_batches = s.open_batches if open_batches is None else open_batches
        s.target_codec = s.target_codec if target_codec is None else target_codec
        s.producer_expiry_ms = s.producer_expiry_ms if producer_expiry_ms is None else producer_expiry_ms
        with nogil:
            log_lock(&self.c.lock)
            self.c.settings = s
            if s.flush_messages > 1 and self.c.high_watermark < self.c.log_end_offset:      # nobody waits for a sync any more
                self.c.high_watermark = self.c.last_stable_offset = self.c.log_end_offset
                log_announce(self.c)
            log_unlock(&self.c.lock)

    # ---- opening

    def open_segments(self, bint clean):
        os.makedirs(self.directory, exist_ok=True)
        names = sorted(os.listdir(self.directory))
        bases = [int(m[1]) for m in map(SEGMENT_NAME.fullmatch, names) if m]
        for name in names:
            stem, _, suffix = name.partition(".")
            if name == "next" or suffix.endswith(".deleted") or suffix in ("index.tmp", "timeindex.tmp") or (
                    suffix in ("index", "timeindex") and stem.isdigit() and int(stem) not in bases):
                os.unlink(os.path.join(self.directory, name))
        for at, base in enumerate(bases or [0]):
            last = at + 1 >= len(bases)
            if not self.open_segment(base, None if last else bases[at + 1], clean):
                # From the end: whatever a crash leaves is a log without a gap. Durable before anything is appended: one
                # that came back after a power cut would take the place of newer records.
                for later in reversed(bases[at + 1:]):
                    self.remove_segment_files(later)
                if not sync_directory(self.c.directory):
                    raise OSError(errno, "cannot remove segments", self.directory)
                break
        self.finish_open()

    def open_segment(self, int64_t base, next_base, bint clean):
        """Load or recover one segment; False when it had to be cut, so that what follows it cannot stand."""
        cdef Segment* segment = segment_new(base)
        cdef int64_t valid, file_size
        cdef bint contiguous
        cdef int64_t following = INT64_MAX if next_base is None else next_base
        cdef bint trusted = clean or (next_base is not None and next_base <= self.c.recovery_point)
        path = os.path.join(self.directory, f"{base:020}.log")
        if segment == NULL or not add_segment(self.c, segment):
            raise MemoryError
        if trusted and next_base is not None:
            segment.max_timestamp = segment_last_timestamp(self.c.directory, base, &segment.max_timestamp_offset)
            if segment.max_timestamp >= 0 and base <= segment.max_timestamp_offset < next_base:
                segment.size = os.stat(path).st_size
                segment.end_offset = next_base
                segment.sealed = segment.flushed = True
                return True
            segment.max_timestamp = segment.max_timestamp_offset = -1
        segment.file = file_open(self.c.runtime, os.fsencode(path), O_RDWR | O_CREAT)
        if segment.file == NULL:
            raise OSError(errno, "cannot open a segment", path)
        file_size = os.fstat(segment.file.fd).st_size
        # Only a compacted segment has gaps, and that one was flushed and has its index files: one without is as it was written.
        contiguous = not self.c.settings.keys_required and (
            next_base is None or not os.path.exists(os.path.join(self.directory, f"{base:020}.timeindex")))
        with nogil:
            valid = segment_load(segment, self.c.directory, file_size, self.c.settings.index_interval_bytes) if trusted else -1
            if valid < 0:
                valid = segment_repair(segment, file_size, self.c.settings.index_interval_bytes, contiguous, following)
                self.c.dirty = self.c.dirty or file_size > 0
        if valid < 0:
            raise OSError(EIO, "cannot read a segment", path)
        if valid < file_size and ftruncate(segment.file.fd, valid):
            raise OSError(errno, "cannot cut a segment's broken tail", path)
        segment.written_from = valid
        if next_base is None or valid < file_size or (contiguous and segment.end_offset != following):
            return next_base is None
        self.seal_recovered(segment, path)
        return True

    cdef seal_recovered(self, Segment* segment, path):
        segment_seal(segment)
        if fdatasync(segment.file.fd) or segment_write_index(segment, self.c.directory, True):
            raise OSError(errno, "cannot flush a recovered segment", path)
        segment.flushed = True
        index_free(segment.index)          # read again when somebody asks
        segment.index = NULL

    def remove_segment_files(self, base):
        for suffix in (".log", ".index", ".timeindex"):
            path = os.path.join(self.directory, f"{base:020}{suffix}")
            if os.path.exists(path):
                os.unlink(path)

    cdef finish_open(self):
        cdef Segment* active = self.c.segments[self.c.segment_count - 1]
        # A start beyond the end is a damaged checkpoint, or a log that lost its end with the power: then rather show what
        # was deleted than hide what was not.
        if self.c.log_start_offset < self.c.segments[0].base_offset or self.c.log_start_offset > active.end_offset:
            self.c.log_start_offset = self.c.segments[0].base_offset
        self.c.log_end_offset = active.end_offset
        self.c.high_watermark = self.c.last_stable_offset = active.end_offset
        self.c.recovery_point = min(max(self.c.recovery_point, active.base_offset), active.end_offset)
        if self.c.settings.flush_messages <= 1 and self.c.recovery_point < active.end_offset:
            # The high watermark says what is on the disk; a killed broker's last batches may only be in the page cache.
            if fdatasync(active.file.fd):
                raise OSError(errno, "cannot flush a recovered segment", self.directory)
            self.c.recovery_point = active.end_offset

    def restore_producers(self, known, int64_t from_offset):
        """Producers as a snapshot at `from_offset` had them, then what the log says behind it."""
        cdef BatchInfo info
        cdef Segment* segment
        cdef SegmentFile* file
        cdef int32_t i
        cdef bint good
        if from_offset > self.c.log_end_offset:        # of another log, or of an end that was lost
            known, from_offset = (), 0
        for info.producer_id, info.producer_epoch, info.base_sequence, info.last_offset_delta, info.base_offset, info.max_timestamp in known:
            replay_known(self.c, &info)
        for i in range(self.c.segment_count):
            segment = self.c.segments[i]
            if segment.end_offset <= from_offset:
                continue
            path = os.path.join(self.directory, f"{segment.base_offset:020}.log")
            file = file_ref(segment.file) if segment.file != NULL else file_open(self.c.runtime, os.fsencode(path), O_RDONLY)
            if file == NULL:
                raise OSError(errno, "cannot open a segment", path)
            with nogil:
                good = producers_replay(&self.c.producers, file.fd, segment.size, from_offset, self.c.settings.producer_expiry_ms)
                file_unref(file)
            if not good:
                raise OSError(EIO, "cannot read a segment", path)

    def producers(self):
        return self.producer_snapshot()[1]

    def producer_snapshot(self):
        cdef list found = []
        cdef int64_t offset
        cdef Producer* copy
        cdef Producer* p
        cdef int32_t i, room
        with nogil:                # no Python object is made under the lock: the GIL could change hands
            log_lock(&self.c.lock)
            room = self.c.producers.room
            offset = self.c.log_end_offset
            copy = <Producer*>malloc((room + 1) * sizeof(Producer))
            if copy != NULL and room:
                memcpy(copy, self.c.producers.slots, room * sizeof(Producer))
            log_unlock(&self.c.lock)
        if copy == NULL:
            raise MemoryError
        try:
            for i in range(room):
                p = &copy[i]
                if p.id >= 0:
                    found.append((p.id, p.epoch, p.window[p.newest].first_sequence,
                                  (p.window[p.newest].last_sequence - p.window[p.newest].first_sequence) & 0x7FFFFFFF,
                                  p.window[p.newest].base_offset, p.last_timestamp))
        finally:
            free(copy)
        return offset, found

    # ---- what it holds

    @property
    def log_start_offset(self):
        return self.read_field(&self.c.log_start_offset)

    @property
    def log_end_offset(self):
        return self.read_field(&self.c.log_end_offset)

    @property
    def high_watermark(self):
        return self.read_field(&self.c.high_watermark)

    @property
    def last_stable_offset(self):
        return self.read_field(&self.c.last_stable_offset)

    @property
    def recovery_point(self):
        return self.read_field(&self.c.recovery_point)

    @property
    def leader_epoch(self):
        return self.c.leader_epoch          # set at the opening only

    @property
    def offline(self):
        cdef bint value
        with nogil:
            log_lock(&self.c.lock)
            value = self.c.offline
            log_unlock(&self.c.lock)
        return bool(value)

    @property
    def failure(self):
        cdef int value
        with nogil:
            log_lock(&self.c.lock)
            value = self.c.failure
            log_unlock(&self.c.lock)
        return value

    def counters(self):
        cdef int64_t appends, records, size
        with nogil:
            log_lock(&self.c.lock)
            appends, records, size = self.c.appends, self.c.records_in, self.c.bytes_in
            log_unlock(&self.c.lock)
        return appends, records, size, atomic_get64(&self.c.reads), atomic_get64(&self.c.bytes_out)

    @property
    def damaged_at(self):
        return self.read_field(&self.c.damaged_at)

    @property
    def segment_count(self):
        cdef int32_t value
        with nogil:
            log_lock(&self.c.lock)
            value = self.c.segment_count
            log_unlock(&self.c.lock)
        return value

    @property
    def size(self):
        cdef int64_t total = 0
        cdef int32_t i
        with nogil:
            log_lock(&self.c.lock)
            for i in range(self.c.segment_count):
                total += self.c.segments[i].size
            log_unlock(&self.c.lock)
        return total

    cdef int64_t read_field(self, int64_t* field):
        cdef int64_t value
        with nogil:
            log_lock(&self.c.lock)
            value = field[0]
            log_unlock(&self.c.lock)
        return value

    def append(self, bytes records not None):
        """Append one batch with every check that a client's would get. (error, base offset, append time)"""
        cdef bytearray copy = bytearray(records)
        cdef uint8_t* data = copy
        cdef int64_t size = len(copy), now_ms = clock_wall_ms(&self.c.runtime.clock)
        cdef BatchPolicy policy
        cdef Append item
        with nogil:
            log_policy(self.c, &policy, 0)
            policy.now_ms = now_ms
            item.next = NULL
            item.data = data
            item.append_time = item.base_offset = -1
            item.error = batch_check(data, size, &policy, &item.info)
            if item.error == 0:
                if policy.log_append_time:
                    batch_stamp_append_time(data, &item.info, now_ms)
                    item.append_time = now_ms
                else:
                    batch_stamp_create_time(data, &item.info)
                log_append(self.c, &item, now_ms, NULL, NULL)
        return item.error, item.base_offset, item.append_time

    def read(self, int64_t offset, int64_t max_bytes):
        """Whole batches from the one that holds `offset`: at least one, else at most `max_bytes`."""
        cdef Slice found
        cdef Position position
        cdef Located result
        with nogil:
            result = log_locate(self.c, offset, max_bytes, False, True, True, &found, &position)
        if result == OUT_OF_RANGE:
            raise IndexError(f"offset {offset} is not between {position.log_start_offset} and the end of the log")
        if result == LOG_DAMAGED:
            raise OSError(EBADMSG, f"the batch that holds offset {offset} is damaged", self.directory)
        if result != LOCATED:
            raise OSError(EIO, "the log is closed or its disk failed", self.directory)
        return b"" if found.file == NULL else read_slice(&found)

    def batch_for_time(self, int64_t timestamp):
        """The first batch that reaches `timestamp`, whole; None when there is none."""
        cdef Slice found
        cdef int result
        with nogil:
            result = log_find_time(self.c, timestamp, &found)
        if result < 0:
            raise OSError(EIO, "cannot read the log", self.directory)
        return None if result == 0 else read_slice(&found)

    def max_timestamp(self):
        """The largest timestamp of the log; -1 when it is empty."""
        cdef int64_t largest = -1
        cdef int32_t i
        with nogil:
            log_lock(&self.c.lock)
            for i in range(self.c.segment_count):
                largest = max(largest, self.c.segments[i].max_timestamp)
            log_unlock(&self.c.lock)
        return largest

    def segments(self):
        """Base offset, bytes and largest timestamp (-1: none) of each, the active one last."""
        cdef list found = []
        cdef Segment* copy
        cdef int32_t i, count
        with nogil:                # no Python object is made under the lock: the GIL could change hands
            log_lock(&self.c.lock)
            count = self.c.segment_count
            copy = <Segment*>malloc(count * sizeof(Segment))
            for i in range(count if copy != NULL else 0):
                copy[i] = self.c.segments[i][0]
            log_unlock(&self.c.lock)
        if copy == NULL:
            raise MemoryError
        for i in range(count):
            found.append((copy[i].base_offset, copy[i].size, copy[i].max_timestamp))
        free(copy)
        return found

    def marks(self, int64_t every, int32_t most):
        cdef Mark* marks = <Mark*>malloc(most * sizeof(Mark))
        cdef int32_t i, count
        if marks == NULL:
            raise MemoryError
        with nogil:
            count = log_marks(self.c, every, marks, most)
        found = [(marks[i].offset, marks[i].position) for i in range(count)]
        free(marks)
        if count < 0:
            raise OSError(EIO, "cannot read the log's indexes", self.directory)
        return found

    # ---- changes

    def truncate(self, int64_t offset):
        """Drop the batch that holds `offset` and everything behind it."""
        cdef bint good
        with nogil:
            good = log_truncate(self.c, offset)
        if not good:
            raise OSError(EIO, "cannot truncate the log", self.directory)

    def delete_records(self, int64_t offset):
        """Move the log's start up to `offset`, -1: the high watermark; the new start. IndexError beyond the watermark."""
        cdef int64_t start
        with nogil:
            start = log_delete_records(self.c, offset)
        if start == OFFSET_BEYOND:
            raise IndexError(f"offset {offset} is beyond the high watermark")
        if start < 0:
            raise OSError(EIO, "cannot delete records of the log", self.directory)
        return start

    def delete_segments(self, int64_t start):
        """Drop whole segments up to `start`; the log's new start, and the base offsets of those that are set aside."""
        cdef int64_t* gone = NULL
        cdef int64_t result
        cdef int32_t i, count = 0
        with nogil:
            result = log_delete_segments(self.c, start, &gone, &count)
        bases = [gone[i] for i in range(count)]
        free(gone)
        if result == OFFSET_BEYOND:
            raise IndexError(f"offset {start} is beyond the high watermark")
        if result < 0:
            raise OSError(EIO, "cannot delete segments of the log", self.directory)
        return result, bases

    def lead(self, bint leader):
        """Whether appends are taken; otherwise they get NOT_LEADER_OR_FOLLOWER. On return none is under way."""
        with nogil:
            log_lock(&self.c.lock)
            self.c.leader = leader
            log_unlock(&self.c.lock)

    def release_space(self):
        """Give back the space allocated ahead if nothing was appended since the last call."""
        cdef Segment* active
        with nogil:
            log_quiesce(self.c)
            active = self.c.segments[self.c.segment_count - 1]
            if active.allocated > active.size and self.c.release_offset == self.c.log_end_offset \
                    and not self.c.closed and not self.c.offline:
                if ftruncate(active.file.fd, active.size) == 0:
                    active.allocated = active.size
                else:
                    go_offline(self.c)
            self.c.release_offset = self.c.log_end_offset
            log_release(self.c)

    def fail(self, int error=EIO):
        """Go offline because another log of the directory did."""
        with nogil:
            log_lock(&self.c.lock)
            log_fail(self.c, error)
            log_unlock(&self.c.lock)

    def flush(self):
        """OSError when it cannot be done, or never again: the log is closed or offline."""
        cdef bint good
        with nogil:
            pthread_mutex_lock(&self.c.disk)
            good = log_is_open(self.c) and flush_once(self.c)
            pthread_mutex_unlock(&self.c.disk)
        if not good:
            raise OSError(EIO, "cannot flush the log", self.directory)

    def close(self, bint flush=True):
        """Stop serving; write the active segment's index. Readers and writers that are under way get an error."""
        cdef Segment* active
        cdef bint good = True
        if self.c.runtime.owner != getpid():
            return
        with nogil:
            log_quiesce(self.c)
            flush = flush and not self.c.closed and not self.c.offline
            self.c.closed = True
            if flush:
                seal_active(self.c)
            log_announce(self.c)
            file_unref(self.c.next_file)
            self.c.next_file = NULL
            active = self.c.segments[self.c.segment_count - 1]
            log_unlock(&self.c.lock)
            if flush and self.c.dirty:
                good = (ftruncate(active.file.fd, active.size) == 0
                        and segment_write_index(active, self.c.directory, True) == 0 and flush_once(self.c))
            let_go_of_files(self.c)
            pthread_mutex_unlock(&self.c.disk)
        prepared = os.path.join(self.directory, "next")
        if os.path.exists(prepared):
            os.unlink(prepared)
        if not good:
            raise OSError(EIO, "cannot flush the log", self.directory)


cdef void let_go_of_files(CLog* log) noexcept nogil:
    """Of a closed log, whose object may be kept alive for long by a cycle; who still reads has references of its own."""
    cdef int32_t i
    log_lock(&log.lock)
    for i in range(log.segment_count):
        file_unref(log.segments[i].file)
        log.segments[i].file = NULL
    log_unlock(&log.lock)


cdef void replay_known(CLog* log, BatchInfo* info) noexcept nogil:
    info.attributes = 0
    producers_note(&log.producers, info, info.base_offset, info.max_timestamp, log.settings.producer_expiry_ms)


cdef bytes read_slice(Slice* found):
    cdef bytearray data = bytearray(found.size)
    cdef uint8_t* out = data
    cdef long n
    with nogil:
        n = pread(found.file.fd, out, found.size, found.position)
        file_unref(found.file)
    if n != found.size:
        raise OSError(EIO, "a segment is shorter than it was")
    return bytes(data)
