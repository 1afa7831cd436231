"""Which partition is which log: topic name or id to a native entry, for planes that may not ask Python.

Open addressing over pointers. Readers take no lock: table.pxd says how what they see stays alive.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp
from kafpy._core.append cimport log_unref
from kafpy._core.atomic cimport atomic_add64, atomic_fence, atomic_get64, atomic_get_ptr, atomic_set64, atomic_set_ptr
from kafpy._core.bytes cimport hash_bytes
from kafpy._core.posix cimport pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock, usleep

cdef void* REMOVED = <void*>1


cdef Buckets* buckets_new(int64_t room) noexcept nogil:
    cdef Buckets* made = <Buckets*>calloc(1, sizeof(Buckets))
    if made != NULL:
        made.room = room
        made.slots = <void**>calloc(room, sizeof(void*))
        if made.slots == NULL:
            free(made)
            return NULL
    return made


cdef void buckets_free(Buckets* buckets) noexcept nogil:
    free(buckets.slots)
    free(buckets)


cdef bint same(const Topic* topic, const uint8_t* key, int64_t size, bint by_id) noexcept nogil:
    if by_id:
        return memcmp(topic.id, key, 16) == 0
    return topic.name_size == size and memcmp(topic.name, key, size) == 0


cdef void** find(Buckets* buckets, const uint8_t* key, int64_t size, bint by_id) noexcept nogil:
    """The slot that holds the key; NULL when none does."""
    cdef int64_t at = <int64_t>(hash_bytes(key, size) & (buckets.room - 1))
    cdef void* seen
    while True:
        seen = atomic_get_ptr(&buckets.slots[at])
        if seen == NULL:
            return NULL
        if seen != REMOVED and same(<Topic*>seen, key, size, by_id):
            return &buckets.slots[at]
        at = (at + 1) & (buckets.room - 1)


cdef void insert(Buckets* buckets, Topic* topic, const uint8_t* key, int64_t size) noexcept nogil:
    cdef int64_t at = <int64_t>(hash_bytes(key, size) & (buckets.room - 1))
    while buckets.slots[at] != NULL:
        at = (at + 1) & (buckets.room - 1)
    buckets.used += 1
    atomic_set_ptr(&buckets.slots[at], topic)


cdef bint make_room(Table* table, void** where, bint by_id) noexcept nogil:
    """Keep a third of the slots free, so that every search ends."""
    cdef Buckets* old = <Buckets*>where[0]
    cdef Buckets* made
    cdef Topic* topic
    cdef int64_t i, living = 0
    if old.used * 3 < old.room * 2:
        return True
    for i in range(old.room):
        living += old.slots[i] != NULL and old.slots[i] != REMOVED
    made = buckets_new(old.room * 2 if living * 3 > old.room else old.room)
    if made == NULL:
        return False
    for i in range(old.room):
        topic = <Topic*>old.slots[i]
        if topic != NULL and <void*>topic != REMOVED:
            insert(made, topic, &topic.id[0] if by_id else <uint8_t*>&topic.name[0], 16 if by_id else topic.name_size)
    atomic_set_ptr(where, made)
    wait_for_readers(table)
    buckets_free(old)
    return True


cdef void wait_for_readers(Table* table) noexcept nogil:
    cdef int64_t now = atomic_add64(&table.epoch, 1), seen
    cdef int32_t i
    atomic_fence()
    for i in range(table.reader_count):
        while True:
            seen = atomic_get64(table.readers[i])
            if seen == 0 or seen >= now:
                break
            usleep(50)


cdef bint table_init(Table* table) noexcept nogil:
    pthread_mutex_init(&table.lock, NULL)
    table.epoch = 1
    table.by_name = buckets_new(64)
    table.by_id = buckets_new(64)
    return table.by_name != NULL and table.by_id != NULL


cdef void table_close(Table* table) noexcept nogil:
    """Only when no reader is left."""
    cdef Buckets* names = <Buckets*>table.by_name
    cdef int64_t i
    for i in range(names.room):
        if names.slots[i] != NULL and names.slots[i] != REMOVED:
            topic_free(<Topic*>names.slots[i])
    buckets_free(names)
    buckets_free(<Buckets*>table.by_id)
    pthread_mutex_destroy(&table.lock)


cdef void table_enter(Table* table, int64_t* reader) noexcept nogil:
    atomic_set64(reader, atomic_get64(&table.epoch))
    atomic_fence()


cdef void table_leave(int64_t* reader) noexcept nogil:
    atomic_set64(reader, 0)


cdef Topic* living(void** slot) noexcept nogil:
    """What a reader found there, if it was not removed since: a slot is never given to another key."""
    cdef void* seen = NULL if slot == NULL else atomic_get_ptr(slot)
    return NULL if seen == REMOVED else <Topic*>seen


cdef Topic* table_by_name(Table* table, const char* name, int32_t size) noexcept nogil:
    return living(find(<Buckets*>atomic_get_ptr(&table.by_name), <const uint8_t*>name, size, False))


cdef Topic* table_by_id(Table* table, const uint8_t* id) noexcept nogil:
    return living(find(<Buckets*>atomic_get_ptr(&table.by_id), id, 16, True))


cdef void topic_free(Topic* topic) noexcept nogil:
    cdef int32_t i
    if topic != NULL:
        for i in range(topic.partitions):
            log_unref(topic.logs[i])
        free(topic.logs)
        free(topic)


cdef Topic* remove(Table* table, const char* name, int32_t size) noexcept nogil:
    """Unlink under the writers' lock; the caller frees after the readers have gone."""
    cdef void** slot = find(<Buckets*>table.by_name, <const uint8_t*>name, size, False)
    cdef Topic* topic
    if slot == NULL:
        return NULL
    topic = <Topic*>slot[0]
    atomic_set_ptr(slot, REMOVED)
    atomic_set_ptr(slot_of(<Buckets*>table.by_id, topic), REMOVED)
    return topic


