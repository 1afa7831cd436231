# Rules are written by Python and read by planes within a turn (table epochs, as topics are). Clients are found, counted and
# freed under `lock`; a connection and a request that is with Python each hold a count of theirs.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from kafpy._core.meter cimport Meter, Sample, Windows
from kafpy._core.posix cimport pthread_mutex_t
from kafpy._core.table cimport Table

cdef enum:
    QUOTA_PRODUCE                # bytes of requests
    QUOTA_FETCH                  # bytes of replies
    QUOTA_REQUEST                # per cent of a thread
    QUOTA_KINDS
cdef enum: QUOTA_BUCKETS = 4096
cdef enum: CLIENT_ID_KEPT = 128  # a longer client id is known by its beginning, size and hash

cdef struct ClientId:
    uint64_t hash
    int32_t size
    uint8_t text[CLIENT_ID_KEPT]

cdef struct QuotaRule:
    QuotaRule* next
    ClientId client
    double bound[QUOTA_KINDS]    # per second; 0: none
    bint shared[QUOTA_KINDS]     # all clients of the user together, not each of them

cdef struct QuotaRules:
    int64_t version              # never the same twice, never 0
    bint timed                   # some client has a request percentage
    QuotaRule others             # clients without a rule of their own
    QuotaRule* named[QUOTA_BUCKETS]

cdef struct QuotaClient:
    QuotaClient* next
    QuotaClient* newer           # of those that nobody holds
    QuotaClient* older
    int32_t held
    ClientId id
    Meter meter[QUOTA_KINDS]

cdef struct QuotaGrip:           # what binds one connection; all 0 while nothing does
    int64_t version              # of the rules it was made from
    QuotaClient* client          # counted
    double bound[QUOTA_KINDS]
    Meter* meter[QUOTA_KINDS]    # NULL: no bound

cdef struct Quotas:
    Windows windows
    void* rules                  # QuotaRules*, atomic; NULL: no quotas
    int64_t last_version
    pthread_mutex_t lock
    QuotaClient* clients[QUOTA_BUCKETS]
    QuotaClient* idle_oldest
    QuotaClient* idle_newest
    int32_t idle
    Meter shared[QUOTA_KINDS]
    Sample* shared_samples

cdef bint quotas_init(Quotas* quotas, int32_t windows, int64_t window_ms) noexcept nogil
cdef void quotas_close(Quotas* quotas) noexcept nogil
cdef bint rules_add(QuotaRules* rules, const uint8_t* client_id, int32_t size, const double* bound, const bint* shared) noexcept nogil
cdef void rules_publish(Quotas* quotas, Table* table, QuotaRules* rules) noexcept nogil
cdef void rules_free(QuotaRules* rules) noexcept nogil
cdef void grip_take(Quotas* quotas, QuotaGrip* grip, const uint8_t* frame, int32_t size) noexcept nogil
cdef void grip_drop(Quotas* quotas, QuotaGrip* grip) noexcept nogil
cdef QuotaClient* client_hold(Quotas* quotas, QuotaClient* client) noexcept nogil
cdef void client_drop(Quotas* quotas, QuotaClient* client) noexcept nogil
cdef int64_t charge_time(Quotas* quotas, Meter* meter, double bound, int64_t now_ms, int64_t spent_ns) noexcept nogil
