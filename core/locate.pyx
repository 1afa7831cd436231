"""From an offset or a timestamp to bytes of a file.

A look-up has three steps: under the log's lock, what memory knows (recent batches, sparse index, limits); without it, a
walk over batch headers where memory was not exact; last, whether the bytes are in the page cache. On a plane each step
gives up (WOULD_BLOCK) rather than wait for a disk; on a helper (`may_block`) it waits and leaves the bytes warm.
"""

from libc cimport errno as libc_errno
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t
from kafpy._core.append cimport log_fail
from kafpy._core.atomic cimport atomic_add64, atomic_get64
from kafpy._core.batch cimport BatchInfo, batch_header
from kafpy._core.index cimport (
    BASE_UNKNOWN, SparseIndex, index_floor, index_floor_position, index_floor_time, index_free, index_memory
)
from kafpy._core.partition cimport *
from kafpy._core.posix cimport *
from kafpy._core.runtime cimport runtime_alarm
from kafpy._core.segment cimport (
    Segment, SegmentFile, batches_visit, file_open, file_ref, file_unref, segment_free, segment_load, segment_new,
    segment_path, segment_recover
)

cdef enum: SEALED_INDEX_BYTES = 64 << 20    # of sealed segments' indexes held in memory, over all logs of a runtime
cdef enum: SURELY_CACHED = 64 << 20         # written this recently: not worth asking the kernel

cdef struct Plan:
    SegmentFile* file
    int64_t offset
    int64_t start            # -1: somewhere at or behind scan_from
    int64_t scan_from
    int64_t first_size       # -1: not known
    int64_t end              # of the bytes a reader may see
    int64_t boundary         # a batch starts here, the last one known at or before start + max_bytes; -1: not known
    int64_t upper            # offset limit inside this segment whose position is not known yet; -1: `end` is exact
    bint recent
    bint sealed
    int64_t base             # of the segment
    int failure              # errno of a read that failed on a helper


cdef Segment* segment_holding(CLog* log, int64_t offset) noexcept nogil:
    """The segment in which `offset` is or would be looked for."""
    cdef int32_t low = 0, high = log.segment_count, middle
    while low < high:
        middle = (low + high) >> 1
        if log.segments[middle].base_offset <= offset:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return log.segments[0]
    # A gap at a segment's end (compaction, deleted records) belongs to the next one.
    if offset >= log.segments[low - 1].end_offset and low < log.segment_count:
        return log.segments[low]
    return log.segments[low - 1]


cdef Recent* recent_at(CLog* log, int64_t offset) noexcept nogil:
    """The recent batch that holds `offset`, or the first one behind it; NULL when it is older than all of them."""
    cdef int32_t low = 0, high = log.recent_count, middle, oldest
    cdef Recent* batch
    if log.recent_count == 0:
        return NULL
    oldest = log.recent_newest - log.recent_count + 1 + RECENT
    if log.recent[oldest % RECENT].base_offset > offset:
        return NULL
    while low < high:
        middle = (low + high) >> 1
        batch = &log.recent[(oldest + middle) % RECENT]
        if batch.last_offset < offset:
            low = middle + 1
        else:
            high = middle
    return &log.recent[(oldest + low) % RECENT] if low < log.recent_count else NULL


cdef void plan_start(CLog* log, Segment* segment, Plan* plan) noexcept nogil:
    cdef uint32_t relative = <uint32_t>max(plan.offset - segment.base_offset, 0)
    cdef Recent* batch
    cdef int32_t i
    if not segment.sealed:
        batch = recent_at(log, plan.offset)
        if batch != NULL:
            plan.start = batch.position
            plan.first_size = batch.size
            plan.recent = True
            return
    if plan.offset <= segment.base_offset:
        plan.start = 0
        return
    i = index_floor(segment.index, relative)
    if i >= 0 and segment.index.offsets[i].last_relative == relative:
        plan.start = segment.index.offsets[i].position
    elif i + 1 < segment.index.offset_count and segment.index.offsets[i + 1].base_relative <= relative:
        plan.start = segment.index.offsets[i + 1].position      # BASE_UNKNOWN is above every offset
    elif i >= 0:
        plan.scan_from = segment.index.offsets[i].position


cdef void plan_end(CLog* log, Segment* segment, int64_t upper, Plan* plan) noexcept nogil:
    cdef Recent* batch
    plan.end = segment.size
    if upper >= segment.end_offset:
        return
    batch = NULL if segment.sealed else recent_at(log, upper)
    if batch != NULL:
        plan.end = batch.position
    else:
        plan.upper = upper


