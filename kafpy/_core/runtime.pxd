# Ownership: a Mailbox's list is guarded by its lock; Letters and Jobs are embedded in what they speak of and belong to
# whoever holds them (poster, then mailbox or pool, then reader).
from libc.stdint cimport int32_t, int64_t
from kafpy._core.posix cimport pthread_cond_t, pthread_mutex_t, pthread_t

cdef enum LetterKind:
    LETTER_WAITER      # a partition of a waiting fetch has news, or an append's high watermark came (log.Waiter)
    LETTER_LOCATED     # a helper found and warmed a slice (fetch.Search)
    LETTER_REPLY       # Python answers (plane.Answer)
    LETTER_ADOPT       # a new connection for this plane (plane.Arrival)
    LETTER_DROP        # close every connection
    LETTER_LISTEN      # accept, or no longer: Faults.refusing tells
    LETTER_WAKE        # look at the clock, the stop flag, the table

cdef struct Letter:
    Letter* next
    LetterKind kind

cdef struct Mailbox:
    pthread_mutex_t lock
    Letter* head
    Letter* tail
    int event_fd

cdef void mailbox_init(Mailbox* box) noexcept nogil
cdef void mailbox_close(Mailbox* box) noexcept nogil
cdef void mailbox_deafen(Mailbox* box) noexcept nogil
cdef void mailbox_post(Mailbox* box, Letter* letter) noexcept nogil
cdef Letter* mailbox_take(Mailbox* box) noexcept nogil    # the whole list, oldest first

cdef struct Job:
    Job* next
    void (*run)(Job* job) noexcept nogil

cdef struct Clock:
    int64_t shift_ns     # atomic: what advance() has added

cdef int64_t clock_wall_ms(Clock* clock) noexcept nogil
cdef int64_t clock_monotonic_ns(Clock* clock) noexcept nogil
cdef int64_t real_monotonic_ns() noexcept nogil

cdef enum: MAX_HELPERS = 16

cdef struct CRuntime:
    Clock clock
    pthread_mutex_t lock
    pthread_cond_t work
    pthread_cond_t idle
    Job* head
    Job* tail
    int busy
    int stopping
    int helpers
    int failures_fd           # eventfd: a log went offline
    int owner                 # process that has the threads: a fork's child has none and leaves everything alone
    pthread_t threads[MAX_HELPERS]
    int64_t index_bytes       # atomic: sealed segments' indexes held in memory

cdef void runtime_alarm(CRuntime* runtime) noexcept nogil     # something is to be said: a log went offline or is damaged, a connection was refused
cdef bint runtime_submit(CRuntime* runtime, Job* job) noexcept nogil    # False: it is closed, nobody will run the job
cdef void runtime_settle(CRuntime* runtime) noexcept nogil
cdef int thread_start(pthread_t* thread, void* (*main)(void*) noexcept nogil, void* arg, const char* name) noexcept nogil

cdef class Runtime:
    cdef CRuntime* c