cdef void** slot_of(Buckets* ids, Topic* topic) noexcept nogil:
    """Where the topic itself stands by its id, should another have the same."""
    cdef int64_t at = <int64_t>(hash_bytes(topic.id, 16) & (ids.room - 1))
    while ids.slots[at] != <void*>topic:
        at = (at + 1) & (ids.room - 1)
    return &ids.slots[at]


cdef bint table_publish(Table* table, Topic* topic) noexcept nogil:
    """Put `topic` in place of any of its name. The table owns it from here on, also when there is no memory (False)."""
    cdef Topic* old = NULL
    cdef void** slot
    cdef bint good
    pthread_mutex_lock(&table.lock)
    slot = find(<Buckets*>table.by_name, <const uint8_t*>topic.name, topic.name_size, False)
    if slot != NULL and memcmp((<Topic*>slot[0]).id, topic.id, 16) == 0:
        old = <Topic*>slot[0]
        atomic_set_ptr(slot, topic)
        atomic_set_ptr(slot_of(<Buckets*>table.by_id, old), topic)
        good = True
    else:
        if slot != NULL:
            old = remove(table, topic.name, topic.name_size)
        good = make_room(table, &table.by_name, False) and make_room(table, &table.by_id, True)
        if good:
            insert(<Buckets*>table.by_name, topic, <uint8_t*>topic.name, topic.name_size)
            insert(<Buckets*>table.by_id, topic, topic.id, 16)
    if old != NULL:
        wait_for_readers(table)
    pthread_mutex_unlock(&table.lock)
    topic_free(old)
    if not good:
        topic_free(topic)
    return good


cdef bint table_withdraw(Table* table, const char* name, int32_t size) noexcept nogil:
    cdef Topic* old
    pthread_mutex_lock(&table.lock)
    old = remove(table, name, size)
    if old != NULL:
        wait_for_readers(table)
    pthread_mutex_unlock(&table.lock)
    topic_free(old)
    return old != NULL
