from libc.stdint cimport int32_t, int64_t
from kafpy._core.partition cimport CLog, Located, Position, Slice
from kafpy._core.segment cimport Segment

cdef struct Mark:
    int64_t offset
    int64_t position

cdef bint open_segment(CLog* log, int64_t offset) noexcept nogil       # may block; not for planes
cdef Segment* segment_holding(CLog* log, int64_t offset) noexcept nogil
cdef Located log_locate(CLog* log, int64_t offset, int64_t max_bytes, bint committed_only, bint min_one, bint may_block,
                        Slice* found, Position* position) noexcept nogil
cdef int log_find_time(CLog* log, int64_t timestamp, Slice* found) noexcept nogil
cdef int32_t log_marks(CLog* log, int64_t every, Mark* marks, int32_t room) noexcept nogil
