from libc.stdint cimport int64_t
from kafpy._core.partition cimport CLog

cdef bint log_truncate(CLog* log, int64_t offset) noexcept nogil       # may block; not for planes
