"""Faults that somebody asked for: requests that are answered with errors, replies that come late.

Kept out of the way: while nothing is asked for, a request costs one look at `active`, which nobody writes.
"""

from libc.stdint cimport int16_t, int32_t, int64_t
from libc.stdlib cimport free, malloc
from kafpy._core.atomic cimport atomic_set32
from kafpy._core.posix cimport *


cdef void faults_init(Faults* faults) noexcept nogil:
    pthread_mutex_init(&faults.lock, NULL)


cdef void faults_close(Faults* faults) noexcept nogil:
    faults_forget(faults, -1)
    pthread_mutex_destroy(&faults.lock)


cdef bint faults_add(Faults* faults, int16_t api_key, int16_t code) noexcept nogil:
    """One more request of that API gets this code, after those that were asked for before. False: no memory."""
    cdef FaultCode* made = <FaultCode*>malloc(sizeof(FaultCode))
    if made == NULL:
        return False
    made.next = NULL
    made.api_key = api_key
    made.code = code
    pthread_mutex_lock(&faults.lock)
    if faults.first == NULL:
        faults.first = made
    else:
        faults.last.next = made
    faults.last = made
    atomic_set32(&faults.active, 1)
    pthread_mutex_unlock(&faults.lock)
    return True


cdef void faults_forget(Faults* faults, int16_t api_key) noexcept nogil:
    """What is left of that API's; -1: of all."""
    cdef FaultCode* each
    cdef FaultCode* before = NULL
    cdef FaultCode* after
    pthread_mutex_lock(&faults.lock)
    each = faults.first
    while each != NULL:
        after = each.next
        if api_key == -1 or each.api_key == api_key:
            take_out(faults, before, each)
        else:
            before = each
        each = after
    pthread_mutex_unlock(&faults.lock)


cdef int16_t fault_of(Faults* faults, int16_t api_key) noexcept nogil:
    """What this request is to be answered with; 0: as usual."""
    cdef FaultCode* before = NULL
    cdef FaultCode* each
    cdef int16_t code = 0
    pthread_mutex_lock(&faults.lock)
    each = faults.first
    while each != NULL and each.api_key != api_key:
        before = each
        each = each.next
    if each != NULL:
        code = each.code
        take_out(faults, before, each)
    pthread_mutex_unlock(&faults.lock)
    return code


cdef void take_out(Faults* faults, FaultCode* before, FaultCode* each) noexcept nogil:
    if before == NULL:
        faults.first = each.next
    else:
        before.next = each.next
    if faults.last == each:
        faults.last = before
    free(each)
    if faults.first == NULL:
        atomic_set32(&faults.active, 0)
