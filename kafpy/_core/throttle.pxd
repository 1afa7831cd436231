from libc.stdint cimport int32_t, int64_t, uint8_t
from kafpy._core.state cimport Connection, Plane

cdef void throttle_bind(Connection* connection, const uint8_t* frame, int32_t size) noexcept nogil
cdef int64_t throttle_spent(Connection* connection) noexcept nogil
cdef int32_t throttle_request(Plane* plane, Connection* connection, int kind, int64_t bytes) noexcept nogil
cdef int64_t throttle_most(const Connection* connection, int kind) noexcept nogil
cdef int32_t throttle_before(Plane* plane, Connection* connection, int kind, int64_t bytes) noexcept nogil
cdef void throttle_count(Plane* plane, Connection* connection, int kind, int64_t bytes) noexcept nogil
