"""Cutting a log's end off, or its beginning.

Only what a reader sees changes under the log's lock; files are read, cut and removed without it. While the end is cut, appends are
refused as by a broker that does not lead the partition: a leader's log is never cut. The beginning concerns no append.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove, memset
from kafpy._core.append cimport disk_failed, drop_segment, go_offline, log_announce, roll
from kafpy._core.locate cimport open_segment, segment_holding
from kafpy._core.partition cimport *
from kafpy._core.posix cimport *
from kafpy._core.producers cimport ProducerTable, producers_free, producers_replay
from kafpy._core.segment cimport (
    Segment, SegmentFile, file_open, file_ref, file_unref, segment_free, segment_new, segment_path, segment_recover
)
from kafpy._core.upkeep cimport sync_directory


cdef bint log_truncate(CLog* log, int64_t offset) noexcept nogil:
    """Drop the batch that holds `offset` and all behind it. False: the log is closed, or offline now."""
    cdef bint leader, good = True
    pthread_mutex_lock(&log.disk)
    log_lock(&log.lock)
    leader = log.leader
    offset = max(offset, log.log_start_offset)
    if log.closed or log.offline or offset >= log.log_end_offset:
        good = not log.closed and not log.offline
        log_unlock(&log.lock)
    else:
        log.leader = False
        log_unlock(&log.lock)
        good = cut_at(log, offset)
        log_lock(&log.lock)
        log.leader = leader
        if not good:
            go_offline(log)
        log_unlock(&log.lock)
    pthread_mutex_unlock(&log.disk)
    return good


cdef bint cut_at(CLog* log, int64_t offset) noexcept nogil:
    """With `disk` held and appends refused, the list of segments is this thread's alone to change."""
    cdef Segment* segment
    cdef Segment* fresh
    cdef ProducerTable producers
    cdef LogSettings settings
    cdef int64_t* later
    cdef int32_t at = 0, count = log.segment_count
    cdef bint good
    if not open_segment(log, offset):
        return False
    log_lock(&log.lock)
    settings = log.settings
    segment = segment_holding(log, offset)
    fresh = segment_new(segment.base_offset)
    if fresh != NULL:
        fresh.file = file_ref(segment.file)
    log_unlock(&log.lock)
    while log.segments[at] != segment:
        at += 1
    memset(&producers, 0, sizeof(producers))
    later = <int64_t*>malloc(count * sizeof(int64_t))
    good = (fresh != NULL and later != NULL and segment_recover(fresh, segment.size, settings.index_interval_bytes, offset) >= 0
            and replay(log, at, fresh.size, settings.producer_expiry_ms, &producers))
    if not good:
        segment_free(fresh)
        producers_free(&producers)
        free(later)
        return False
    fresh.written_from = fresh.allocated = fresh.size
    publish(log, at, fresh, &producers, later)
    good = cut_files(log, fresh, later, count - at - 1)
    free(later)
    return good


cdef bint replay(CLog* log, int32_t last, int64_t size, int64_t expiry_ms, ProducerTable* producers) noexcept nogil:
    """What segments up to `last`, of which `size` bytes stay, say of producers."""
    cdef Segment* segment
    cdef SegmentFile* file
    cdef char[4200] path
    cdef int32_t i
    cdef bint good = True
    for i in range(last + 1):
        segment = log.segments[i]
        segment_path(path, 4200, log.directory, segment.base_offset, b".log")
        log_lock(&log.lock)
        file = NULL if segment.file == NULL else file_ref(segment.file)
        log_unlock(&log.lock)
        if file == NULL:
            file = file_open(log.runtime, path, O_RDONLY)
        good = good and file != NULL and producers_replay(
            producers, file.fd, size if i == last else segment.size, 0, expiry_ms)
        file_unref(file)
    return good


cdef void publish(CLog* log, int32_t at, Segment* fresh, ProducerTable* producers, int64_t* later) noexcept nogil:
    cdef int32_t i
    log_lock(&log.lock)
    for i in range(at, log.segment_count):
        if i > at:
            later[i - at - 1] = log.segments[i].base_offset
        drop_segment(log, log.segments[i])
    log.segments[at] = fresh
    log.segment_count = at + 1
    log.recent_count = 0
    log.dirty = True
    log.log_end_offset = fresh.end_offset
    log.log_start_offset = min(log.log_start_offset, fresh.end_offset)      # it may lie inside a batch that is cut off
    log.high_watermark = min(log.high_watermark, fresh.end_offset)
    log.last_stable_offset = min(log.last_stable_offset, fresh.end_offset)
    log.recovery_point = min(log.recovery_point, fresh.end_offset)
    producers_free(&log.producers)
    log.producers = producers[0]
    log_announce(log)
    log_unlock(&log.lock)