cdef void plan_boundary(Segment* segment, int64_t max_bytes, Plan* plan) noexcept nogil:
    cdef int64_t known = plan.start if plan.start >= 0 else plan.scan_from
    cdef int32_t i
    if plan.end - known <= max_bytes:
        return
    i = index_floor_position(segment.index, <uint32_t>min(known + max_bytes, 0x7FFFFFFF))
    if i >= 0 and segment.index.offsets[i].position > known:
        plan.boundary = segment.index.offsets[i].position


cdef long read_at(int fd, uint8_t* buffer, long size, int64_t position, bint may_block) noexcept nogil:
    cdef iovec v
    cdef long n
    if may_block:
        return pread(fd, buffer, size, position)
    v.iov_base = buffer
    v.iov_len = size
    n = preadv2(fd, &v, 1, position, RWF_NOWAIT)
    if n < 0 and (errno == EOPNOTSUPP or errno == ENOSYS):
        return pread(fd, buffer, size, position)
    return n


cdef Located scan(Plan* plan, int64_t target, bint by_base, bint may_block, int64_t* at, int64_t* size) noexcept nogil:
    """Walk headers from at[0] to the first batch whose last offset (or, by_base, first offset) reaches `target`.

    A header that does not follow the one before it, or reaches beyond the end, is LOG_DAMAGED: a client would wait for the
    rest of such a batch for ever, or take it for another's.
    """
    cdef uint8_t[4096] buffer
    cdef BatchInfo info
    cdef int64_t have_from = at[0], not_below = plan.base
    cdef long n = 0
    while at[0] + 61 <= plan.end:
        if at[0] + 61 > have_from + n:
            have_from = at[0]
            n = read_at(plan.file.fd, buffer, min(<int64_t>4096, plan.end - at[0]), at[0], may_block)
            if n < 61:
                plan.failure = errno if n < 0 and may_block else 0
                return WOULD_BLOCK if not may_block else LOG_OFFLINE
        if not batch_header(buffer + (at[0] - have_from), 61, &info) or info.base_offset < not_below \
                or info.last_offset_delta < 0 or at[0] + info.size > plan.end:
            return LOG_DAMAGED
        not_below = info.base_offset + info.last_offset_delta + 1
        if (info.base_offset if by_base else info.base_offset + info.last_offset_delta) >= target:
            size[0] = info.size
            return LOCATED
        at[0] += info.size
    size[0] = 0
    return LOCATED


cdef Located resolve(Plan* plan, int64_t max_bytes, bint min_one, bint may_block, Slice* found) noexcept nogil:
    """Fill `found` from a plan, reading headers only for what the plan could not know."""
    cdef Located result
    cdef int64_t at, size = 0, limit
    if plan.start < 0:
        plan.start = plan.scan_from
        result = scan(plan, plan.offset, False, may_block, &plan.start, &plan.first_size)
        if result != LOCATED:
            return result
    elif plan.sealed:
        at = plan.start
        result = scan(plan, 0, False, may_block, &at, &plan.first_size)
        if result != LOCATED:
            return result
    if plan.upper >= 0:
        at = plan.start
        result = scan(plan, plan.upper, True, may_block, &at, &size)
        if result != LOCATED:
            return result
        plan.end = at
    found.position = plan.start
    found.size = plan.end - plan.start
    if found.size > max_bytes:
        limit = max_bytes
        if plan.boundary > plan.start:
            limit = plan.boundary - plan.start
        else:
            if plan.first_size < 0:
                at = plan.start
                result = scan(plan, 0, False, may_block, &at, &plan.first_size)
                if result != LOCATED:
                    return result
            if plan.first_size > max_bytes:
                limit = plan.first_size if min_one else 0
        found.size = min(limit, found.size)
    if found.size <= 0:
        return LOCATED
    found.file = file_ref(plan.file)
    return LOCATED


cdef int warm(Slice* slice) noexcept nogil:
    """0, or the errno of a read that failed."""
    cdef uint8_t[16384] scratch
    cdef int64_t done = 0
    cdef long n
    while done < slice.size:
        n = pread(slice.file.fd, scratch, min(<int64_t>16384, slice.size - done), slice.position + done)
        if n <= 0:
            return errno if n < 0 else 0
        done += n
    return 0


