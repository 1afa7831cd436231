from libc.stdint cimport int32_t, uint8_t
from kafpy._core.state cimport FetchPart, FetchSession, FetchTopic, Plane

cdef FetchSession* session_new(Plane* plane, bint lasting, bint by_id) noexcept nogil
cdef FetchSession* session_find(Plane* plane, int32_t id) noexcept nogil
cdef void session_free(Plane* plane, FetchSession* session) noexcept nogil
cdef FetchTopic* session_topic(FetchSession* session, const uint8_t* key, int32_t size) noexcept nogil
cdef FetchPart* session_part(FetchSession* session, FetchTopic* topic, int32_t index) noexcept nogil
cdef void session_forget(Plane* plane, FetchSession* session, const uint8_t* key, int32_t size, int32_t index) noexcept nogil
cdef void part_refresh(FetchPart* part) noexcept nogil
cdef void part_release(FetchPart* part) noexcept nogil
