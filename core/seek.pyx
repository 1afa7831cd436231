"""Batch boundaries of a segment file, for those who read a broker's files beside it. Headers are read and skipped over;
nothing is checked that a header does not say."""

from libc.errno cimport errno
from libc.stdint cimport int64_t, uint8_t
from kafpy._core.batch cimport BatchInfo
from kafpy._core.segment cimport batches_visit


cdef struct Search:
    int64_t offset
    int64_t found


cdef bint before(void* state, const BatchInfo* info, int64_t position, const uint8_t* data) noexcept nogil:
    cdef Search* search = <Search*>state
    if info.base_offset + info.last_offset_delta < search.offset:
        return True
    search.found = position
    return False


def seek(int fd, int64_t start, int64_t end, int64_t offset):
    """Where between `start`, where a batch begins, and `end` the first batch begins that reaches `offset`; else where
    the whole batches end. OSError."""
    cdef Search search = Search(offset, -1)
    cdef int64_t stopped
    with nogil:
        stopped = batches_visit(fd, start, end, False, before, &search)
    if stopped < 0:
        raise OSError(errno, "cannot read the segment")
    return search.found if search.found >= 0 else stopped
