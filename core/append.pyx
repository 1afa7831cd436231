"""The append that moves a log's segments, limits, producers and waiters. What follows it on helpers stands in upkeep.pyx.

An append runs under the log's mutex: producer sequences, offsets stamped in place, one pwritev, index, limits, waiters.
A write that fails or falls short publishes nothing and takes the log offline for good, so that no later append can build on
it; what the file holds beyond the last published batch is cut by recovery. Whatever may block longer than a buffered
write (next file, space, sync) is a helper's job.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from kafpy._core.atomic cimport atomic_add32, atomic_add64, atomic_get32, atomic_swap32
from kafpy._core.batch cimport BatchInfo, BatchPolicy, batch_stamp
from kafpy._core.index cimport index_memory, index_new
from kafpy._core.partition cimport *
from kafpy._core.posix cimport *
from kafpy._core.producers cimport DUPLICATE, producers_check, producers_free, producers_note
from kafpy._core.runtime cimport Letter, Mailbox, mailbox_post, runtime_alarm, runtime_submit
from kafpy._core.segment cimport (
    Segment, file_open, file_unref, segment_free, segment_new, segment_note, segment_path, segment_seal
)

cdef int16_t UNKNOWN_TOPIC_OR_PARTITION = 3
cdef int16_t NOT_LEADER_OR_FOLLOWER = 6
cdef int16_t KAFKA_STORAGE_ERROR = 56
cdef enum: WRITE_VECTORS = 256
cdef enum: MEBIBYTE = 1 << 20


cdef CLog* log_ref(CLog* log) noexcept nogil:
    atomic_add32(&log.refs, 1)
    return log


cdef void log_unref(CLog* log) noexcept nogil:
    cdef int32_t i
    if log == NULL or atomic_add32(&log.refs, -1) != 0:
        return
    for i in range(log.segment_count):
        drop_segment(log, log.segments[i])
    free(log.segments)
    file_unref(log.next_file)
    producers_free(&log.producers)
    free(log.recent)
    free(log.directory)
    pthread_mutex_destroy(&log.lock)
    pthread_mutex_destroy(&log.disk)
    free(log)


cdef void drop_segment(CLog* log, Segment* segment) noexcept nogil:
    if segment.sealed and segment.index != NULL:
        atomic_add64(&log.runtime.index_bytes, -index_memory(segment.index))
    segment_free(segment)


cdef bint log_policy(CLog* log, BatchPolicy* policy, int16_t attributes) noexcept nogil:
    """What a batch for this log is checked against. False: with these attributes it must be opened, which no plane does."""
    cdef int32_t codec = attributes & 7
    cdef bint native
    log_lock(&log.lock)
    policy.max_message_bytes = log.settings.max_message_bytes
    policy.before_max_ms = log.settings.before_max_ms
    policy.after_max_ms = log.settings.after_max_ms
    policy.log_append_time = log.settings.log_append_time
    policy.keys_required = log.settings.keys_required
    native = (codec == 0 or not log.settings.open_batches) and (log.settings.target_codec < 0 or log.settings.target_codec == codec)
    log_unlock(&log.lock)
    return native


# ---- waiters

cdef bint log_wait(CLog* log, Waiter* waiter, Mailbox* mailbox, WaiterKind kind, int64_t offset) noexcept nogil:
    """Register, unless the high watermark has already moved from `offset` (data) or reached it (offset): then False."""
    cdef bint late
    log_lock(&log.lock)
    if kind == WAITS_FOR_DATA:
        late = log.high_watermark != offset
    else:
        late = log.high_watermark >= offset
    late = late or log.closed or log.offline
    if not late:
        waiter.log = log_ref(log)
        waiter.mailbox = mailbox
        waiter.kind = kind
        waiter.offset = offset
        waiter.previous = NULL
        waiter.next = log.waiters
        if log.waiters != NULL:
            log.waiters.previous = waiter
        log.waiters = waiter
    log_unlock(&log.lock)
    return not late


cdef void log_forget(Waiter* waiter) noexcept nogil:
    """Take it out of its log. A letter may still be under way: whoever frees the waiter looks at `queued` first."""
    cdef CLog* log = waiter.log
    if log == NULL:
        return
    log_lock(&log.lock)
    if waiter.previous != NULL:
        waiter.previous.next = waiter.next
    else:
        log.waiters = waiter.next
    if waiter.next != NULL:
        waiter.next.previous = waiter.previous
    waiter.log = NULL
    log_unlock(&log.lock)
    log_unref(log)


cdef void waiter_drop(Waiter* waiter) noexcept nogil:
    """Unregister; freed now, or by its letter when one is under way."""
    log_forget(waiter)
    waiter.owner = NULL
    if not atomic_get32(&waiter.queued):
        free(waiter)


cdef int16_t log_outcome(CLog* log, int64_t offset) noexcept nogil:
    """What became of an append that ends at `offset`: 0 committed, -1 not yet, else the error."""
    cdef int16_t outcome = -1
    log_lock(&log.lock)
    if log.high_watermark >= offset:
        outcome = 0
    elif log.offline:
        outcome = KAFKA_STORAGE_ERROR
    elif log.closed:
        outcome = UNKNOWN_TOPIC_OR_PARTITION
    log_unlock(&log.lock)
    return outcome


cdef void notify(CLog* log, Mailbox* own, Letter** news) noexcept nogil:
    """Tell the waiters. Those of the calling plane come back in `news`: it needs no wake-up."""
    cdef Waiter* waiter = log.waiters
    while waiter != NULL:
        if (waiter.kind == WAITS_FOR_DATA or log.high_watermark >= waiter.offset or log.offline or log.closed) \
                and not atomic_swap32(&waiter.queued, 1):
            if waiter.mailbox == own:
                waiter.letter.next = news[0]
                news[0] = &waiter.letter
            else:
                mailbox_post(waiter.mailbox, &waiter.letter)
        waiter = waiter.next


# ---- append

cdef void log_fail(CLog* log, int error) noexcept nogil:
    """Under the lock. The other logs of its directory follow when Python has heard of it."""
    if not log.offline:
        log.offline = True
        log.failure = error if error else EIO
        notify(log, NULL, NULL)
        runtime_alarm(log.runtime)


cdef void go_offline(CLog* log) noexcept nogil:
    log_fail(log, errno)


cdef void disk_failed(CLog* log) noexcept nogil:
    """go_offline(), unless descriptors are all that was missing: nothing was written then, and it may be tried again."""
    if errno != EMFILE and errno != ENFILE:
        go_offline(log)


cdef bint index_full(Segment* active, int64_t room) noexcept nogil:
    """OffsetIndex.isFull and TimeIndex.isFull, which keeps its last place for the roll."""
    return active.index.offset_count >= room // 8 or active.index.time_count >= room // 12 - 1


cdef int64_t roll_ms(CLog* log, const Segment* active) noexcept nogil:
    """segment.ms less a random part of segment.jitter.ms (LogConfig.randomSegmentJitter)."""
    if log.settings.segment_jitter_ms == 0:
        return log.settings.segment_ms
    return log.settings.segment_ms - <int64_t>active.luck % min(log.settings.segment_jitter_ms, log.settings.segment_ms)


cdef bint must_roll(CLog* log, Segment* active, int64_t position, const BatchInfo* info, int64_t next_offset) noexcept nogil:
    """LogSegment.shouldRoll: too large, too old by the batches' own time, index full, or offsets out of an int32's reach."""
    if position == 0:
        return False
    return (position + info.size > log.settings.segment_bytes
            or (active.first_timestamp >= 0 and info.max_timestamp - active.first_timestamp > roll_ms(log, active))
            or index_full(active, log.settings.segment_index_bytes)
            or next_offset + info.last_offset_delta - active.base_offset > 0x7FFFFFFF)


cdef bint add_segment(CLog* log, Segment* segment) noexcept nogil:
    cdef Segment** grown
    cdef int32_t room
    if log.segment_count == log.segment_room:
        room = log.segment_room * 2 if log.segment_room else 4
        grown = <Segment**>realloc(log.segments, room * sizeof(Segment*))
        if grown == NULL:
            return False
        log.segments = grown
        log.segment_room = room
    log.segments[log.segment_count] = segment
    log.segment_count += 1
    return True


cdef void seal(CLog* log, Segment* segment) noexcept nogil:
    segment_seal(segment)
    atomic_add64(&log.runtime.index_bytes, index_memory(segment.index))


cdef void seal_active(CLog* log) noexcept nogil:
    """Under the lock, of a log that is closed: nothing follows."""
    seal(log, log.segments[log.segment_count - 1])


cdef bint roll(CLog* log) noexcept nogil:
    """Start a new active segment; False when its file cannot be had."""
    cdef Segment* old = log.segments[log.segment_count - 1]
    cdef Segment* fresh = segment_new(log.log_end_offset)
    cdef char[4200] path
    cdef char[4200] prepared
    if fresh == NULL:
        return False
    segment_path(path, 4200, log.directory, fresh.base_offset, b".log")
    fresh.index = index_new()
    if log.next_file != NULL:
        snprintf(prepared, 4200, b"%s/next", log.directory)
        fresh.file = log.next_file
        log.next_file = NULL
        if rename(prepared, path):
            segment_free(fresh)
            return False
    else:
        fresh.file = file_open(log.runtime, path, O_RDWR | O_CREAT | O_TRUNC)
    if fresh.file == NULL or fresh.index == NULL or not add_segment(log, fresh):
        segment_free(fresh)
        return False
    seal(log, old)
    log.recent_count = 0
    start_job(log, &log.sealing)
    return True


cdef void remember(CLog* log, int64_t base_offset, int64_t position, const BatchInfo* info) noexcept nogil:
    if log.recent == NULL:
        log.recent = <Recent*>malloc(RECENT * sizeof(Recent))
        if log.recent == NULL:
            return
    log.recent_newest = (log.recent_newest + 1) % RECENT
    log.recent[log.recent_newest] = Recent(base_offset, base_offset + info.last_offset_delta, position, info.size)
    if log.recent_count < RECENT:
        log.recent_count += 1


cdef bint admit(CLog* log, Append* item, int64_t now_ms, int64_t next_offset) noexcept nogil:
    """Whether the batch goes into the write: producer sequences decide. A repeat is answered with its first offset."""
    cdef int64_t first_offset = -1
    item.position = -1
    if item.error:
        return False
    if item.info.producer_id >= 0:
        item.error = producers_check(&log.producers, &item.info, &first_offset)
        if item.error == DUPLICATE:
            item.error = 0
            item.base_offset = first_offset
            item.end_offset = first_offset + item.info.last_offset_delta + 1
            return False
        # Noted before the write, so that the next batch of this turn is checked against it. Should the write fail, the
        # log goes offline and nobody asks again.
        if item.error == 0 and not producers_note(&log.producers, &item.info, next_offset, now_ms, log.settings.producer_expiry_ms):
            item.error = KAFKA_STORAGE_ERROR
        if item.error:
            return False
    return True


cdef int write_all(Segment* active, const iovec* vectors, int count, int64_t total) noexcept nogil:
    """0, or why not all was written."""
    cdef long n = pwritev(active.file.fd, vectors, count, active.size) if count else 0
    if n < 0:
        return errno
    return 0 if n == total else ENOSPC


cdef Append* append_run(CLog* log, Append* item, int64_t now_ms, bint* rolled) noexcept nogil:
    """Write as many items as go into the active segment with one call, publish them, and return the first one left."""
    cdef Segment* active = log.segments[log.segment_count - 1]
    cdef iovec[WRITE_VECTORS] vectors
    cdef int count = 0, failure
    cdef int64_t position = active.size, next_offset = log.log_end_offset
    cdef Append* first = item
    rolled[0] = False
    while item != NULL and count < WRITE_VECTORS:
        if item.error == 0 and must_roll(log, active, position, &item.info, next_offset):
            rolled[0] = True
            break
        if admit(log, item, now_ms, next_offset):
            batch_stamp(item.data, next_offset, log.leader_epoch)
            item.base_offset = next_offset
            item.position = position
            vectors[count].iov_base = item.data
            vectors[count].iov_len = item.info.size
            count += 1
            position += item.info.size
            next_offset += <int64_t>item.info.last_offset_delta + 1
        item = item.next
    failure = write_all(active, vectors, count, position - active.size)
    if failure:
        log_fail(log, failure)
        return first
    while first != item:
        if first.position >= 0:
            segment_note(active, &first.info, first.base_offset, first.position, log.settings.index_interval_bytes)
            remember(log, first.base_offset, first.position, &first.info)
            first.end_offset = first.base_offset + first.info.last_offset_delta + 1
            first.committed = log.settings.flush_messages > 1
            log.appends += 1
            log.bytes_in += first.info.size
        elif first.error == 0:
            first.committed = first.end_offset <= log.high_watermark
        first.log_start_offset = log.log_start_offset
        first = first.next
    log.records_in += next_offset - log.log_end_offset
    log.log_end_offset = next_offset
    return item


cdef void log_append(CLog* log, Append* first, int64_t now_ms, Mailbox* own, Letter** news) noexcept nogil:
    """Append a turn's batches in order. Each item gets its result; data must stay until this returns."""
    cdef Append* item = first
    cdef int64_t before
    cdef bint rolled
    cdef int16_t refusal = 0
    log_lock(&log.lock)
    before = log.log_end_offset
    while item != NULL and not refusal:
        if not log.leader:                   # a closed one has a successor then, in another directory
            refusal = NOT_LEADER_OR_FOLLOWER
        elif log.closed:
            refusal = UNKNOWN_TOPIC_OR_PARTITION
        elif log.offline:
            refusal = KAFKA_STORAGE_ERROR
        else:
            item = append_run(log, item, now_ms, &rolled)
            if rolled and not log.offline and not roll(log):
                disk_failed(log)
                refusal = KAFKA_STORAGE_ERROR
    while item != NULL:
        item.error = item.error or refusal
        item.position = item.base_offset = -1
        item = item.next
    if log.log_end_offset != before:
        appended(log, own, news)
    log_unlock(&log.lock)


