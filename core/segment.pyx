"""One .log file with its sparse index: batches one after the other, named by the first offset it may hold.

Nothing here locks: a segment belongs to its log. Reading batches off a file (`batches_visit`) is shared by recovery,
by loading after a clean stop, and by look-ups beside the index.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from kafpy._core.atomic cimport atomic_add32
from kafpy._core.bytes cimport get32, get64
from kafpy._core.batch cimport BatchInfo, batch_header, batch_intact
from kafpy._core.index cimport (
    SparseIndex, index_add_offset, index_add_time, index_free, index_new, index_read, index_write
)
from kafpy._core.posix cimport *
from kafpy._core.runtime cimport CRuntime, Job, runtime_submit


cdef void close_file(Job* job) noexcept nogil:
    cdef SegmentFile* file = <SegmentFile*>job
    close(file.fd)
    free(file)


cdef SegmentFile* file_open(CRuntime* runtime, const char* path, int flags) noexcept nogil:
    cdef SegmentFile* file = <SegmentFile*>calloc(1, sizeof(SegmentFile))
    if file == NULL:
        return NULL
    file.fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
    if file.fd < 0:
        free(file)
        return NULL
    file.job.run = close_file
    file.refs = 1
    file.runtime = runtime
    return file


cdef SegmentFile* file_ref(SegmentFile* file) noexcept nogil:
    atomic_add32(&file.refs, 1)
    return file


cdef void file_unref(SegmentFile* file) noexcept nogil:
    """The last one closes it on a helper: closing a deleted file frees its blocks, which can take long."""
    if file != NULL and atomic_add32(&file.refs, -1) == 0 and not runtime_submit(file.runtime, &file.job):
        close_file(&file.job)


cdef Segment* segment_new(int64_t base_offset) noexcept nogil:
    cdef Segment* segment = <Segment*>calloc(1, sizeof(Segment))
    if segment != NULL:
        segment.base_offset = segment.end_offset = base_offset
        segment.max_timestamp = segment.max_timestamp_offset = segment.first_timestamp = -1
        segment.luck = draw_luck()
    return segment


cdef uint32_t draw_luck() noexcept nogil:
    """Segments that begin together must not end together; more than that is not asked of it."""
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <uint32_t>((<uint64_t>now.tv_nsec * 0x9E3779B97F4A7C15ULL) >> 32)


cdef void segment_free(Segment* segment) noexcept nogil:
    if segment != NULL:
        file_unref(segment.file)
        index_free(segment.index)
        free(segment)


cdef void segment_path(char* out, size_t room, const char* directory, int64_t base_offset, const char* suffix) noexcept nogil:
    snprintf(out, room, b"%s/%020lld%s", directory, <long long>base_offset, suffix)


cdef void segment_note(Segment* segment, const BatchInfo* info, int64_t base_offset, int64_t position, int32_t interval) noexcept nogil:
    """Account for one batch at `position`. Kafka's LogSegment.append: an entry once more than `interval` bytes lie behind the last."""
    cdef int64_t last_offset = base_offset + info.last_offset_delta
    if segment.first_timestamp < 0:
        segment.first_timestamp = info.max_timestamp
    if info.max_timestamp > segment.max_timestamp:
        segment.max_timestamp = info.max_timestamp
        segment.max_timestamp_offset = last_offset
    if segment.bytes_since_index > interval:
        index_add_offset(segment.index, <uint32_t>(base_offset - segment.base_offset),
                         <uint32_t>(last_offset - segment.base_offset), <uint32_t>position)
        index_add_time(segment.index, segment.max_timestamp, <uint32_t>(segment.max_timestamp_offset - segment.base_offset))
        segment.bytes_since_index = 0
    segment.bytes_since_index += info.size
    segment.size = position + info.size
    segment.end_offset = last_offset + 1


