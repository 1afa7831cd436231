"""A plane's deadlines in a binary heap. A timer stands in what it belongs to and knows its place, so it can be taken out."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport realloc
from kafpy._core.state cimport Plane, Timer


cdef void place(Plane* plane, Timer* timer, int32_t at) noexcept nogil:
    plane.timers[at] = timer
    timer.at = at


cdef void rise(Plane* plane, Timer* timer, int32_t at) noexcept nogil:
    cdef int32_t above
    while at > 0:
        above = (at - 1) >> 1
        if plane.timers[above].deadline_ns <= timer.deadline_ns:
            break
        place(plane, plane.timers[above], at)
        at = above
    place(plane, timer, at)


cdef void sink(Plane* plane, Timer* timer, int32_t at) noexcept nogil:
    cdef int32_t below
    while True:
        below = 2 * at + 1
        if below >= plane.timer_count:
            break
        if below + 1 < plane.timer_count and plane.timers[below + 1].deadline_ns < plane.timers[below].deadline_ns:
            below += 1
        if timer.deadline_ns <= plane.timers[below].deadline_ns:
            break
        place(plane, plane.timers[below], at)
        at = below
    place(plane, timer, at)


cdef bint timer_set(Plane* plane, Timer* timer, int64_t deadline_ns) noexcept nogil:
    """The timer's `at` must be -1."""
    cdef Timer** grown
    cdef int32_t room
    if plane.timer_count == plane.timer_room:
        room = max(plane.timer_room * 2, 64)
        grown = <Timer**>realloc(plane.timers, room * sizeof(Timer*))
        if grown == NULL:
            return False
        plane.timers = grown
        plane.timer_room = room
    timer.deadline_ns = deadline_ns
    plane.timer_count += 1
    rise(plane, timer, plane.timer_count - 1)
    return True


cdef void timer_cancel(Plane* plane, Timer* timer) noexcept nogil:
    cdef int32_t at = timer.at
    cdef Timer* last
    if at < 0:
        return
    timer.at = -1
    plane.timer_count -= 1
    if at == plane.timer_count:
        return
    last = plane.timers[plane.timer_count]
    if at > 0 and plane.timers[(at - 1) >> 1].deadline_ns > last.deadline_ns:
        rise(plane, last, at)
    else:
        sink(plane, last, at)


cdef Timer* timer_due(Plane* plane) noexcept nogil:
    """Take out the first timer whose time has come; NULL when none has."""
    cdef Timer* timer
    if plane.timer_count == 0 or plane.timers[0].deadline_ns > plane.now_ns:
        return NULL
    timer = plane.timers[0]
    timer_cancel(plane, timer)
    return timer
