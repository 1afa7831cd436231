# A Segment belongs to its log and is guarded by the log's mutex; a SegmentFile is shared by counted references.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from kafpy._core.batch cimport BatchInfo
from kafpy._core.index cimport SparseIndex
from kafpy._core.runtime cimport CRuntime, Job

cdef struct SegmentFile:
    Job job                    # the close, on a helper; first member
    int32_t refs               # atomic
    int fd
    CRuntime* runtime

cdef SegmentFile* file_open(CRuntime* runtime, const char* path, int flags) noexcept nogil
cdef SegmentFile* file_ref(SegmentFile* file) noexcept nogil
cdef void file_unref(SegmentFile* file) noexcept nogil

cdef struct Segment:
    int64_t base_offset
    int64_t end_offset         # one past the last offset
    int64_t size               # bytes of whole batches
    int64_t max_timestamp      # -1: none
    int64_t max_timestamp_offset
    int64_t first_timestamp    # of its first batch, for rolling by time; -1: empty
    int64_t bytes_since_index
    int64_t allocated          # space taken from the file system up to here
    int64_t paced              # write-back was started up to here
    int64_t written_from       # from here on this process wrote it, so it is likely to be in the page cache
    uint32_t luck              # random; its part of the log's jitter
    int64_t used               # look-up counter of its log, to drop the least used index
    bint sealed
    bint flushed               # sealed and on the disk
    SegmentFile* file          # NULL: not open yet
    SparseIndex* index         # NULL: not in memory

cdef Segment* segment_new(int64_t base_offset) noexcept nogil
cdef void segment_free(Segment* segment) noexcept nogil
cdef void segment_path(char* out, size_t room, const char* directory, int64_t base_offset, const char* suffix) noexcept nogil
cdef void segment_note(Segment* segment, const BatchInfo* info, int64_t base_offset, int64_t position, int32_t interval) noexcept nogil

ctypedef bint (*Visitor)(void* state, const BatchInfo* info, int64_t position, const uint8_t* data) noexcept nogil
cdef int64_t batches_visit(int fd, int64_t start, int64_t end, bint whole, Visitor visit, void* state) noexcept nogil
cdef int64_t segment_recover(Segment* segment, int64_t file_size, int32_t interval, int64_t before) noexcept nogil
cdef int64_t segment_repair(Segment* segment, int64_t file_size, int32_t interval, bint contiguous, int64_t next_base) noexcept nogil
cdef int64_t segment_load(Segment* segment, const char* directory, int64_t file_size, int32_t interval) noexcept nogil
cdef int segment_write_index(Segment* segment, const char* directory, bint sync) noexcept nogil
cdef void segment_seal(Segment* segment) noexcept nogil
cdef int64_t segment_last_timestamp(const char* directory, int64_t base_offset, int64_t* offset) noexcept nogil
