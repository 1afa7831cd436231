# Everything under `lock`: planes when they accept and close, Python when limits change.
from libc.stdint cimport int32_t, int64_t, uint8_t
from kafpy._core.meter cimport Meter, Sample, Windows
from kafpy._core.posix cimport pthread_mutex_t

cdef enum: ADDRESS_BUCKETS = 1024
cdef enum: NO_LIMIT = 0x7FFFFFFF

cdef struct Host:                # an IPv4 address is the same however it came in
    bint six
    uint8_t bytes[16]

cdef struct HostLimit:
    HostLimit* next
    Host host
    int32_t most                 # connections; -1: as everyone
    double rate                  # new connections per second; 0: as everyone

cdef struct HostEntry:
    HostEntry* next
    Host host
    int32_t connections
    Meter rate

cdef struct Addresses:
    pthread_mutex_t lock
    Windows windows
    int32_t most                 # of any address
    double rate                  # 0: no limit
    HostLimit* limits[ADDRESS_BUCKETS]
    HostEntry* entries[ADDRESS_BUCKETS]
    int32_t entry_count
    int32_t sweep_at             # so many entries make it look for those to forget

cdef void addresses_init(Addresses* addresses, int32_t windows, int64_t window_ms) noexcept nogil
cdef void addresses_close(Addresses* addresses) noexcept nogil
cdef void addresses_limit(Addresses* addresses, int32_t most, double rate, HostLimit* named) noexcept nogil
cdef bint address_enter(Addresses* addresses, const Host* host, int64_t now_ms, int64_t* delay_ms) noexcept nogil
cdef void address_leave(Addresses* addresses, const Host* host) noexcept nogil
