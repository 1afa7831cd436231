# A Log is shared by counted references: the table, waiters, turn groups, helper jobs, Python handles. `lock` guards every
# field below it. No thread holds two logs' locks. `disk` is held by whoever works on the log's files for long (helpers'
# jobs, flush, truncate, close), one at a time; it is taken before `lock`, and never by a plane.
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kafpy._core.batch cimport BatchInfo, BatchPolicy
from kafpy._core.posix cimport pthread_mutex_t
from kafpy._core.producers cimport ProducerTable
from kafpy._core.runtime cimport CRuntime, Job, Letter, Mailbox
from kafpy._core.segment cimport Segment, SegmentFile

cdef enum: RECENT = 64             # batches whose place is known without a look at any index

cdef enum: PACE_BYTES = 64 << 20   # written but left to the kernel; what is older is on its way to the disk

cdef struct Recent:
    int64_t base_offset
    int64_t last_offset
    int64_t position
    int32_t size

cdef enum WaiterKind:
    WAITS_FOR_DATA                 # a fetch: any advance of the high watermark
    WAITS_FOR_OFFSET               # an acks=all produce: the high watermark at `offset` or beyond

cdef struct Waiter:
    Letter letter                  # first member
    Waiter* next
    Waiter* previous
    CLog* log                       # counted; NULL when not registered
    Mailbox* mailbox
    WaiterKind kind
    int64_t offset
    int32_t queued                 # atomic: on its way to the plane
    void* owner                    # the plane's; NULL: nobody waits any more, free it when its letter comes

cdef struct Append:                # one batch on its way into a log
    Append* next
    uint8_t* data
    BatchInfo info
    int16_t error                  # in: anything but 0 is left alone. out: the result
    int64_t base_offset
    int64_t append_time            # -1: CreateTime
    int64_t log_start_offset
    int64_t end_offset             # high watermark that acks=all waits for
    int64_t position               # -1: not part of the write
    bint committed                 # the high watermark is there already

cdef struct LogSettings:           # fixed-width copies of topic settings
    int64_t segment_bytes
    int64_t segment_ms
    int64_t segment_jitter_ms      # up to this much of segment_ms is taken from it, for each segment another part
    int32_t index_interval_bytes
    int64_t segment_index_bytes
    int32_t max_message_bytes
    bint log_append_time
    int64_t before_max_ms
    int64_t after_max_ms
    int64_t flush_messages
    bint keys_required
    bint open_batches              # compressed batches are opened and checked, outside the plane
    int32_t target_codec           # what batches are recompressed to, outside the plane; -1: as the producer sent them
    int64_t producer_expiry_ms

cdef struct Slice:
    SegmentFile* file              # counted; NULL: nothing to send
    int64_t position
    int64_t size

cdef struct Position:              # what a fetch is told besides its slice
    int64_t high_watermark
    int64_t last_stable_offset
    int64_t log_start_offset
    int32_t leader_epoch

cdef enum Located:
    LOCATED
    OUT_OF_RANGE
    WOULD_BLOCK                    # ask again on a helper with may_block
    LOG_OFFLINE
    LOG_CLOSED
    LOG_DAMAGED                    # where the batch should be, there is none

cdef struct LogJob:                # a helper's work on a log; one of each kind is under way at most
    Job job                        # first member
    CLog* log                       # counted while submitted
    bint pending

cdef struct CLog:
    int32_t refs                   # atomic
    CRuntime* runtime
    char* directory
    pthread_mutex_t disk
    pthread_mutex_t lock
    LogSettings settings
    int32_t leader_epoch
    bint leader
    bint offline                   # a write, sync or rename failed; for good
    int failure                    # errno of that
    int64_t damaged_at             # the first offset that was asked for and found LOG_DAMAGED; -1: none
    bint closed
    int64_t log_start_offset
    int64_t log_end_offset
    int64_t high_watermark
    int64_t last_stable_offset
    bint dirty                     # has something that a clean stop must write
    int64_t recovery_point         # everything below is on the disk
    Segment** segments             # ascending; the last one is active
    int32_t segment_count
    int32_t segment_room
    int64_t lookups
    Recent* recent                 # ring, allocated by the first append
    int32_t recent_count
    int32_t recent_newest
    ProducerTable producers
    Waiter* waiters
    SegmentFile* next_file         # prepared for the roll, under the name "next"
    LogJob preparing               # next file, space ahead, pacing
    LogJob sealing                 # index files and sync after a roll
    LogJob flushing                # group commit
    int64_t release_offset         # log end offset when idle space was last looked at
    int64_t appends                # counters since it was opened
    int64_t records_in
    int64_t bytes_in
    int64_t reads                  # atomic, as the next one; by clients
    int64_t bytes_out

cdef extern from *:
    """
    /* KAFPY_NO_LOG_LOCK builds a core whose logs are not locked: the thread sanitizer must then complain (ci/tsan). */
    #ifdef KAFPY_NO_LOG_LOCK
    #define log_lock(m) ((void)(m))
    #define log_unlock(m) ((void)(m))
    #else
    #define log_lock(m) pthread_mutex_lock(m)
    #define log_unlock(m) pthread_mutex_unlock(m)
    #endif
    """
    void log_lock(pthread_mutex_t* m) noexcept nogil
    void log_unlock(pthread_mutex_t* m) noexcept nogil