cdef int64_t batches_visit(int fd, int64_t start, int64_t end, bint whole, Visitor visit, void* state) noexcept nogil:
    """Show each batch of [start, end) to `visit`, with all its bytes if `whole`, until it says False or a batch is cut short or no batch.

    Returns where it stopped; -1 when the file cannot be read.
    """
    cdef int64_t room = (1 << 20) if whole else (1 << 14), position = start, have_from = start, have = 0, want
    cdef uint8_t* buffer = <uint8_t*>malloc(room)
    cdef uint8_t* grown
    cdef BatchInfo info
    cdef long n
    if buffer == NULL:
        return -1
    while position + 61 <= end:
        want = 61
        if position >= have_from and position + 61 <= have_from + have:
            if not batch_header(buffer + (position - have_from), 61, &info) or position + info.size > end:
                break
            if whole:
                want = info.size
            if position + want <= have_from + have:
                if not visit(state, &info, position, buffer + (position - have_from)):
                    break
                position += info.size
                continue
        if want > room:
            grown = <uint8_t*>realloc(buffer, want)
            if grown == NULL:
                free(buffer)
                return -1
            buffer = grown
            room = want
        n = pread(fd, buffer, min(room, end - position), position)
        if n < 61:
            position = -1
            break
        have_from = position
        have = n
        if whole and want > n:
            position = -1
            break
    free(buffer)
    return position


cdef struct Recovery:
    Segment* segment
    int32_t interval
    int64_t before           # batches that end below this offset
    bint checked
    bint contiguous          # every batch begins where the one before it ends
    int64_t gap_at           # position of the last batch if it does not; else -1
    int64_t gap_from         # where it should have begun
    bint contradicted        # a batch that belongs into that gap follows it


cdef bint recover_batch(void* state, const BatchInfo* info, int64_t position, const uint8_t* data) noexcept nogil:
    cdef Recovery* recovery = <Recovery*>state
    cdef Segment* segment = recovery.segment
    if info.base_offset < segment.end_offset or info.last_offset_delta < 0:
        recovery.contradicted = (recovery.gap_at >= 0 and info.base_offset >= recovery.gap_from
                                 and recovery.checked and batch_intact(data, info))
        return False
    if recovery.contiguous and info.base_offset != segment.end_offset:
        return False
    if info.base_offset + info.last_offset_delta - segment.base_offset > 0x7FFFFFFF:
        return False
    if info.base_offset + info.last_offset_delta >= recovery.before:
        return False
    if recovery.checked and not batch_intact(data, info):
        return False
    recovery.gap_at = position if info.base_offset != segment.end_offset else -1
    recovery.gap_from = segment.end_offset
    segment_note(segment, info, info.base_offset, position, recovery.interval)
    return True


cdef int64_t segment_recover(Segment* segment, int64_t file_size, int32_t interval, int64_t before) noexcept nogil:
    """Read every batch that ends below `before`, check it, and build the index anew. Returns the valid size; -1 on a read error."""
    cdef Recovery recovery = Recovery(segment, interval, before, True, False, -1, -1, False)
    return recover(&recovery, file_size)


cdef int64_t segment_repair(Segment* segment, int64_t file_size, int32_t interval, bint contiguous, int64_t next_base) noexcept nogil:
    """The same of a file that a crash may have torn. A base offset lies outside the CRC: one that is too high is known by the
    batch behind it, by the segment behind it, or by the one before it where all offsets must be there."""
    cdef Recovery recovery = Recovery(segment, interval, INT64_MAX, True, contiguous, -1, -1, False)
    cdef int64_t valid = recover(&recovery, file_size)
    if valid >= 0 and recovery.gap_at >= 0 and (recovery.contradicted or segment.end_offset > next_base):
        valid = recover(&recovery, recovery.gap_at)
    return valid


