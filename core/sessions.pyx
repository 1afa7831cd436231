"""Fetch sessions (KIP-227): the partitions a client follows, kept between its requests so that it names only changes.

A request without a session gets one that lives as long as the request, so that both take the same way. Partitions to look
at stand in the `fresh` list: named by the request, marked by an append (their waiter's letter), or left with data to
send. Everything else in the session costs nothing per request. A session belongs to the plane whose index its id carries.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy
from kafpy._core.append cimport log_unref, waiter_drop
from kafpy._core.atomic cimport counter_add
from kafpy._core.bytes cimport hash_bytes
from kafpy._core.segment cimport file_unref
from kafpy._core.state cimport *

cdef enum: PARTS_PER_SESSION = 200000             # and topics, which stay when their partitions are forgotten
cdef int64_t EVICTABLE_NS = 120 * 1000000000      # FetchSessionCache: idle this long makes room for another


cdef int32_t new_id(Plane* plane) noexcept nogil:
    """Positive, and its remainder by the number of planes names this one."""
    cdef int32_t planes = plane.server.planes
    cdef int64_t id
    while True:
        # A full-period sequence from a random start: ids of a broker's earlier life are not likely to come up again soon.
        plane.next_session = <int32_t>((<uint64_t>plane.next_session * 2654435761ULL + 40503) & <uint64_t>0x3FFFFFFF)
        id = <int64_t>plane.next_session * planes + plane.index
        if 0 < id <= 0x7FFFFFFF and session_find(plane, <int32_t>id) == NULL:
            return <int32_t>id


cdef bint make_place(Plane* plane) noexcept nogil:
    """Room for one more lasting session, if need be in place of the one idle longest."""
    cdef FetchSession* session = plane.sessions
    cdef FetchSession* idle = NULL
    if plane.session_count < plane.server.limits.fetch_sessions:
        return True
    while session != NULL:
        if session.fetch == NULL and (idle == NULL or session.used_ns < idle.used_ns):
            idle = session
        session = session.next
    if idle == NULL or plane.now_ns - idle.used_ns < EVICTABLE_NS:
        return False
    session_free(plane, idle)
    return True


cdef FetchSession* session_new(Plane* plane, bint lasting, bint by_id) noexcept nogil:
    """A lasting session where the cache has a place, else one for a single request (id 0)."""
    cdef FetchSession* session = <FetchSession*>calloc(1, sizeof(FetchSession))
    if session == NULL:
        return NULL
    session.by_id = by_id
    session.used_ns = plane.now_ns
    if lasting and make_place(plane):
        session.topic_hash = <FetchTopic**>calloc(TOPIC_BUCKETS, sizeof(FetchTopic*))
        if session.topic_hash != NULL:
            session.id = new_id(plane)
            session.epoch = 1
            session.next = plane.sessions
            if plane.sessions != NULL:
                plane.sessions.previous = session
            plane.sessions = session
            counter_add(&plane.session_count, 1)
    return session


cdef FetchSession* session_find(Plane* plane, int32_t id) noexcept nogil:
    cdef FetchSession* session = plane.sessions
    while session != NULL and session.id != id:
        session = session.next
    return session


cdef void session_free(Plane* plane, FetchSession* session) noexcept nogil:
    cdef FetchTopic* topic = session.topics
    cdef FetchTopic* after
    while session.first != NULL:
        part_free(session, session.first)
    while topic != NULL:
        after = topic.next
        free(topic)
        topic = after
    if session.id:
        if session.previous != NULL:
            session.previous.next = session.next
        else:
            plane.sessions = session.next
        if session.next != NULL:
            session.next.previous = session.previous
        counter_add(&plane.session_count, -1)
    free(session.topic_hash)
    free(session.hash)
    free(session)


# ---- topics and partitions

cdef bint is_topic(FetchTopic* topic, bint by_id, const uint8_t* key, int32_t size) noexcept nogil:
    if by_id:
        return memcmp(topic.id, key, 16) == 0
    return topic.name_size == size and memcmp(topic.name, key, size) == 0


cdef FetchTopic* find_topic(FetchSession* session, const uint8_t* key, int32_t size) noexcept nogil:
    cdef FetchTopic* topic
    if session.topic_hash == NULL or size <= 0:
        return NULL
    topic = session.topic_hash[hash_bytes(key, size) % TOPIC_BUCKETS]
    while topic != NULL and not is_topic(topic, session.by_id, key, size):
        topic = topic.next_hash
    return topic


cdef FetchTopic* session_topic(FetchSession* session, const uint8_t* key, int32_t size) noexcept nogil:
    """The session's entry for a topic, made if need be. NULL: no memory, too many, or no topic's name."""
    cdef uint64_t bucket
    cdef FetchTopic* topic = find_topic(session, key, size)
    if topic != NULL:
        return topic
    if size <= 0 or size > 249 or session.topic_count >= PARTS_PER_SESSION:
        return NULL
    bucket = hash_bytes(key, size) % TOPIC_BUCKETS
    topic = <FetchTopic*>calloc(1, sizeof(FetchTopic))
    if topic == NULL:
        return NULL
    if session.by_id:
        memcpy(topic.id, key, 16)
    else:
        memcpy(topic.name, key, size)
        topic.name_size = <int16_t>size
    if session.topic_hash != NULL:
        topic.next_hash = session.topic_hash[bucket]
        session.topic_hash[bucket] = topic
    if session.last_topic == NULL:
        session.topics = topic
    else:
        session.last_topic.next = topic
    session.last_topic = topic
    session.topic_count += 1
    return topic


cdef uint64_t part_hash(FetchTopic* topic, int32_t index) noexcept nogil:
    return (<uint64_t>topic * 0x9E3779B97F4A7C15ULL >> 20) + <uint64_t>index * 0x9E3779B1ULL


cdef bint grow_hash(FetchSession* session) noexcept nogil:
    cdef int32_t room = max(session.hash_room * 2, 64)
    cdef FetchPart** made = <FetchPart**>calloc(room, sizeof(FetchPart*))
    cdef FetchPart* part = session.first
    if made == NULL:
        return False
    while part != NULL:
        part.next_hash = made[part.hash_value % room]
        made[part.hash_value % room] = part
        part = part.next
    free(session.hash)
    session.hash = made
    session.hash_room = room
    return True


cdef FetchPart* find_part(FetchSession* session, FetchTopic* topic, int32_t index) noexcept nogil:
    cdef FetchPart* part
    if session.hash_room == 0:
        return NULL
    part = session.hash[part_hash(topic, index) % session.hash_room]
    while part != NULL and (part.topic != topic or part.index != index):
        part = part.next_hash
    return part


cdef FetchPart* session_part(FetchSession* session, FetchTopic* topic, int32_t index) noexcept nogil:
    """The session's entry for a partition, made if need be."""
    cdef FetchPart* part = find_part(session, topic, index)
    if part != NULL:
        return part
    if session.parts >= PARTS_PER_SESSION:
        return NULL
    if session.id and session.parts >= session.hash_room and not grow_hash(session):
        return NULL
    part = <FetchPart*>calloc(1, sizeof(FetchPart))
    if part == NULL:
        return NULL
    part.session = session
    part.topic = topic
    part.index = index
    part.hash_value = part_hash(topic, index)
    part.previous = session.last
    if session.last == NULL:
        session.first = part
    else:
        session.last.next = part
    session.last = part
    session.parts += 1
    if session.hash_room:
        part.next_hash = session.hash[part.hash_value % session.hash_room]
        session.hash[part.hash_value % session.hash_room] = part
    return part


