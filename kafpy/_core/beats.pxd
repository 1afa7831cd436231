from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kafpy._core.reader cimport Reader
from kafpy._core.runtime cimport Runtime

cdef class Beats:
    cdef Runtime runtime
    cdef dict known              # by what a request is known by: Beat
    cdef dict committers         # the same for commits: Committer
    cdef Beat remember(self, bytes frame, bytes payload)
    cdef Beat find(self, const uint8_t* frame, int32_t size)    # None: Python has to be asked
    cdef KnownCommit read_commit(self, const uint8_t* frame, int32_t size)

cdef class Beat:
    cdef Beats beats
    cdef bytes key
    cdef bytes reply             # a response without its correlation id
    cdef int64_t heard_ns        # of the broker's clock
    cdef Committer commits       # None: its member's commits are not known
    cdef bint is_known(self)
    cdef bytes answer(self, const uint8_t* correlation_id)

cdef class Committer:
    cdef Beat beat
    cdef bytes key
    cdef str group_id
    cdef bytes group
    cdef dict topics             # by name, by id since version 10: (what Python asks its image for, the name's bytes)

cdef class KnownCommit:
    cdef Committer committer
    cdef int16_t version
    cdef readonly list records
    cdef readonly list topics
    cdef readonly bytes payload
    cdef bint read(self, const uint8_t* frame, int32_t head, int32_t size)
    cdef uint8_t* read_topic(self, Reader* r, bint flexible, uint8_t* out)
    cdef bint read_partition(self, Reader* r, bint flexible, bytes prefix, int32_t partition, const uint8_t* topic_id)
