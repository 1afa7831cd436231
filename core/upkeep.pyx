"""What helpers do for a log behind its appends: the next file and space ahead, index files and syncs after a roll, group commit.

Every job takes the log's `disk` first and looks at the log afresh: it may have been cut or closed since the job was queued.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from kafpy._core.append cimport disk_failed, log_announce, log_unref, roll_is_near
from kafpy._core.partition cimport *
from kafpy._core.posix cimport *
from kafpy._core.runtime cimport Job
from kafpy._core.segment cimport Segment, SegmentFile, file_open, file_ref, file_unref, segment_write_index

cdef enum: MEBIBYTE = 1 << 20


cdef void end_job(LogJob* job) noexcept nogil:
    cdef CLog* log = job.log
    log_lock(&log.lock)
    job.pending = False
    log_unlock(&log.lock)
    log_unref(log)


cdef void prepare(Job* job) noexcept nogil:
    """Space ahead of a busy log in growing steps, write-back under way behind it, the next file when this one's end is near."""
    cdef CLog* log = (<LogJob*>job).log
    pthread_mutex_lock(&log.disk)
    prepare_active(log)
    pthread_mutex_unlock(&log.disk)
    end_job(<LogJob*>job)


cdef void prepare_active(CLog* log) noexcept nogil:
    cdef Segment* active
    cdef SegmentFile* file
    cdef SegmentFile* fresh = NULL
    cdef char[4200] path
    cdef int64_t size, allocated, paced, step
    cdef bint wants_next
    log_lock(&log.lock)
    if log.closed or log.offline:
        log_unlock(&log.lock)
        return
    active = log.segments[log.segment_count - 1]
    size = active.size
    allocated = max(active.allocated, size)
    paced = active.paced
    file = file_ref(active.file)
    wants_next = log.next_file == NULL and roll_is_near(log, active)
    step = min(size, <int64_t>16 * MEBIBYTE) if size >= MEBIBYTE else 0
    step = min(step, max(log.settings.segment_bytes - allocated, 0))
    log_unlock(&log.lock)
    if allocated - size < step:
        # A file system that cannot is not asked again for this file.
        allocated = allocated + step if fallocate(file.fd, FALLOC_FL_KEEP_SIZE, allocated, step) == 0 else INT64_MAX
    if size - paced >= 2 * PACE_BYTES:
        sync_file_range(file.fd, paced, size - PACE_BYTES - paced, SYNC_FILE_RANGE_WRITE)
        paced = size - PACE_BYTES
    if wants_next:
        snprintf(path, 4200, b"%s/next", log.directory)
        fresh = file_open(log.runtime, path, O_RDWR | O_CREAT | O_TRUNC)
    log_lock(&log.lock)
    active = log.segments[log.segment_count - 1]
    if active.file == file:
        active.allocated = allocated
        active.paced = paced
        if fresh != NULL and log.next_file == NULL:
            log.next_file = fresh
            fresh = NULL
    log_unlock(&log.lock)
    file_unref(fresh)
    file_unref(file)


cdef Segment* next_unflushed(CLog* log) noexcept nogil:
    cdef int32_t i
    for i in range(log.segment_count - 1):
        if not log.segments[i].flushed:
            return log.segments[i]
    return NULL


cdef bint sync_directory(const char* directory) noexcept nogil:
    cdef int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    cdef bint good = fd >= 0 and fsync(fd) == 0
    if fd >= 0:
        close(fd)
    return good


cdef bint flush_sealed(CLog* log) noexcept nogil:
    """Bring every sealed segment to the disk with its index files. With `disk` held nobody frees or changes one that is not flushed."""
    cdef Segment* segment
    cdef bint good = True
    while good:
        log_lock(&log.lock)
        segment = next_unflushed(log)
        log_unlock(&log.lock)
        if segment == NULL:
            return True
        good = (ftruncate(segment.file.fd, segment.size) == 0 and fdatasync(segment.file.fd) == 0
                and segment_write_index(segment, log.directory, True) == 0 and sync_directory(log.directory))
        log_lock(&log.lock)
        if good:
            segment.flushed = True
            log.recovery_point = max(log.recovery_point, segment.end_offset)
        else:
            disk_failed(log)
        log_unlock(&log.lock)
    return False


cdef bint log_is_open(CLog* log) noexcept nogil:
    """With `disk` held. A closed log was flushed by its close, or its folder is going to be deleted: no file may appear in it.
    What failed once is never tried again: a second sync can lie."""
    cdef bint is_open
    log_lock(&log.lock)
    is_open = not log.closed and not log.offline
    log_unlock(&log.lock)
    return is_open


cdef void flush_rolled(Job* job) noexcept nogil:
    cdef CLog* log = (<LogJob*>job).log
    pthread_mutex_lock(&log.disk)
    if log_is_open(log):
        flush_sealed(log)
    pthread_mutex_unlock(&log.disk)
    end_job(<LogJob*>job)


cdef bint flush_once(CLog* log) noexcept nogil:
    """One sync for all that was appended before it. With flush.messages=1 the high watermark follows."""
    cdef SegmentFile* file
    cdef int64_t target
    cdef bint good = flush_sealed(log)
    log_lock(&log.lock)
    target = log.log_end_offset
    file = file_ref(log.segments[log.segment_count - 1].file)
    if log.segments[log.segment_count - 1].base_offset > log.recovery_point and log.segment_count > 1:
        target = log.recovery_point       # rolled meanwhile: the sealed one first
    log_unlock(&log.lock)
    good = good and fdatasync(file.fd) == 0
    file_unref(file)
    log_lock(&log.lock)
    if not good:
        if not log.offline:
            disk_failed(log)
    else:
        log.recovery_point = max(log.recovery_point, target)
        if log.settings.flush_messages <= 1 and log.recovery_point > log.high_watermark:
            log.high_watermark = log.last_stable_offset = log.recovery_point
            log_announce(log)
    log_unlock(&log.lock)
    return good


cdef void group_commit(Job* job) noexcept nogil:
    cdef CLog* log = (<LogJob*>job).log
    cdef bint more = True
    while more:
        pthread_mutex_lock(&log.disk)
        more = log_is_open(log) and flush_once(log)
        pthread_mutex_unlock(&log.disk)
        log_lock(&log.lock)
        if more:
            more = log.log_end_offset - log.recovery_point >= log.settings.flush_messages
        if not more:
            (<LogJob*>job).pending = False
        log_unlock(&log.lock)
    log_unref(log)


cdef void log_init(CLog* log) noexcept nogil:
    log.refs = 1
    pthread_mutex_init(&log.disk, NULL)
    pthread_mutex_init(&log.lock, NULL)
    log.leader = True
    log.damaged_at = -1
    log.preparing.job.run = prepare
    log.sealing.job.run = flush_rolled
    log.flushing.job.run = group_commit


cdef void log_quiesce(CLog* log) noexcept nogil:
    """Wait until nobody works on this log's files. On return both locks are held. Jobs that are queued look at the log afresh when they run."""
    pthread_mutex_lock(&log.disk)
    log_lock(&log.lock)


cdef void log_release(CLog* log) noexcept nogil:
    log_unlock(&log.lock)
    pthread_mutex_unlock(&log.disk)