cdef bint cut_files(CLog* log, Segment* active, const int64_t* later, int32_t count) noexcept nogil:
    """Later files go first, the last one before the others: whatever a crash leaves is a log without a gap."""
    cdef char[4200] path
    cdef int32_t i
    for i in range(count - 1, -1, -1):
        segment_path(path, 4200, log.directory, later[i], b".log")
        if unlink(path) and errno != ENOENT:
            return False
        segment_path(path, 4200, log.directory, later[i], b".index")
        unlink(path)
        segment_path(path, 4200, log.directory, later[i], b".timeindex")
        unlink(path)
    return ftruncate(active.file.fd, active.size) == 0 and sync_directory(log.directory)


cdef int64_t log_delete_records(CLog* log, int64_t offset) noexcept nogil:
    """Move the log's start up to `offset`, -1 for the high watermark, and remove the segments that lie below it.

    The log's start; OFFSET_BEYOND: nothing was done; LOG_FAILED: the log is closed, or offline now.
    """
    cdef int64_t start = LOG_FAILED
    cdef int64_t* gone
    cdef int32_t count = 0
    pthread_mutex_lock(&log.disk)
    log_lock(&log.lock)
    gone = <int64_t*>malloc(log.segment_count * sizeof(int64_t))
    if gone != NULL and not log.closed and not log.offline:
        start = log.high_watermark if offset == -1 else offset
        if 0 <= start <= log.high_watermark:
            log.log_start_offset = start = max(start, log.log_start_offset)
            count = drop_below(log, start, gone)
        else:
            start = OFFSET_BEYOND
    log_unlock(&log.lock)
    if not remove_files(log, gone, count):
        start = LOG_FAILED
        log_lock(&log.lock)
        go_offline(log)
        log_unlock(&log.lock)
    free(gone)
    pthread_mutex_unlock(&log.disk)
    return start


cdef int64_t log_delete_segments(CLog* log, int64_t start, int64_t** gone, int32_t* count) noexcept nogil:
    """Drop whole segments up to `start`, the active one too where that is the end of the log: then a new one begins there first.

    Their files are set aside under names with `.deleted` (LocalLog.deleteSegmentFiles), their base offsets in `gone`, which is
    the caller's to free. The log's start, or as log_delete_records.
    """
    cdef int64_t result = LOG_FAILED
    cdef bint rolled = False, good = True
    count[0] = 0
    pthread_mutex_lock(&log.disk)
    log_lock(&log.lock)
    gone[0] = <int64_t*>malloc((log.segment_count + 1) * sizeof(int64_t))
    if gone[0] != NULL and not log.closed and not log.offline:
        if start > log.high_watermark:
            result = OFFSET_BEYOND
        else:
            if start == log.log_end_offset and log.segments[log.segment_count - 1].size > 0:
                rolled = roll(log)
                good = rolled
                if not good:
                    disk_failed(log)
            if good:
                count[0] = drop_below(log, start, gone[0])
                log.log_start_offset = max(log.log_start_offset, log.segments[0].base_offset)
                log.dirty = log.dirty or count[0] > 0
                result = log.log_start_offset
    log_unlock(&log.lock)
    # Without the new segment's file a log that lost its only one would begin at 0 again.
    if (rolled and not sync_directory(log.directory)) or not set_files_aside(log, gone[0], count[0]):
        result = LOG_FAILED
        log_lock(&log.lock)
        go_offline(log)
        log_unlock(&log.lock)
    pthread_mutex_unlock(&log.disk)
    return result


cdef int32_t drop_below(CLog* log, int64_t start, int64_t* gone) noexcept nogil:
    """Under both locks; the active segment stays. `gone`: base offsets of what was dropped."""
    cdef int32_t count = 0
    while count + 1 < log.segment_count and log.segments[count + 1].base_offset <= start:
        gone[count] = log.segments[count].base_offset
        drop_segment(log, log.segments[count])
        count += 1
    log.segment_count -= count
    memmove(log.segments, log.segments + count, log.segment_count * sizeof(Segment*))
    log.recovery_point = max(log.recovery_point, log.segments[0].base_offset)
    return count


cdef bint remove_files(CLog* log, const int64_t* gone, int32_t count) noexcept nogil:
    """The oldest first: whatever a crash leaves is a log without a gap."""
    cdef char[4200] path
    cdef int32_t i
    for i in range(count):
        segment_path(path, 4200, log.directory, gone[i], b".log")
        if unlink(path) and errno != ENOENT:
            return False
        segment_path(path, 4200, log.directory, gone[i], b".index")
        unlink(path)
        segment_path(path, 4200, log.directory, gone[i], b".timeindex")
        unlink(path)
    return True


cdef bint set_aside(CLog* log, int64_t base, const char* suffix) noexcept nogil:
    cdef char[4200] path
    cdef char[4220] aside
    segment_path(path, 4200, log.directory, base, suffix)
    snprintf(aside, 4220, b"%s.deleted", path)
    return rename(path, aside) == 0 or errno == ENOENT


cdef bint set_files_aside(CLog* log, const int64_t* gone, int32_t count) noexcept nogil:
    """The oldest first, as in remove_files; a segment that was sealed a moment ago has no index files yet."""
    cdef int32_t i
    for i in range(count):
        if not set_aside(log, gone[i], b".log") or not set_aside(log, gone[i], b".index") \
                or not set_aside(log, gone[i], b".timeindex"):
            return False
    return True
