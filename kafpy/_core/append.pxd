from libc.stdint cimport int16_t, int64_t
from kafpy._core.batch cimport BatchPolicy
from kafpy._core.partition cimport Append, CLog, Waiter, WaiterKind
from kafpy._core.runtime cimport Letter, Mailbox
from kafpy._core.segment cimport Segment

cdef CLog* log_ref(CLog* log) noexcept nogil
cdef void log_unref(CLog* log) noexcept nogil
cdef bint log_policy(CLog* log, BatchPolicy* policy, int16_t attributes) noexcept nogil
cdef int16_t log_outcome(CLog* log, int64_t offset) noexcept nogil
cdef void log_append(CLog* log, Append* first, int64_t now_ms, Mailbox* own, Letter** news) noexcept nogil
cdef bint log_wait(CLog* log, Waiter* waiter, Mailbox* mailbox, WaiterKind kind, int64_t offset) noexcept nogil
cdef void log_forget(Waiter* waiter) noexcept nogil
cdef void waiter_drop(Waiter* waiter) noexcept nogil
cdef void log_announce(CLog* log) noexcept nogil
cdef bint roll_is_near(CLog* log, const Segment* active) noexcept nogil
cdef void go_offline(CLog* log) noexcept nogil                   # under the lock, right after the call that failed: errno says why
cdef void disk_failed(CLog* log) noexcept nogil                 # the same, unless it was for want of descriptors
cdef void log_fail(CLog* log, int error) noexcept nogil
cdef void seal_active(CLog* log) noexcept nogil
cdef bint roll(CLog* log) noexcept nogil                         # under the lock
cdef bint add_segment(CLog* log, Segment* segment) noexcept nogil
cdef void drop_segment(CLog* log, Segment* segment) noexcept nogil
