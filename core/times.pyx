"""How long requests took: a histogram in microseconds with four buckets to each doubling, so at most a quarter too high.

    bucket 0..3: that many microseconds; then, for 2**k <= us < 2**(k+1): bucket 4 * (k - 1) + the two bits below the first
"""

from libc.stdint cimport int64_t, uint64_t
from kafpy._core.atomic cimport counter_add

cdef extern from *:
    int __builtin_clzll(unsigned long long x) noexcept nogil


cdef int time_bucket(int64_t us) noexcept nogil:
    cdef int k
    if us < 4:
        return <int>max(us, <int64_t>0)
    k = 63 - __builtin_clzll(<uint64_t>us)
    return min(4 * (k - 1) + <int>((us >> (k - 2)) & 3), TIME_BUCKETS - 1)


cdef int64_t time_bound(int bucket) noexcept nogil:
    """The first microsecond above a bucket."""
    cdef int k = bucket // 4 + 1
    if bucket < 4:
        return bucket + 1
    return <int64_t>(5 + bucket % 4) << (k - 2)


cdef void times_add(Times* times, int64_t ns) noexcept nogil:
    cdef int64_t us = max(ns, <int64_t>0) // 1000
    counter_add(&times.total_us, us)
    counter_add(&times.bucket[time_bucket(us)], 1)


def bucket_of(int64_t us):
    return time_bucket(us)


def bounds():
    return [time_bound(bucket) for bucket in range(TIME_BUCKETS)]
