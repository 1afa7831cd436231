from libc.stdint cimport int32_t, int64_t, uint32_t
from kafpy._core.beats cimport Beats
from kafpy._core.meter cimport Meter
from kafpy._core.quotas cimport QuotaClient
from kafpy._core.runtime cimport LetterKind, Runtime
from kafpy._core.state cimport InboxItem, Plane, Server, Slot
from kafpy._core.turn cimport Answer

cdef struct Held:                # a request that is with Python
    Slot* slot                   # NULL: this place is free
    Plane* plane
    int32_t size                 # of the request
    QuotaClient* client          # counted; NULL: its time is not metered
    Meter* meter
    double bound
    int64_t spent_ns             # by its plane
    uint32_t generation
    int32_t next_free

cdef class Planes:
    cdef Server* c
    cdef readonly Runtime runtime
    cdef Held* held              # by token; only touched with the GIL
    cdef int32_t held_room
    cdef int32_t held_free
    cdef bint running
    cdef Beats beats             # only touched with the GIL
    cdef int64_t drained
    cdef int64_t hold(self, InboxItem* item) except -1
    cdef post(self, int64_t token, Answer* answer)
    cdef tell(self, LetterKind kind)
    cdef Held* find(self, int64_t token) except NULL
    cdef Slot* let_go(self, int64_t token, Plane** plane, Answer* answer) except NULL
