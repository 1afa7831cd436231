from libc.stdint cimport int64_t
from kafpy._core.state cimport Address, Connection, Listener, Plane

cdef bint send_ready(Connection* connection) noexcept nogil
cdef void show_interest(Connection* connection) noexcept nogil
cdef void connection_close(Connection* connection) noexcept nogil
cdef void connection_used(Connection* connection) noexcept nogil
cdef void accept_ready(Plane* plane, Listener* listener) noexcept nogil
cdef void adopt(Plane* plane, Connection* connection) noexcept nogil
cdef void tell_refusal(Plane* plane, const Address* peer) noexcept nogil     # of a connection that was closed for what it sent
cdef void watch_listeners(Plane* plane, bint on) noexcept nogil
