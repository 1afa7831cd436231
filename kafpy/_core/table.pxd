# Written by Python under `lock`; read by planes without one. A plane announces the epoch it reads in and says 0 when it
# holds no pointer; a writer unlinks, moves the epoch on, waits for readers of an older one, then frees.
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from kafpy._core.partition cimport CLog
from kafpy._core.posix cimport pthread_mutex_t

cdef enum: MAX_READERS = 64

cdef struct Topic:
    uint8_t id[16]
    int16_t name_size
    char name[250]
    bint internal                # clients do not produce to it
    int32_t partitions
    CLog** logs                  # counted; NULL where this broker has none

cdef struct Buckets:
    int64_t room                 # a power of two
    int64_t used                 # with removed ones
    void** slots                 # Topic*; NULL: free, REMOVED: passed over

cdef struct Table:
    pthread_mutex_t lock
    void* by_name                # Buckets*
    void* by_id
    int64_t epoch
    int64_t* readers[MAX_READERS]
    int32_t reader_count

cdef bint table_init(Table* table) noexcept nogil
cdef void table_close(Table* table) noexcept nogil
cdef void table_enter(Table* table, int64_t* reader) noexcept nogil
cdef void table_leave(int64_t* reader) noexcept nogil
cdef Topic* table_by_name(Table* table, const char* name, int32_t size) noexcept nogil
cdef Topic* table_by_id(Table* table, const uint8_t* id) noexcept nogil
cdef bint table_publish(Table* table, Topic* topic) noexcept nogil
cdef bint table_withdraw(Table* table, const char* name, int32_t size) noexcept nogil
cdef void wait_for_readers(Table* table) noexcept nogil     # under `lock`
cdef void topic_free(Topic* topic) noexcept nogil
