# A ProducerTable belongs to its log and is guarded by the log's mutex.
from libc.stdint cimport int16_t, int32_t, int64_t
from kafpy._core.batch cimport BatchInfo

cdef enum: BATCH_WINDOW = 5        # Kafka's ProducerStateEntry.NUM_BATCHES_TO_RETAIN

cdef struct SequencedBatch:
    int32_t first_sequence
    int32_t last_sequence
    int64_t base_offset

cdef struct Producer:
    int64_t id
    int64_t last_timestamp
    int16_t epoch
    int16_t count                  # batches in the window
    int16_t newest                 # where the newest stands in the window
    SequencedBatch window[BATCH_WINDOW]

cdef struct ProducerTable:
    Producer* slots                # open addressing; id -1 is free
    int32_t room                   # a power of two, or 0
    int32_t used

cdef void producers_free(ProducerTable* table) noexcept nogil
cdef void producers_clear(ProducerTable* table) noexcept nogil
# 0: append it. 45, 47: refuse it. DUPLICATE: already there, at duplicate_offset.
cdef enum: DUPLICATE = 46
cdef int16_t producers_check(ProducerTable* table, const BatchInfo* info, int64_t* duplicate_offset) noexcept nogil
cdef bint producers_replay(ProducerTable* table, int fd, int64_t size, int64_t from_offset, int64_t expiry_ms) noexcept nogil
cdef bint producers_note(ProducerTable* table, const BatchInfo* info, int64_t base_offset, int64_t now_ms, int64_t expiry_ms) noexcept nogil
