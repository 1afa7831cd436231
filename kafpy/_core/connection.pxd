from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kafpy._core.partition cimport Slice
from kafpy._core.state cimport Connection, Plane, Slot

cdef void* turn_alloc(Plane* plane, int64_t size) noexcept nogil
cdef void turn_reset(Plane* plane) noexcept nogil

cdef Slot* slot_new(Connection* connection, int16_t api_key, int16_t api_version, int32_t correlation_id) noexcept nogil
cdef void slot_free(Plane* plane, Slot* slot) noexcept nogil
cdef uint8_t* slot_room(Slot* slot, int32_t size) noexcept nogil
cdef bint slot_file(Slot* slot, Slice* slice) noexcept nogil
cdef void slot_finish(Slot* slot) noexcept nogil
cdef void slot_hold(Slot* slot, int64_t bytes) noexcept nogil
cdef void slot_ready(Slot* slot) noexcept nogil
cdef void slot_hang_up(Slot* slot) noexcept nogil
cdef Slot* slot_sent(Connection* connection) noexcept nogil

cdef Connection* connection_new(Plane* plane, int fd) noexcept nogil
cdef void connection_free(Connection* connection) noexcept nogil
cdef void connection_touch(Connection* connection) noexcept nogil
cdef void connection_mute(Connection* connection, int64_t ms) noexcept nogil
cdef bint connection_may_read(Connection* connection) noexcept nogil
cdef bint connection_keep(Connection* connection, const uint8_t* data, int64_t size) noexcept nogil
cdef bint connection_grow(Connection* connection, int64_t wanted) noexcept nogil
cdef void connection_drop_buffer(Connection* connection) noexcept nogil