cdef bint open_segment(CLog* log, int64_t offset) noexcept nogil:
    """On a helper: have the file open and the index in memory of the segment that holds `offset`."""
    cdef Segment* segment
    cdef Segment* loaded
    cdef char[4200] path
    cdef stat_t s
    cdef int32_t interval
    log_lock(&log.lock)
    segment = segment_holding(log, offset)
    if segment.file != NULL and segment.index != NULL:
        log_unlock(&log.lock)
        return True
    loaded = segment_new(segment.base_offset)
    interval = log.settings.index_interval_bytes
    log_unlock(&log.lock)
    if loaded == NULL:
        return False
    segment_path(path, 4200, log.directory, loaded.base_offset, b".log")
    loaded.file = file_open(log.runtime, path, O_RDWR)
    if loaded.file == NULL or fstat(loaded.file.fd, &s) or (
            segment_load(loaded, log.directory, s.st_size, interval) < 0
            and segment_recover(loaded, s.st_size, interval, INT64_MAX) < 0):
        segment_free(loaded)
        return False
    log_lock(&log.lock)
    segment = segment_holding(log, offset)
    if segment.base_offset == loaded.base_offset:
        if segment.file == NULL:
            segment.file, loaded.file = loaded.file, segment.file
        if segment.index == NULL:
            make_room(log, index_memory(loaded.index))
            segment.index, loaded.index = loaded.index, segment.index
            atomic_add64(&log.runtime.index_bytes, index_memory(segment.index))
    log_unlock(&log.lock)
    segment_free(loaded)
    return True


cdef void make_room(CLog* log, int64_t wanted) noexcept nogil:
    """Drop this log's least used sealed indexes while all logs together hold too much."""
    cdef Segment* segment
    cdef Segment* least
    cdef int32_t i
    while atomic_get64(&log.runtime.index_bytes) + wanted > SEALED_INDEX_BYTES:
        least = NULL
        for i in range(log.segment_count - 1):
            segment = log.segments[i]
            if segment.flushed and segment.index != NULL and (least == NULL or segment.used < least.used):
                least = segment
        if least == NULL:
            return
        atomic_add64(&log.runtime.index_bytes, -index_memory(least.index))
        index_free(least.index)
        least.index = NULL


cdef Located make_plan(CLog* log, int64_t offset, int64_t max_bytes, bint committed_only, Plan* plan, Position* position) noexcept nogil:
    """Under the log's lock. LOCATED with plan.file NULL: nothing to send."""
    cdef Segment* segment
    cdef int64_t upper
    position.high_watermark = log.high_watermark
    position.last_stable_offset = log.last_stable_offset
    position.log_start_offset = log.log_start_offset
    position.leader_epoch = log.leader_epoch
    if log.closed:
        return LOG_CLOSED
    if log.offline:
        return LOG_OFFLINE
    if offset < log.log_start_offset or offset > log.log_end_offset:
        return OUT_OF_RANGE
    upper = log.last_stable_offset if committed_only else log.high_watermark
    plan.file = NULL
    if offset >= upper:
        return LOCATED
    segment = segment_holding(log, offset)
    if segment.file == NULL or segment.index == NULL:
        return WOULD_BLOCK
    log.lookups += 1
    segment.used = log.lookups
    plan.offset = offset
    plan.start = plan.first_size = plan.boundary = plan.upper = -1
    plan.scan_from = 0
    plan.recent = False
    plan.sealed = segment.sealed
    plan.base = segment.base_offset
    plan.failure = 0
    plan_start(log, segment, plan)
    plan_end(log, segment, upper, plan)
    plan_boundary(segment, max_bytes, plan)
    if not segment.sealed and plan.start >= segment.written_from and segment.size - plan.start < SURELY_CACHED:
        plan.recent = True
    plan.file = file_ref(segment.file)
    return LOCATED


cdef Located log_locate(CLog* log, int64_t offset, int64_t max_bytes, bint committed_only, bint min_one, bint may_block,
                        Slice* found, Position* position) noexcept nogil:
    cdef Plan plan
    cdef Located result
    found.file = NULL
    found.size = 0
    log_lock(&log.lock)
    result = make_plan(log, offset, max_bytes, committed_only, &plan, position)
    log_unlock(&log.lock)
    if result == WOULD_BLOCK and may_block:
        libc_errno.errno = 0
        if not open_segment(log, offset):
            read_failed(log, EIO if errno == EIO else 0)
            return LOG_OFFLINE
        log_lock(&log.lock)
        result = make_plan(log, offset, max_bytes, committed_only, &plan, position)
        log_unlock(&log.lock)
    if result != LOCATED or plan.file == NULL:
        return result
    result = resolve(&plan, max_bytes, min_one, may_block, found)
    if found.file != NULL and not plan.recent:
        if may_block:
            plan.failure = warm(found)
            if plan.failure:
                file_unref(found.file)
                found.file = NULL
                result = LOG_OFFLINE
        elif file_resident(found.file.fd, found.position, found.size) == 0:
            file_unref(found.file)
            found.file = NULL
            result = WOULD_BLOCK
    file_unref(plan.file)
    if plan.failure:
        read_failed(log, plan.failure)
    if result == LOG_DAMAGED:
        note_damage(log, offset)
    if found.file == NULL:
        found.size = 0
    return result


