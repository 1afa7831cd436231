"""Connections by the address they come from: how many there are, how fast new ones come, and what is too much.

An address that opens connections too fast is answered as in Kafka (ConnectionQuotas, KIP-612): the connection is kept
unread for the time its rate needs to come down, at most a window, and then closed. It does not count as one.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp
from kafpy._core.bytes cimport hash_bytes
from kafpy._core.meter cimport meter_add, meter_delay, meter_init, meter_quiet
from kafpy._core.posix cimport pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock

cdef enum: SWEEP_FROM = 4096


cdef uint64_t bucket_of(const Host* host) noexcept nogil:
    return hash_bytes(host.bytes, 16) % ADDRESS_BUCKETS


cdef bint same_host(const Host* one, const Host* other) noexcept nogil:
    return one.six == other.six and memcmp(one.bytes, other.bytes, 16) == 0


cdef void addresses_init(Addresses* addresses, int32_t windows, int64_t window_ms) noexcept nogil:
    pthread_mutex_init(&addresses.lock, NULL)
    addresses.windows = Windows(windows, window_ms)
    addresses.most = NO_LIMIT
    addresses.sweep_at = SWEEP_FROM


cdef void addresses_close(Addresses* addresses) noexcept nogil:
    cdef HostEntry* entry
    cdef int i
    addresses_limit(addresses, NO_LIMIT, 0, NULL)
    for i in range(ADDRESS_BUCKETS):
        while addresses.entries[i] != NULL:
            entry = addresses.entries[i]
            addresses.entries[i] = entry.next
            free(entry)
    pthread_mutex_destroy(&addresses.lock)


cdef void addresses_limit(Addresses* addresses, int32_t most, double rate, HostLimit* named) noexcept nogil:
    """From now on, in place of what was said before. Takes `named`, a list, over."""
    cdef HostLimit* limit
    cdef uint64_t bucket
    cdef int i
    pthread_mutex_lock(&addresses.lock)
    for i in range(ADDRESS_BUCKETS):
        while addresses.limits[i] != NULL:
            limit = addresses.limits[i]
            addresses.limits[i] = limit.next
            free(limit)
    addresses.most = most
    addresses.rate = rate
    while named != NULL:
        limit = named
        named = limit.next
        bucket = bucket_of(&limit.host)
        limit.next = addresses.limits[bucket]
        addresses.limits[bucket] = limit
    pthread_mutex_unlock(&addresses.lock)


cdef void sweep(Addresses* addresses, int64_t now_ms) noexcept nogil:
    """Forget addresses without connections that were quiet for all windows."""
    cdef HostEntry** at
    cdef HostEntry* entry
    cdef int i
    for i in range(ADDRESS_BUCKETS):
        at = &addresses.entries[i]
        while at[0] != NULL:
            entry = at[0]
            if entry.connections == 0 and meter_quiet(&entry.rate, &addresses.windows, now_ms):
                at[0] = entry.next
                addresses.entry_count -= 1
                free(entry)
            else:
                at = &entry.next
    addresses.sweep_at = max(<int32_t>SWEEP_FROM, addresses.entry_count * 2)


cdef HostEntry* entry_of(Addresses* addresses, const Host* host, bint make) noexcept nogil:
    cdef HostEntry** bucket = &addresses.entries[bucket_of(host)]
    cdef HostEntry* entry = bucket[0]
    while entry != NULL and not same_host(&entry.host, host):
        entry = entry.next
    if entry == NULL and make:
        entry = <HostEntry*>calloc(1, sizeof(HostEntry) + addresses.windows.count * sizeof(Sample))
        if entry != NULL:
            entry.host = host[0]
            meter_init(&entry.rate, <Sample*>(entry + 1))
            entry.next = bucket[0]
            bucket[0] = entry
            addresses.entry_count += 1
    return entry


cdef bint address_enter(Addresses* addresses, const Host* host, int64_t now_ms, int64_t* delay_ms) noexcept nogil:
    """A new connection. False: its address has too many. `delay_ms` above 0: it comes too fast, and is not counted."""
    cdef HostLimit* limit
    cdef HostEntry* entry
    cdef int32_t most
    cdef double rate
    cdef bint welcome = True
    delay_ms[0] = 0
    pthread_mutex_lock(&addresses.lock)
    limit = addresses.limits[bucket_of(host)]
    while limit != NULL and not same_host(&limit.host, host):
        limit = limit.next
    most = addresses.most if limit == NULL or limit.most < 0 else limit.most
    rate = addresses.rate if limit == NULL or limit.rate == 0 else limit.rate
    if addresses.entry_count >= addresses.sweep_at:
        sweep(addresses, now_ms)
    entry = entry_of(addresses, host, True)
    if entry != NULL:
        if rate > 0:
            delay_ms[0] = min(meter_delay(&entry.rate, &addresses.windows, now_ms, rate, 1), addresses.windows.size_ms)
            if delay_ms[0] == 0:
                meter_add(&entry.rate, &addresses.windows, now_ms, 1)
        if delay_ms[0] == 0:
            welcome = entry.connections < most
            entry.connections += welcome
    pthread_mutex_unlock(&addresses.lock)
    return welcome


cdef void address_leave(Addresses* addresses, const Host* host) noexcept nogil:
    cdef HostEntry* entry
    pthread_mutex_lock(&addresses.lock)
    entry = entry_of(addresses, host, False)
    if entry != NULL:
        entry.connections -= 1
    pthread_mutex_unlock(&addresses.lock)
