"""A rate over sliding windows, and how long its source must be silent to come down to a bound.

As Kafka measures (Rate, SampledStat, QuotaUtils): what came in the last `count` windows, divided by the time since the
oldest of them began. But a source that was idle may send what BURST windows allow, not all windows but one: with Kafka's
ten seconds of credit a client gets 1.17 times its quota in its first minute.
"""

from libc.stdint cimport int32_t, int64_t
from kafpy._core.posix cimport pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock


cdef enum: BURST = 2


cdef void meter_init(Meter* meter, Sample* samples) noexcept nogil:
    pthread_mutex_init(&meter.lock, NULL)
    meter.samples = samples


cdef double total_since(Meter* meter, const Windows* windows, int64_t current, int64_t* oldest) noexcept nogil:
    """Under the lock: what the windows up to `current` hold, and the first of them that holds anything."""
    cdef double total = 0
    cdef int32_t i
    oldest[0] = current
    for i in range(windows.count):
        if meter.samples[i].total > 0 and current - windows.count < meter.samples[i].window <= current:
            total += meter.samples[i].total
            oldest[0] = min(oldest[0], meter.samples[i].window)
    return total


cdef void meter_add(Meter* meter, const Windows* windows, int64_t now_ms, double value) noexcept nogil:
    cdef int64_t window = now_ms // windows.size_ms
    cdef Sample* sample = &meter.samples[window % windows.count]
    pthread_mutex_lock(&meter.lock)
    if sample.window != window:
        sample.window = window
        sample.total = 0
    sample.total += value
    pthread_mutex_unlock(&meter.lock)


cdef int64_t meter_delay(Meter* meter, const Windows* windows, int64_t now_ms, double bound, double more) noexcept nogil:
    """Milliseconds until the rate, with `more` added, is back at `bound` per second; 0 when it is not above.

    What is too large for any window passes when the meter is empty: it would wait for ever.
    """
    cdef int64_t oldest = 0, elapsed
    cdef double total
    pthread_mutex_lock(&meter.lock)
    total = total_since(meter, windows, now_ms // windows.size_ms, &oldest)
    pthread_mutex_unlock(&meter.lock)
    if total == 0 and more > 0:
        return 0
    elapsed = max(now_ms - oldest * windows.size_ms, min(<int32_t>BURST, windows.count) * windows.size_ms)
    return <int64_t>max((total + more - bound * elapsed / 1000.0) / bound * 1000.0 + 0.5, 0)


cdef double meter_burst(const Windows* windows, double bound) noexcept nogil:
    """What may come at once."""
    return bound * min(<int32_t>BURST, windows.count) * windows.size_ms / 1000.0


cdef bint meter_quiet(Meter* meter, const Windows* windows, int64_t now_ms) noexcept nogil:
    """Nothing was added for so long that it could be forgotten."""
    cdef int64_t oldest = 0
    cdef double total
    pthread_mutex_lock(&meter.lock)
    total = total_since(meter, windows, now_ms // windows.size_ms, &oldest)
    pthread_mutex_unlock(&meter.lock)
    return total == 0
