from libc.stdint cimport int64_t
from kafpy._core.partition cimport CLog
from kafpy._core.runtime cimport Runtime
from kafpy._core.segment cimport Segment

cdef class Log:
    cdef CLog* c
    cdef readonly Runtime runtime
    cdef readonly str directory
    cdef void set_defaults(self)
    cdef seal_recovered(self, Segment* segment, path)
    cdef finish_open(self)
    cdef int64_t read_field(self, int64_t* field)
