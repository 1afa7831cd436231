# A SparseIndex belongs to its segment and is guarded by the log's mutex.
from libc.stdint cimport int32_t, int64_t, uint32_t

cdef enum: BASE_UNKNOWN = 0xFFFFFFFF     # read from a file, which keeps only the last offset

cdef struct OffsetEntry:
    uint32_t last_relative
    uint32_t base_relative
    uint32_t position

cdef struct TimeEntry:
    int64_t timestamp
    uint32_t relative

cdef struct SparseIndex:
    OffsetEntry* offsets
    int32_t offset_count
    int32_t offset_room
    TimeEntry* times
    int32_t time_count
    int32_t time_room

cdef SparseIndex* index_new() noexcept nogil
cdef void index_free(SparseIndex* index) noexcept nogil
cdef int64_t index_memory(const SparseIndex* index) noexcept nogil
cdef bint index_add_offset(SparseIndex* index, uint32_t base_relative, uint32_t last_relative, uint32_t position) noexcept nogil
cdef bint index_add_time(SparseIndex* index, int64_t timestamp, uint32_t relative) noexcept nogil
cdef int32_t index_floor(const SparseIndex* index, uint32_t relative) noexcept nogil
cdef int32_t index_floor_position(const SparseIndex* index, uint32_t position) noexcept nogil
cdef int32_t index_floor_time(const SparseIndex* index, int64_t timestamp) noexcept nogil
cdef void index_truncate(SparseIndex* index, uint32_t relative) noexcept nogil
cdef int index_write(const SparseIndex* index, const char* offset_path, const char* time_path, bint sync) noexcept nogil
cdef SparseIndex* index_read(const char* offset_path, const char* time_path, int64_t log_size) noexcept nogil
