from libc.stdint cimport int16_t, int32_t, uint8_t
from kafpy._core.partition cimport Waiter
from kafpy._core.state cimport Commit, Plane, Slot

cdef enum Served:
    SERVED
    FALLS_THROUGH        # for Python to decide; nothing was done
    MALFORMED            # close the connection

cdef Served produce_serve(Plane* plane, Slot* slot, uint8_t* body, int32_t size, const int16_t* decided, int32_t decisions) noexcept nogil
cdef void produce_commit(Plane* plane) noexcept nogil
cdef void commit_news(Plane* plane, Waiter* waiter) noexcept nogil
cdef void commit_expired(Plane* plane, Commit* commit) noexcept nogil
cdef void commit_cancel(Plane* plane, Commit* commit) noexcept nogil
