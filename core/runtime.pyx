"""The ground the core stands on: the broker's clock, helper threads for whatever may block on a disk, and mailboxes between threads.

Helpers run Jobs one after the other and never take the GIL. Threads started here block every signal, so that signals reach Python's main thread.
"""

from libc.stdlib cimport calloc, free
from libc.stdint cimport int64_t, uint64_t
from kafpy._core.atomic cimport atomic_add64, atomic_get64
from kafpy._core.posix cimport *


cdef int64_t read_clock(int which) noexcept nogil:
    cdef timespec t
    clock_gettime(which, &t)
    return <int64_t>t.tv_sec * 1000000000 + t.tv_nsec


cdef int64_t clock_wall_ms(Clock* clock) noexcept nogil:
    return (read_clock(CLOCK_REALTIME) + atomic_get64(&clock.shift_ns)) // 1000000


cdef int64_t clock_monotonic_ns(Clock* clock) noexcept nogil:
    return read_clock(CLOCK_MONOTONIC) + atomic_get64(&clock.shift_ns)


cdef int64_t real_monotonic_ns() noexcept nogil:
    return read_clock(CLOCK_MONOTONIC)


cdef void mailbox_init(Mailbox* box) noexcept nogil:
    pthread_mutex_init(&box.lock, NULL)
    box.head = box.tail = NULL
    box.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)


cdef void mailbox_deafen(Mailbox* box) noexcept nogil:
    """Give the descriptor back: nobody waits for letters any more. They may still be posted and taken."""
    if box.event_fd >= 0:
        close(box.event_fd)
    box.event_fd = -1


cdef void mailbox_close(Mailbox* box) noexcept nogil:
    mailbox_deafen(box)
    pthread_mutex_destroy(&box.lock)


cdef void mailbox_post(Mailbox* box, Letter* letter) noexcept nogil:
    cdef uint64_t one = 1
    cdef bint was_empty
    letter.next = NULL
    pthread_mutex_lock(&box.lock)
    was_empty = box.head == NULL
    if was_empty:
        box.head = letter
    else:
        box.tail.next = letter
    box.tail = letter
    pthread_mutex_unlock(&box.lock)
    if was_empty:
        write(box.event_fd, &one, 8)


cdef Letter* mailbox_take(Mailbox* box) noexcept nogil:
    cdef Letter* first
    cdef uint64_t count
    read(box.event_fd, &count, 8)
    pthread_mutex_lock(&box.lock)
    first = box.head
    box.head = box.tail = NULL
    pthread_mutex_unlock(&box.lock)
    return first


cdef int thread_start(pthread_t* thread, void* (*main)(void*) noexcept nogil, void* arg, const char* name) noexcept nogil:
    cdef sigset_t every, before
    cdef int failed
    sigfillset(&every)
    pthread_sigmask(SIG_SETMASK, &every, &before)
    failed = pthread_create(thread, NULL, main, arg)
    pthread_sigmask(SIG_SETMASK, &before, NULL)
    if not failed:
        pthread_setname_np(thread[0], name)
    return failed


cdef bint runtime_submit(CRuntime* runtime, Job* job) noexcept nogil:
    job.next = NULL
    pthread_mutex_lock(&runtime.lock)
    if runtime.stopping:
        pthread_mutex_unlock(&runtime.lock)
        return False
    if runtime.head == NULL:
        runtime.head = job
    else:
        runtime.tail.next = job
    runtime.tail = job
    pthread_cond_signal(&runtime.work)
    pthread_mutex_unlock(&runtime.lock)
    return True


cdef void runtime_alarm(CRuntime* runtime) noexcept nogil:
    cdef uint64_t one = 1
    write(runtime.failures_fd, &one, 8)


cdef void close_alarm(CRuntime* runtime) noexcept nogil:
    if runtime.failures_fd >= 0:
        close(runtime.failures_fd)
    runtime.failures_fd = -1


cdef void runtime_settle(CRuntime* runtime) noexcept nogil:
    """Wait until the helpers have nothing left to do."""
    pthread_mutex_lock(&runtime.lock)
    while runtime.busy or runtime.head != NULL:
        pthread_cond_wait(&runtime.idle, &runtime.lock)
    pthread_mutex_unlock(&runtime.lock)


cdef void* helper_main(void* arg) noexcept nogil:
    cdef CRuntime* runtime = <CRuntime*>arg
    cdef Job* job
    pthread_mutex_lock(&runtime.lock)
    while True:
        while runtime.head == NULL and not runtime.stopping:
            pthread_cond_wait(&runtime.work, &runtime.lock)
        if runtime.head == NULL:
            break
        job = runtime.head
        runtime.head = job.next
        runtime.busy += 1
        pthread_mutex_unlock(&runtime.lock)
        job.run(job)
        pthread_mutex_lock(&runtime.lock)
        runtime.busy -= 1
        if runtime.busy == 0 and runtime.head == NULL:
            pthread_cond_broadcast(&runtime.idle)
    pthread_mutex_unlock(&runtime.lock)
    return NULL


cdef class Runtime:
    def __cinit__(self, int helpers=2):
        cdef int i
        if not 1 <= helpers <= MAX_HELPERS:
            raise ValueError(f"helpers must be between 1 and {MAX_HELPERS}")
        self.c = <CRuntime*>calloc(1, sizeof(CRuntime))
        if self.c == NULL:
            raise MemoryError
        self.c.owner = getpid()
        self.c.failures_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
        pthread_mutex_init(&self.c.lock, NULL)
        pthread_cond_init(&self.c.work, NULL)
        pthread_cond_init(&self.c.idle, NULL)
        for i in range(helpers):
            if thread_start(&self.c.threads[i], helper_main, self.c, b"kafpy-helper"):
                raise OSError("cannot start a helper thread")
            self.c.helpers += 1

    @property
    def failures_fd(self):
        return self.c.failures_fd

    def wall_ms(self):
        return clock_wall_ms(&self.c.clock)

    def monotonic_ns(self):
        return clock_monotonic_ns(&self.c.clock)

    def advance(self, int64_t ms):
        if ms < 0:
            raise ValueError("a clock only moves forward")
        atomic_add64(&self.c.clock.shift_ns, ms * 1000000)

    def settle(self):
        if self.c.owner == getpid():
            with nogil:
                runtime_settle(self.c)

    def close(self):
        cdef int i
        if self.c.owner != getpid():
            return
        with nogil:
            pthread_mutex_lock(&self.c.lock)
            self.c.stopping = 1
            pthread_cond_broadcast(&self.c.work)
            pthread_mutex_unlock(&self.c.lock)
            for i in range(self.c.helpers):
                pthread_join(self.c.threads[i], NULL)
            self.c.helpers = 0
            close_alarm(self.c)

    def __dealloc__(self):
        # After a fork the child has none of these threads; joining them would hang. close() is the owner's duty.
        if self.c != NULL and self.c.helpers == 0:
            pthread_mutex_destroy(&self.c.lock)
            pthread_cond_destroy(&self.c.work)
            pthread_cond_destroy(&self.c.idle)
            close_alarm(self.c)
            free(self.c)
