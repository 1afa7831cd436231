from libc.stdint cimport int32_t, int64_t, uint8_t
from kafpy._core.runtime cimport Runtime

cdef class Beats:
    cdef Runtime runtime
    cdef dict known              # by what a request is known by: Beat
    cdef Beat remember(self, bytes frame, bytes payload)
    cdef Beat find(self, const uint8_t* frame, int32_t size)    # None: Python has to be asked

cdef class Beat:
    cdef Beats beats
    cdef bytes key
    cdef bytes reply             # a response without its correlation id
    cdef int64_t heard_ns        # of the broker's clock
    cdef bytes answer(self, const uint8_t* correlation_id)
