"""High watermarks that Python waits for: waiters of logs whose letters come to a mailbox that the loop reads.

A Commits belongs to one thread, the loop's; other threads only post to its mailbox.
"""

cimport cython

from libc.stdint cimport int16_t, int64_t, uintptr_t
from libc.stdlib cimport calloc, free
from kafpy._core.append cimport log_outcome, log_wait, waiter_drop
from kafpy._core.atomic cimport atomic_set32
from kafpy._core.log cimport Log
from kafpy._core.partition cimport WAITS_FOR_OFFSET, Waiter
from kafpy._core.posix cimport getpid
from kafpy._core.runtime cimport (
    LETTER_WAITER, Letter, Mailbox, Runtime, mailbox_close, mailbox_deafen, mailbox_init, mailbox_take
)


@cython.no_gc            # its runtime must be there when it is freed
cdef class Commits:
    cdef Mailbox box
    cdef readonly Runtime runtime
    cdef dict waiting            # a Waiter's address: what the caller knows it by

    def __cinit__(self, Runtime runtime not None):
        self.runtime = runtime
        self.waiting = {}
        mailbox_init(&self.box)
        if self.box.event_fd < 0:
            raise OSError("cannot set up a mailbox")

    @property
    def fd(self):
        return self.box.event_fd

    def wait(self, Log log not None, int64_t offset, tag):
        cdef Waiter* waiter
        cdef bint registered
        cdef int16_t outcome
        with nogil:
            outcome = log_outcome(log.c, offset)
        if outcome >= 0:
            return outcome
        waiter = <Waiter*>calloc(1, sizeof(Waiter))
        if waiter == NULL:
            raise MemoryError
        waiter.letter.kind = LETTER_WAITER
        waiter.owner = <void*>waiter
        with nogil:
            registered = log_wait(log.c, waiter, &self.box, WAITS_FOR_OFFSET, offset)
        if registered:
            self.waiting[<uintptr_t>waiter] = tag
            return None
        free(waiter)
        with nogil:
            outcome = log_outcome(log.c, offset)
        return outcome

    def take(self):
        cdef Letter* letter
        cdef Letter* after
        cdef Waiter* waiter
        cdef int16_t outcome
        cdef list found = []
        letter = mailbox_take(&self.box)
        while letter != NULL:
            after = letter.next
            waiter = <Waiter*>letter
            letter = after
            atomic_set32(&waiter.queued, 0)
            if waiter.owner == NULL:         # told again while it was being dropped
                free(waiter)
                continue
            outcome = log_outcome(waiter.log, waiter.offset)
            if outcome >= 0:
                found.append((self.waiting.pop(<uintptr_t>waiter), outcome))
                waiter_drop(waiter)
        return found

    def close(self):
        """Whoever still waits is forgotten."""
        cdef Letter* letter
        cdef Letter* after
        cdef uintptr_t address
        if self.runtime.c.owner != getpid():
            return
        for address in self.waiting:
            waiter_drop(<Waiter*>address)
        self.waiting.clear()
        letter = mailbox_take(&self.box)      # of those that were dropped with a letter under way
        while letter != NULL:
            after = letter.next
            free(letter)
            letter = after
        mailbox_deafen(&self.box)

    def __dealloc__(self):
        self.close()
        mailbox_close(&self.box)