cdef int64_t recover(Recovery* recovery, int64_t file_size) noexcept nogil:
    cdef Segment* segment = recovery.segment
    index_free(segment.index)
    segment.index = index_new()
    segment.end_offset = segment.base_offset
    segment.size = segment.bytes_since_index = 0
    segment.max_timestamp = segment.max_timestamp_offset = segment.first_timestamp = -1
    if segment.index == NULL:
        return -1
    return batches_visit(segment.file.fd, 0, file_size, True, recover_batch, recovery)


cdef bint note_first(void* state, const BatchInfo* info, int64_t position, const uint8_t* data) noexcept nogil:
    (<Segment*>state).first_timestamp = info.max_timestamp
    return False


cdef int64_t segment_load(Segment* segment, const char* directory, int64_t file_size, int32_t interval) noexcept nogil:
    """Trust the files of a cleanly stopped broker: index as written, headers only behind its last entry. -1: recover instead."""
    cdef char[4200] offset_path
    cdef char[4200] time_path
    cdef Recovery recovery = Recovery(segment, interval, INT64_MAX, False, False, -1, -1, False)
    cdef int64_t from_position = 0, end
    cdef int32_t last = -1
    cdef uint32_t last_relative = 0
    segment_path(offset_path, 4200, directory, segment.base_offset, b".index")
    segment_path(time_path, 4200, directory, segment.base_offset, b".timeindex")
    segment.index = index_read(offset_path, time_path, file_size)
    if segment.index == NULL:
        return -1
    batches_visit(segment.file.fd, 0, file_size, False, note_first, segment)
    if segment.index.time_count:
        segment.max_timestamp = segment.index.times[segment.index.time_count - 1].timestamp
        segment.max_timestamp_offset = segment.base_offset + segment.index.times[segment.index.time_count - 1].relative
    if segment.index.offset_count:
        # Starting on the last indexed batch, not behind it: its own size is only known from its header.
        last = segment.index.offset_count - 1
        last_relative = segment.index.offsets[last].last_relative
        from_position = segment.index.offsets[last].position
        segment.index.offset_count = last
        segment.bytes_since_index = <int64_t>interval + 1
    end = batches_visit(segment.file.fd, from_position, file_size, False, recover_batch, &recovery)
    if segment.index.time_count and segment.max_timestamp_offset >= segment.end_offset:
        return -1
    if end != file_size or (last >= 0 and (segment.index.offset_count <= last or segment.index.offsets[last].last_relative != last_relative)):
        return -1                # the index is another file's, or the file was not left whole
    return end


cdef void segment_seal(Segment* segment) noexcept nogil:
    """LogSegment.onBecomeInactiveSegment: the last time entry speaks for the whole segment."""
    segment.sealed = True
    if segment.max_timestamp >= 0:
        index_add_time(segment.index, segment.max_timestamp, <uint32_t>(segment.max_timestamp_offset - segment.base_offset))


cdef int64_t segment_last_timestamp(const char* directory, int64_t base_offset, int64_t* offset) noexcept nogil:
    """What a sealed segment's time index says of the whole; -1 when it says nothing."""
    cdef char[4200] path
    cdef uint8_t[12] entry
    cdef stat_t s
    cdef int fd
    cdef int64_t timestamp = -1
    segment_path(path, 4200, directory, base_offset, b".timeindex")
    fd = open(path, O_RDONLY | O_CLOEXEC)
    if fd < 0:
        return -1
    if fstat(fd, &s) == 0 and s.st_size >= 12 and s.st_size % 12 == 0 and pread(fd, entry, 12, s.st_size - 12) == 12:
        timestamp = <int64_t>get64(entry)
        offset[0] = base_offset + get32(entry + 8)
    close(fd)
    return timestamp


cdef int segment_write_index(Segment* segment, const char* directory, bint sync) noexcept nogil:
    cdef char[4200] offset_path
    cdef char[4200] time_path
    if segment.index == NULL:
        return 0
    segment_path(offset_path, 4200, directory, segment.base_offset, b".index")
    segment_path(time_path, 4200, directory, segment.base_offset, b".timeindex")
    return index_write(segment.index, offset_path, time_path, sync)
