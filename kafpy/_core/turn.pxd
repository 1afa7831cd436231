from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kafpy._core.runtime cimport Letter
from kafpy._core.state cimport Connection, Plane, Slot

cdef enum AnswerKind:
    ANSWER_REPLY
    ANSWER_REJECT
    ANSWER_AGAIN         # a Produce that Python has prepared

cdef struct Answer:      # from Python
    Letter letter        # first member
    AnswerKind kind
    Slot* slot
    uint8_t* data        # a reply with 4 bytes before it for the size, or a request frame; malloc'ed, taken over
    int32_t size
    int16_t* decided
    int32_t decisions
    int32_t request_size # of the frame that it answers
    int32_t throttle_ms  # its connection is muted for so long

cdef int64_t feed(Plane* plane, Connection* connection, uint8_t* data, int64_t size) noexcept nogil
cdef void turn_commit(Plane* plane) noexcept nogil
cdef void plane_look_at_clock(Plane* plane) noexcept nogil
cdef void* plane_main(void* arg) noexcept nogil
cdef void plane_end(Plane* plane) noexcept nogil
