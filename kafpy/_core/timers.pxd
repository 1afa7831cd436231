from libc.stdint cimport int64_t
from kafpy._core.state cimport Plane, Timer

cdef bint timer_set(Plane* plane, Timer* timer, int64_t deadline_ns) noexcept nogil
cdef void timer_cancel(Plane* plane, Timer* timer) noexcept nogil
cdef Timer* timer_due(Plane* plane) noexcept nogil
