# The open batches of a topic's partitions, for modules that pack records of other shapes. A Packer belongs to one thread
# at a time; what a Row points to is its caller's.
from libc.stdint cimport int32_t, int64_t, uint64_t

from kafpy._core.growing cimport Out
from kafpy._core.records cimport Slice

cdef enum:
    ANY = -1

    WANTS_MORE = 0
    FULL = 1
    NO_SUCH_PARTITION = 22
    NO_MEMORY = 23


cdef struct Open:  # a partition's batch while it fills
    Out out
    int64_t base_timestamp
    int64_t max_timestamp
    int32_t count


cdef struct Row:
    Slice key
    Slice value
    int64_t timestamp
    int32_t partition  # ANY: by key, else sticky
    int64_t header_count
    Slice headers  # as they stand in a record


cdef class Packer:
    cdef Open* open
    cdef int32_t* available
    cdef int32_t available_count
    cdef readonly int32_t partitions
    cdef readonly int64_t batch_bytes
    cdef readonly int64_t held
    cdef readonly int64_t lines
    cdef int32_t sticky
    cdef bint crc_keys
    cdef uint64_t random
    cdef Out scratch  # of the headers of one row
    cdef list full

    cdef void move_on(self) noexcept nogil

    # May be no partition at all where the row names one.
    cdef int32_t partition_of(self, const Row* row) noexcept nogil

    # WANTS_MORE: packed. FULL: the batch of `partition` has to be closed first. NO_MEMORY: all is as it was.
    cdef int pack(self, const Row* row, int32_t partition) noexcept nogil

    cdef int close(self, int32_t partition) except -1
    cdef int put(self, const Row* row) except -1