cdef void session_forget(Plane* plane, FetchSession* session, const uint8_t* key, int32_t size, int32_t index) noexcept nogil:
    cdef FetchTopic* topic = find_topic(session, key, size)
    cdef FetchPart* part = NULL if topic == NULL else find_part(session, topic, index)
    if part != NULL:
        part_free(session, part)


cdef void part_refresh(FetchPart* part) noexcept nogil:
    """Look at it with the next try."""
    cdef FetchSession* session = part.session
    if part.fresh:
        return
    part.fresh = True
    part.next_fresh = NULL
    if session.fresh_last == NULL:
        session.fresh_first = part
    else:
        session.fresh_last.next_fresh = part
    session.fresh_last = part


cdef void part_release(FetchPart* part) noexcept nogil:
    """Let go of the bytes that were found for it."""
    file_unref(part.slice.file)
    part.slice.file = NULL
    part.slice.size = 0
    part.searched = False


cdef void unlink_hash(FetchSession* session, FetchPart* part) noexcept nogil:
    cdef FetchPart** at
    if session.hash_room:
        at = &session.hash[part.hash_value % session.hash_room]
        while at[0] != part:
            at = &at[0].next_hash
        at[0] = part.next_hash


cdef void unlink_fresh(FetchSession* session, FetchPart* part) noexcept nogil:
    cdef FetchPart* at = session.fresh_first
    cdef FetchPart* before = NULL
    while at != part:
        before = at
        at = at.next_fresh
    if before == NULL:
        session.fresh_first = part.next_fresh
    else:
        before.next_fresh = part.next_fresh
    if session.fresh_last == part:
        session.fresh_last = before


cdef void part_free(FetchSession* session, FetchPart* part) noexcept nogil:
    unlink_hash(session, part)
    if part.fresh:
        unlink_fresh(session, part)
    if part.previous != NULL:
        part.previous.next = part.next
    else:
        session.first = part.next
    if part.next != NULL:
        part.next.previous = part.previous
    else:
        session.last = part.previous
    session.parts -= 1
    part_release(part)
    if part.search != NULL:
        (<Search*>part.search).part = NULL
    if part.waiter != NULL:
        waiter_drop(part.waiter)
    log_unref(part.log)
    free(part)
