from libc.stdint cimport int32_t, uint8_t
from kafpy._core.partition cimport Waiter
from kafpy._core.produce cimport Served
from kafpy._core.state cimport Fetch, Plane, Search, Slot

cdef Served fetch_serve(Plane* plane, Slot* slot, const uint8_t* body, int32_t size) noexcept nogil
cdef void fetch_news(Plane* plane, Waiter* waiter) noexcept nogil
cdef void fetch_found(Plane* plane, Search* search) noexcept nogil
cdef void fetch_expired(Plane* plane, Fetch* fetch) noexcept nogil
cdef void fetch_cancel(Plane* plane, Fetch* fetch) noexcept nogil
