from libc.stdint cimport int16_t, int32_t
from kafpy._core.state cimport Fetch, FetchTopic, Slot

cdef FetchTopic* reply_choose(Fetch* fetch) noexcept nogil
cdef bint reply_head(Slot* slot, int32_t throttle_ms, int16_t error, int32_t session_id, FetchTopic* topic) noexcept nogil
cdef bint reply_topic(Slot* slot, bint by_id, FetchTopic* topic) noexcept nogil
cdef bint reply_tail(Slot* slot) noexcept nogil
cdef bint reply_error(Slot* slot, int16_t error) noexcept nogil
