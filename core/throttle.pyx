"""What quotas do to a connection: requests are charged, and a client above a bound is told, then not read.

As in Kafka (KafkaApis, ClientQuotaManager, KIP-219): the reply goes out at once with the time in it, and the connection is
muted for that time. A Produce is charged after it was appended; a Fetch above the bound is answered without data.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kafpy._core.atomic cimport atomic_get_ptr, counter_add
from kafpy._core.connection cimport connection_mute
from kafpy._core.meter cimport meter_add, meter_burst, meter_delay
from kafpy._core.meter cimport Windows
from kafpy._core.quotas cimport QUOTA_REQUEST, QuotaGrip, charge_time, grip_take
from kafpy._core.state cimport *

cdef int64_t LONGEST_MS = 0x7FFFFFFF


cdef void throttle_bind(Connection* connection, const uint8_t* frame, int32_t size) noexcept nogil:
    """For each request: the quotas of its client id."""
    cdef Quotas* quotas = &connection.plane.server.quotas
    if connection.quota.version != 0 or atomic_get_ptr(&quotas.rules) != NULL:
        grip_take(quotas, &connection.quota, frame, size)


cdef int64_t throttle_spent(Connection* connection) noexcept nogil:
    """The thread's time that was not charged yet; it counts as charged from now on."""
    cdef int64_t spent = connection.spent_ns
    connection.spent_ns = 0
    return spent


cdef int32_t throttle(Plane* plane, Connection* connection, int64_t ms) noexcept nogil:
    ms = min(ms, LONGEST_MS)
    if ms > 0:
        connection_mute(connection, ms)
        counter_add(&plane.throttled, 1)
    return <int32_t>ms


cdef int64_t time_delay(Plane* plane, Connection* connection) noexcept nogil:
    cdef QuotaGrip* grip = &connection.quota
    if grip.meter[QUOTA_REQUEST] == NULL:
        return 0
    return charge_time(&plane.server.quotas, grip.meter[QUOTA_REQUEST], grip.bound[QUOTA_REQUEST],
                       plane.now_ns // 1000000, throttle_spent(connection))


cdef int32_t throttle_request(Plane* plane, Connection* connection, int kind, int64_t bytes) noexcept nogil:
    """Charge a request that was served; milliseconds for its reply, for which its connection is muted."""
    cdef QuotaGrip* grip = &connection.quota
    cdef int64_t delay = 0, now_ms = plane.now_ns // 1000000
    if grip.version == 0:
        return 0
    if grip.meter[kind] != NULL:
        meter_add(grip.meter[kind], &plane.server.quotas.windows, now_ms, bytes)
        delay = meter_delay(grip.meter[kind], &plane.server.quotas.windows, now_ms, grip.bound[kind], 0)
    return throttle(plane, connection, max(delay, time_delay(plane, connection)))


cdef int64_t throttle_most(const Connection* connection, int kind) noexcept nogil:
    """Bytes of one reply that its bound lets through at once; more than any reply has without one."""
    cdef const QuotaGrip* grip = &connection.quota
    cdef const Windows* windows = &connection.plane.server.quotas.windows
    if grip.meter[kind] == NULL:
        return LONGEST_MS
    return <int64_t>min(meter_burst(windows, grip.bound[kind]), <double>LONGEST_MS)


cdef int32_t throttle_before(Plane* plane, Connection* connection, int kind, int64_t bytes) noexcept nogil:
    """Would a reply of this size be too much? Nothing is counted but time; above 0 the connection is muted."""
    cdef QuotaGrip* grip = &connection.quota
    cdef int64_t delay = 0
    if grip.version == 0:
        return 0
    if grip.meter[kind] != NULL and bytes > 0:
        delay = meter_delay(grip.meter[kind], &plane.server.quotas.windows, plane.now_ns // 1000000,
                            grip.bound[kind], bytes)
    return throttle(plane, connection, max(delay, time_delay(plane, connection)))


cdef void throttle_count(Plane* plane, Connection* connection, int kind, int64_t bytes) noexcept nogil:
    if connection.quota.meter[kind] != NULL:
        meter_add(connection.quota.meter[kind], &plane.server.quotas.windows, plane.now_ns // 1000000, bytes)
