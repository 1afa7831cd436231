# A buffer that grows while it is written; whoever owns it frees its data.
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport realloc

cdef struct Out:
    uint8_t* data
    int64_t size
    int64_t room


# Room for `more` bytes behind what is there. False: there is no memory, and all is as it was.
cdef inline bint make_room(Out* out, int64_t more) noexcept nogil:
    cdef uint8_t* moved
    cdef int64_t wanted = out.size + more
    if wanted <= out.room:
        return True
    wanted = max(wanted, max(2 * out.room, <int64_t>4096))
    moved = <uint8_t*>realloc(out.data, <size_t>wanted)
    if moved == NULL:
        return False
    out.data = moved
    out.room = wanted
    return True
