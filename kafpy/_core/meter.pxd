# A Meter may be used from any thread: each call takes its lock. Windows are fixed at the start.
from libc.stdint cimport int32_t, int64_t
from kafpy._core.posix cimport pthread_mutex_t

cdef struct Windows:             # quota.window.num, quota.window.size.seconds
    int32_t count
    int64_t size_ms

cdef struct Sample:
    int64_t window               # its number since the clock's zero
    double total

cdef struct Meter:
    pthread_mutex_t lock
    Sample* samples              # the owner's: Windows.count of them, zeroed; by the window's number modulo the count

cdef void meter_init(Meter* meter, Sample* samples) noexcept nogil
cdef void meter_add(Meter* meter, const Windows* windows, int64_t now_ms, double value) noexcept nogil
cdef int64_t meter_delay(Meter* meter, const Windows* windows, int64_t now_ms, double bound, double more) noexcept nogil
cdef double meter_burst(const Windows* windows, double bound) noexcept nogil
cdef bint meter_quiet(Meter* meter, const Windows* windows, int64_t now_ms) noexcept nogil
