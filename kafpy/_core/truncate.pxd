from libc.stdint cimport int32_t, int64_t
from kafpy._core.partition cimport CLog

cdef enum:
    OFFSET_BEYOND = -1
    LOG_FAILED = -2

cdef int64_t log_delete_segments(CLog* log, int64_t start, int64_t** gone, int32_t* count) noexcept nogil       # may block; not for planes
cdef bint log_truncate(CLog* log, int64_t offset) noexcept nogil       # may block; not for planes
cdef int64_t log_delete_records(CLog* log, int64_t offset) noexcept nogil       # may block; not for planes
