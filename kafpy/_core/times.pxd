# A Times belongs to one plane: its thread adds, anyone reads (counters).
from libc.stdint cimport int64_t

cdef enum: TIMED_APIS = 96           # keys of APIs that are timed
cdef enum: TIME_BUCKETS = 104        # four to each doubling, up to two minutes

cdef struct Times:
    int64_t total_us
    int64_t bucket[TIME_BUCKETS]

cdef void times_add(Times* times, int64_t ns) noexcept nogil
cdef int64_t time_bound(int bucket) noexcept nogil
