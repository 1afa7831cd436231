"""Client quotas: which bounds a connection's client id comes under, and the meters that say when it is above them.

Python resolves Kafka's precedence of users and client ids into one rule per client id that has one, and one for all others; a
plane looks a connection's rule up when its client id or the rules change. Meters outlive connections, so that reconnecting
wins nothing; those that nobody holds are kept until IDLE_KEPT others came after them.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset
from kafpy._core.atomic cimport atomic_get_ptr, atomic_set_ptr
from kafpy._core.bytes cimport get16, hash_bytes
from kafpy._core.meter cimport meter_add, meter_delay, meter_init
from kafpy._core.posix cimport pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock
from kafpy._core.table cimport wait_for_readers

cdef enum: IDLE_KEPT = 16384


cdef void client_id_set(ClientId* id, const uint8_t* text, int32_t size) noexcept nogil:
    id.hash = hash_bytes(text, size)
    id.size = size
    memcpy(id.text, text, min(size, <int32_t>CLIENT_ID_KEPT))


cdef bint same_client(const ClientId* one, const ClientId* other) noexcept nogil:
    return one.hash == other.hash and one.size == other.size \
        and memcmp(one.text, other.text, min(one.size, <int32_t>CLIENT_ID_KEPT)) == 0


cdef bint quotas_init(Quotas* quotas, int32_t windows, int64_t window_ms) noexcept nogil:
    cdef int i
    quotas.windows = Windows(windows, window_ms)
    pthread_mutex_init(&quotas.lock, NULL)
    quotas.shared_samples = <Sample*>calloc(QUOTA_KINDS * windows, sizeof(Sample))
    if quotas.shared_samples == NULL:
        return False
    for i in range(QUOTA_KINDS):
        meter_init(&quotas.shared[i], quotas.shared_samples + i * windows)
    return True


cdef void quotas_close(Quotas* quotas) noexcept nogil:
    """When no plane and no request is left."""
    cdef QuotaClient* client
    cdef int i
    for i in range(QUOTA_BUCKETS):
        while quotas.clients[i] != NULL:
            client = quotas.clients[i]
            quotas.clients[i] = client.next
            free(client)
    rules_free(<QuotaRules*>quotas.rules)
    free(quotas.shared_samples)
    pthread_mutex_destroy(&quotas.lock)


# ---- rules

cdef bint rules_add(QuotaRules* rules, const uint8_t* client_id, int32_t size, const double* bound, const bint* shared) noexcept nogil:
    """`client_id` NULL: for clients that no other rule names."""
    cdef QuotaRule* rule = &rules.others
    cdef QuotaRule** bucket
    if client_id != NULL:
        rule = <QuotaRule*>calloc(1, sizeof(QuotaRule))
        if rule == NULL:
            return False
        client_id_set(&rule.client, client_id, size)
        bucket = &rules.named[rule.client.hash % QUOTA_BUCKETS]
        rule.next = bucket[0]
        bucket[0] = rule
    memcpy(rule.bound, bound, sizeof(rule.bound))
    memcpy(rule.shared, shared, sizeof(rule.shared))
    rules.timed = rules.timed or bound[QUOTA_REQUEST] > 0
    return True


cdef void rules_free(QuotaRules* rules) noexcept nogil:
    cdef QuotaRule* rule
    cdef int i
    if rules == NULL:
        return
    for i in range(QUOTA_BUCKETS):
        while rules.named[i] != NULL:
            rule = rules.named[i]
            rules.named[i] = rule.next
            free(rule)
    free(rules)


cdef void rules_publish(Quotas* quotas, Table* table, QuotaRules* rules) noexcept nogil:
    """In place of those before; NULL: no quotas. One caller at a time."""
    cdef QuotaRules* old = <QuotaRules*>quotas.rules
    if rules != NULL:
        quotas.last_version += 1
        rules.version = quotas.last_version
    atomic_set_ptr(&quotas.rules, rules)
    if old != NULL:
        pthread_mutex_lock(&table.lock)
        wait_for_readers(table)
        pthread_mutex_unlock(&table.lock)
        rules_free(old)


cdef const QuotaRule* rule_for(const QuotaRules* rules, const ClientId* id) noexcept nogil:
    cdef const QuotaRule* rule = rules.named[id.hash % QUOTA_BUCKETS]
    while rule != NULL and not same_client(&rule.client, id):
        rule = rule.next
    return &rules.others if rule == NULL else rule


# ---- clients

cdef void idle_unlink(Quotas* quotas, QuotaClient* client) noexcept nogil:
    if client.older != NULL:
        client.older.newer = client.newer
    else:
        quotas.idle_oldest = client.newer
    if client.newer != NULL:
        client.newer.older = client.older
    else:
        quotas.idle_newest = client.older
    client.older = client.newer = NULL
    quotas.idle -= 1


cdef void forget(Quotas* quotas, QuotaClient* client) noexcept nogil:
    cdef QuotaClient** at = &quotas.clients[client.id.hash % QUOTA_BUCKETS]
    idle_unlink(quotas, client)
    while at[0] != client:
        at = &at[0].next
    at[0] = client.next
    free(client)


cdef QuotaClient* client_new(Quotas* quotas, const ClientId* id) noexcept nogil:
    cdef int32_t count = quotas.windows.count
    cdef QuotaClient* client = <QuotaClient*>calloc(1, sizeof(QuotaClient) + QUOTA_KINDS * count * sizeof(Sample))
    cdef QuotaClient** bucket = &quotas.clients[id.hash % QUOTA_BUCKETS]
    cdef Sample* samples = <Sample*>(client + 1)
    cdef int i
    if client == NULL:
        return NULL
    client.id = id[0]
    for i in range(QUOTA_KINDS):
        meter_init(&client.meter[i], samples + i * count)
    client.next = bucket[0]
    bucket[0] = client
    client.held = 1
    return client


cdef QuotaClient* client_find(Quotas* quotas, const ClientId* id) noexcept nogil:
    """Counted. NULL: no memory."""
    cdef QuotaClient* client
    pthread_mutex_lock(&quotas.lock)
    client = quotas.clients[id.hash % QUOTA_BUCKETS]
    while client != NULL and not same_client(&client.id, id):
        client = client.next
    if client == NULL:
        client = client_new(quotas, id)
    else:
        if client.held == 0:
            idle_unlink(quotas, client)
        client.held += 1
    pthread_mutex_unlock(&quotas.lock)
    return client


cdef QuotaClient* client_hold(Quotas* quotas, QuotaClient* client) noexcept nogil:
    pthread_mutex_lock(&quotas.lock)
    client.held += 1
    pthread_mutex_unlock(&quotas.lock)
    return client


cdef void client_drop(Quotas* quotas, QuotaClient* client) noexcept nogil:
    pthread_mutex_lock(&quotas.lock)
    client.held -= 1
    if client.held == 0:
        client.older = quotas.idle_newest
        if client.older != NULL:
            client.older.newer = client
        else:
            quotas.idle_oldest = client
        quotas.idle_newest = client
        quotas.idle += 1
        if quotas.idle > IDLE_KEPT:
            forget(quotas, quotas.idle_oldest)
    pthread_mutex_unlock(&quotas.lock)


# ---- connections

cdef void grip_drop(Quotas* quotas, QuotaGrip* grip) noexcept nogil:
    if grip.client != NULL:
        client_drop(quotas, grip.client)
    memset(grip, 0, sizeof(QuotaGrip))


cdef void grip_take(Quotas* quotas, QuotaGrip* grip, const uint8_t* frame, int32_t size) noexcept nogil:
    """Bind a connection by the client id in its request's header, a null one as "". Within a turn."""
    cdef QuotaRules* rules = <QuotaRules*>atomic_get_ptr(&quotas.rules)
    cdef const QuotaRule* rule
    cdef ClientId id
    cdef int32_t n = get16(frame + 8) if size >= 10 else 0
    cdef int i
    if rules == NULL:
        grip_drop(quotas, grip)
        return
    client_id_set(&id, frame + 10, n if n <= size - 10 else 0)      # 0xFFFF: null
    if grip.version == rules.version and same_client(&grip.client.id, &id):
        return
    grip_drop(quotas, grip)
    grip.client = client_find(quotas, &id)
    if grip.client == NULL:
        return
    grip.version = rules.version
    rule = rule_for(rules, &id)
    for i in range(QUOTA_KINDS):
        grip.bound[i] = rule.bound[i]
        if rule.bound[i] > 0:
            grip.meter[i] = &quotas.shared[i] if rule.shared[i] else &grip.client.meter[i]


cdef int64_t charge_time(Quotas* quotas, Meter* meter, double bound, int64_t now_ms, int64_t spent_ns) noexcept nogil:
    """Count time of a thread; milliseconds to be silent for, at most a window (ClientRequestQuotaManager)."""
    meter_add(meter, &quotas.windows, now_ms, spent_ns * 1e-7)
    return min(meter_delay(meter, &quotas.windows, now_ms, bound, 0), quotas.windows.size_ms)