cdef void read_failed(CLog* log, int error) noexcept nogil:
    """A disk that cannot be read is not to be trusted with more (LocalLog.read). 0: nothing is known against the disk."""
    log_lock(&log.lock)
    if error and not log.closed:
        log_fail(log, error)
    log_unlock(&log.lock)


cdef void note_damage(CLog* log, int64_t offset) noexcept nogil:
    """Nothing is cut off or taken offline: what lies around it is still good. Python hears of it and says so."""
    log_lock(&log.lock)
    if log.damaged_at < 0:
        log.damaged_at = offset
        runtime_alarm(log.runtime)
    log_unlock(&log.lock)


cdef struct TimeSearch:
    int64_t timestamp
    int64_t start            # batches below the log's start do not count
    int64_t position
    int64_t size


cdef bint batch_reaches(void* state, const BatchInfo* info, int64_t position, const uint8_t* data) noexcept nogil:
    cdef TimeSearch* search = <TimeSearch*>state
    if info.max_timestamp < search.timestamp or info.base_offset + info.last_offset_delta < search.start:
        return True
    search.position = position
    search.size = info.size
    return False


cdef int log_find_time(CLog* log, int64_t timestamp, Slice* found) noexcept nogil:
    """The first batch whose max timestamp reaches `timestamp`: 1 found, 0 there is none, -1 unreadable. May block; not for planes."""
    cdef TimeSearch search
    cdef Segment* segment
    cdef SegmentFile* file
    cdef int64_t start, next_base, scan_from, end
    cdef int32_t i, k
    log_lock(&log.lock)
    start = next_base = log.log_start_offset
    while True:
        segment = NULL
        for k in range(log.segment_count):
            if log.segments[k].end_offset > next_base and (log.segments[k].max_timestamp >= timestamp):
                segment = log.segments[k]
                break
        if segment == NULL or log.closed:
            log_unlock(&log.lock)
            return 0
        if segment.file == NULL or segment.index == NULL:
            next_base = max(segment.base_offset, log.log_start_offset)
            log_unlock(&log.lock)
            if not open_segment(log, next_base):
                return -1
            log_lock(&log.lock)
            continue
        scan_from = 0
        i = index_floor_time(segment.index, timestamp - 1)
        if i >= 0:
            i = index_floor(segment.index, segment.index.times[i].relative)
            if i >= 0:
                scan_from = segment.index.offsets[i].position
        next_base = segment.end_offset
        end = segment.size
        file = file_ref(segment.file)
        log_unlock(&log.lock)
        search = TimeSearch(timestamp, start, -1, 0)
        end = batches_visit(file.fd, scan_from, end, False, batch_reaches, &search)
        if end < 0 or search.position >= 0:
            found.file = file
            found.position = search.position
            found.size = search.size
            if end < 0:
                file_unref(file)
                return -1
            return 1
        file_unref(file)
        log_lock(&log.lock)


cdef int32_t log_marks(CLog* log, int64_t every, Mark* marks, int32_t room) noexcept nogil:
    """Offsets that begin batches, about `every` bytes apart, with the bytes of the log before each, to a batch; their
    number, -1 for a segment that cannot be read. May block; not for planes."""
    cdef Segment* segment
    cdef const SparseIndex* index
    cdef int64_t before = 0, next_at, base, position, done_to = -1
    cdef int32_t i, k, count = 0
    log_lock(&log.lock)
    next_at = every
    k = 0
    while k < log.segment_count and count < room and not log.closed:
        segment = log.segments[k]
        if segment.base_offset <= done_to:  # segments went while the lock was free
            k += 1
            continue
        if before + segment.size >= next_at and segment.size > 0 and segment.index == NULL:
            base = segment.base_offset
            log_unlock(&log.lock)
            if not open_segment(log, base):
                return -1
            log_lock(&log.lock)
            k = 0
            continue
        if before >= next_at:
            if segment.base_offset > log.log_start_offset:
                marks[count] = Mark(segment.base_offset, before)
                count += 1
            next_at = before + every
        index = segment.index
        while segment.size > 0 and before + segment.size >= next_at and count < room:
            i = index_floor_position(index, <uint32_t>(next_at - before - 1)) + 1
            if i >= index.offset_count:
                break
            position = before + index.offsets[i].position
            if index.offsets[i].base_relative != BASE_UNKNOWN:
                base = segment.base_offset + index.offsets[i].base_relative
            else:
                base = segment.base_offset + index.offsets[i].last_relative + 1  # the batch behind begins there
            if base > log.log_start_offset:
                marks[count] = Mark(base, position)
                count += 1
            next_at = position + every
        before += segment.size
        done_to = segment.base_offset
        k += 1
    log_unlock(&log.lock)
    return count
