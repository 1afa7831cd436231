"""The sparse offset and time index of one segment, in memory and in Kafka's files.

.index      entries of 8 bytes: last offset of a batch minus the segment's base offset, int32; position of that batch, int32
.timeindex  entries of 12 bytes: largest timestamp so far, int64; last offset of the batch that has it minus base offset, int32

Both big-endian and ascending. In memory an offset entry also keeps the batch's first offset, so that a fetch that
starts on an indexed batch needs no read. Files are written whole (another name, then rename), never mapped.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from kafpy._core.bytes cimport get32, get64, put32, put64
from kafpy._core.posix cimport *


cdef SparseIndex* index_new() noexcept nogil:
    return <SparseIndex*>calloc(1, sizeof(SparseIndex))


cdef void index_free(SparseIndex* index) noexcept nogil:
    if index != NULL:
        free(index.offsets)
        free(index.times)
        free(index)


cdef int64_t index_memory(const SparseIndex* index) noexcept nogil:
    return sizeof(SparseIndex) + index.offset_room * sizeof(OffsetEntry) + index.time_room * sizeof(TimeEntry)


cdef bint index_add_offset(SparseIndex* index, uint32_t base_relative, uint32_t last_relative, uint32_t position) noexcept nogil:
    cdef OffsetEntry* grown
    cdef int32_t room
    if index.offset_count == index.offset_room:
        room = index.offset_room * 2 if index.offset_room else 32
        grown = <OffsetEntry*>realloc(index.offsets, room * sizeof(OffsetEntry))
        if grown == NULL:
            return False       # a sparser index is still a right one
        index.offsets = grown
        index.offset_room = room
    index.offsets[index.offset_count] = OffsetEntry(last_relative, base_relative, position)
    index.offset_count += 1
    return True


cdef bint index_add_time(SparseIndex* index, int64_t timestamp, uint32_t relative) noexcept nogil:
    cdef TimeEntry* grown
    cdef int32_t room
    # -1 is no time: TimeIndex.maybeAppend compares with it when there is no entry yet.
    if timestamp <= (index.times[index.time_count - 1].timestamp if index.time_count else -1):
        return False
    if index.time_count == index.time_room:
        room = index.time_room * 2 if index.time_room else 32
        grown = <TimeEntry*>realloc(index.times, room * sizeof(TimeEntry))
        if grown == NULL:
            return False
        index.times = grown
        index.time_room = room
    index.times[index.time_count] = TimeEntry(timestamp, relative)
    index.time_count += 1
    return True


# The floors return the last entry at or below the key, -1 when every entry is above it.

cdef int32_t index_floor(const SparseIndex* index, uint32_t relative) noexcept nogil:
    cdef int32_t low = 0, high = index.offset_count, middle
    while low < high:
        middle = (low + high) >> 1
        if index.offsets[middle].last_relative <= relative:
            low = middle + 1
        else:
            high = middle
    return low - 1


cdef int32_t index_floor_position(const SparseIndex* index, uint32_t position) noexcept nogil:
    cdef int32_t low = 0, high = index.offset_count, middle
    while low < high:
        middle = (low + high) >> 1
        if index.offsets[middle].position <= position:
            low = middle + 1
        else:
            high = middle
    return low - 1


cdef int32_t index_floor_time(const SparseIndex* index, int64_t timestamp) noexcept nogil:
    cdef int32_t low = 0, high = index.time_count, middle
    while low < high:
        middle = (low + high) >> 1
        if index.times[middle].timestamp <= timestamp:
            low = middle + 1
        else:
            high = middle
    return low - 1


cdef void index_truncate(SparseIndex* index, uint32_t relative) noexcept nogil:
    """Drop what speaks of `relative` or later."""
    while index.offset_count and index.offsets[index.offset_count - 1].last_relative >= relative:
        index.offset_count -= 1
    while index.time_count and index.times[index.time_count - 1].relative >= relative:
        index.time_count -= 1


cdef int write_file(const char* path, const uint8_t* data, int64_t size, bint sync) noexcept nogil:
    cdef char[4200] temporary
    cdef int fd
    cdef int64_t done = 0
    cdef long n
    snprintf(temporary, sizeof(temporary), b"%s.tmp", path)
    fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    if fd < 0:
        return -1
    while done < size:
        n = write(fd, data + done, size - done)
        if n <= 0:
            close(fd)
            return -1
        done += n
    if sync and fdatasync(fd):
        close(fd)
        return -1
    close(fd)
    return rename(temporary, path)


cdef int index_write(const SparseIndex* index, const char* offset_path, const char* time_path, bint sync) noexcept nogil:
    cdef int64_t i, size = max(index.offset_count * 8, index.time_count * 12)
    cdef uint8_t* out = <uint8_t*>malloc(size + 1)
    cdef int failed
    if out == NULL:
        return -1
    for i in range(index.offset_count):
        put32(out + 8 * i, index.offsets[i].last_relative)
        put32(out + 8 * i + 4, index.offsets[i].position)
    failed = write_file(offset_path, out, index.offset_count * 8, sync)
    for i in range(index.time_count):
        put64(out + 12 * i, index.times[i].timestamp)
        put32(out + 12 * i + 8, index.times[i].relative)
    if not failed:
        failed = write_file(time_path, out, index.time_count * 12, sync)
    free(out)
    return failed


cdef uint8_t* read_file(const char* path, int64_t* size) noexcept nogil:
    cdef int fd = open(path, O_RDONLY | O_CLOEXEC)
    cdef stat_t s
    cdef uint8_t* data = NULL
    size[0] = -1
    if fd < 0:
        return NULL
    if fstat(fd, &s) == 0:
        data = <uint8_t*>malloc(s.st_size + 1)
        if data != NULL and pread(fd, data, s.st_size, 0) == s.st_size:
            size[0] = s.st_size
    close(fd)
    return data


cdef SparseIndex* index_read(const char* offset_path, const char* time_path, int64_t log_size) noexcept nogil:
    """The index as its files have it; NULL when a file is missing or does not fit a log of `log_size` bytes (then rebuild)."""
    cdef int64_t offset_size, time_size, i
    cdef uint8_t* offsets = read_file(offset_path, &offset_size)
    cdef uint8_t* times = read_file(time_path, &time_size)
    cdef SparseIndex* index = index_new()
    cdef bint good = index != NULL and offset_size >= 0 and time_size >= 0 and offset_size % 8 == 0 and time_size % 12 == 0
    if good:
        for i in range(offset_size // 8):
            good = good and add_read_offset(index, get32(offsets + 8 * i), get32(offsets + 8 * i + 4), log_size)
        for i in range(time_size // 12):
            good = good and add_read_time(index, <int64_t>get64(times + 12 * i), get32(times + 12 * i + 8))
    free(offsets)
    free(times)
    if not good:
        index_free(index)
        return NULL
    return index


cdef bint add_read_offset(SparseIndex* index, uint32_t last_relative, uint32_t position, int64_t log_size) noexcept nogil:
    cdef OffsetEntry* before
    if position >= log_size or last_relative > 0x7FFFFFFF:
        return False
    if index.offset_count:
        before = &index.offsets[index.offset_count - 1]
        if last_relative <= before.last_relative or position <= before.position:
            return False
    return index_add_offset(index, BASE_UNKNOWN, last_relative, position)


cdef bint add_read_time(SparseIndex* index, int64_t timestamp, uint32_t relative) noexcept nogil:
    if relative > 0x7FFFFFFF or (index.time_count and relative < index.times[index.time_count - 1].relative):
        return False
    return index_add_time(index, timestamp, relative)


cdef class Index:
    """The same structure for tests and tools; the broker itself never makes one."""
    cdef SparseIndex* c

    def __cinit__(self):
        self.c = index_new()
        if self.c == NULL:
            raise MemoryError

    def __dealloc__(self):
        index_free(self.c)

    def add(self, uint32_t base_relative, uint32_t last_relative, uint32_t position):
        return index_add_offset(self.c, base_relative, last_relative, position)

    def add_time(self, int64_t timestamp, uint32_t relative):
        return index_add_time(self.c, timestamp, relative)

    def floor(self, uint32_t relative):
        cdef int32_t i = index_floor(self.c, relative)
        return None if i < 0 else (self.c.offsets[i].last_relative, self.c.offsets[i].position)

    def floor_time(self, int64_t timestamp):
        cdef int32_t i = index_floor_time(self.c, timestamp)
        return None if i < 0 else (self.c.times[i].timestamp, self.c.times[i].relative)

    def truncate(self, uint32_t relative):
        index_truncate(self.c, relative)

    def entries(self):
        return [(self.c.offsets[i].last_relative, self.c.offsets[i].position) for i in range(self.c.offset_count)]

    def time_entries(self):
        return [(self.c.times[i].timestamp, self.c.times[i].relative) for i in range(self.c.time_count)]

    def write(self, str offset_path, str time_path):
        if index_write(self.c, offset_path.encode(), time_path.encode(), False):
            raise OSError(errno, "cannot write an index", offset_path)

    @staticmethod
    def read(str offset_path, str time_path, int64_t log_size):
        cdef SparseIndex* found = index_read(offset_path.encode(), time_path.encode(), log_size)
        cdef Index made
        if found == NULL:
            return None
        made = Index()
        index_free(made.c)
        made.c = found
        return made