cdef void appended(CLog* log, Mailbox* own, Letter** news) noexcept nogil:
    cdef Segment* active = log.segments[log.segment_count - 1]
    log.dirty = True
    if log.settings.flush_messages > 1:
        log.high_watermark = log.last_stable_offset = log.log_end_offset
        notify(log, own, news)
    if log.log_end_offset - log.recovery_point >= log.settings.flush_messages:
        start_job(log, &log.flushing)
    if wants_preparation(log, active):
        start_job(log, &log.preparing)


cdef bint wants_preparation(CLog* log, Segment* active) noexcept nogil:
    if log.next_file == NULL and roll_is_near(log, active):
        return True
    return active.size >= MEBIBYTE and ((active.allocated - active.size < MEBIBYTE // 2 and active.allocated < log.settings.segment_bytes)
                                        or active.size - active.paced >= 2 * PACE_BYTES)


cdef bint roll_is_near(CLog* log, const Segment* active) noexcept nogil:
    """Half full, or almost as old as it may get. Segments below a mebibyte that fill up are too many to prepare for."""
    return ((active.size >= MEBIBYTE and active.size > log.settings.segment_bytes // 2)
            or (active.first_timestamp >= 0
                and active.max_timestamp - active.first_timestamp > roll_ms(log, active) - log.settings.segment_ms // 64))


cdef void start_job(CLog* log, LogJob* job) noexcept nogil:
    """Under the log's lock."""
    if not job.pending:
        job.log = log_ref(log)
        job.pending = runtime_submit(log.runtime, &job.job)
        if not job.pending:
            log_unref(log)           # not the last one: the caller has the log


cdef void log_announce(CLog* log) noexcept nogil:
    """Under the lock: tell every waiter to look again."""
    notify(log, NULL, NULL)
