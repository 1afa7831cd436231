"""Fetch, versions 4 to 18, from the frame's bytes to a reply of bytes and file slices, without Python.

A request is taken into its session, then tried: every fresh partition is located in its log. Enough bytes, an error or the deadline
complete it; otherwise its partitions get waiters and the request waits for news. A partition whose bytes would have to come
from the disk is searched by a helper meanwhile.

request   replica id int32 (to 14), max wait, min bytes, max bytes int32, isolation int8, session id, epoch int32 (7),
          [topic name | id (13), [partition, leader epoch (9) int32, offset int64, last epoch int32 (12), log start int64 (5), max bytes int32]],
          forgotten [topic, [partition]] (7), rack (11)
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from kafpy._core.append cimport log_ref, log_unref, log_wait, waiter_drop
from kafpy._core.atomic cimport counter_add
from kafpy._core.bytes cimport get32
from kafpy._core.connection cimport slot_finish, slot_hang_up, slot_hold, slot_ready
from kafpy._core.fetch_reply cimport reply_choose, reply_error, reply_head, reply_tail, reply_topic
from kafpy._core.locate cimport log_locate
from kafpy._core.partition cimport *
from kafpy._core.produce cimport MALFORMED, SERVED, Served
from kafpy._core.quotas cimport QUOTA_FETCH
from kafpy._core.reader cimport *
from kafpy._core.runtime cimport LETTER_LOCATED, LETTER_WAITER, Job, mailbox_post, runtime_submit
from kafpy._core.segment cimport file_unref
from kafpy._core.sessions cimport *
from kafpy._core.state cimport *
from kafpy._core.table cimport Topic, table_by_id, table_by_name
from kafpy._core.throttle cimport throttle_before, throttle_count, throttle_most
from kafpy._core.timers cimport timer_cancel, timer_set

cdef int16_t OFFSET_OUT_OF_RANGE = 1
cdef int16_t UNKNOWN_TOPIC_OR_PARTITION = 3
cdef int16_t NOT_LEADER_OR_FOLLOWER = 6
cdef int16_t KAFKA_STORAGE_ERROR = 56
cdef int16_t CORRUPT_MESSAGE = 2
cdef int16_t FETCH_SESSION_ID_NOT_FOUND = 70
cdef int16_t INVALID_FETCH_SESSION_EPOCH = 71
cdef int16_t FENCED_LEADER_EPOCH = 74
cdef int16_t UNKNOWN_LEADER_EPOCH = 75
cdef int16_t UNKNOWN_TOPIC_ID = 100
cdef int16_t FETCH_SESSION_TOPIC_ID_ERROR = 106


# ---- taking in a request

cdef Served fetch_serve(Plane* plane, Slot* slot, const uint8_t* body, int32_t size) noexcept nogil:
    cdef Reader r
    cdef int32_t session_id = 0, session_epoch = -1, replica_id = -1, max_wait
    cdef Fetch* fetch = <Fetch*>calloc(1, sizeof(Fetch))
    cdef int16_t error
    if fetch == NULL:
        return MALFORMED
    r.p = body
    r.end = body + size
    r.bad = 0
    r.budget = ELEMENT_BUDGET
    fetch.slot = slot
    fetch.timer.at = -1
    fetch.timer.kind = TIMER_FETCH
    fetch.timer.owner = fetch
    if slot.api_version < 15:
        replica_id = take32(&r)
    fetch.replica = replica_id >= 0
    max_wait = take32(&r)
    fetch.min_bytes = take32(&r)
    fetch.max_bytes = min(max(take32(&r), 0), plane.server.limits.fetch_max_bytes)
    if not fetch.replica:
        fetch.max_bytes = <int32_t>min(<int64_t>fetch.max_bytes, throttle_most(slot.connection, QUOTA_FETCH))
    fetch.committed_only = take8(&r) == 1
    if slot.api_version >= 7:
        session_id = take32(&r)
        session_epoch = take32(&r)
    counter_add(&plane.fetched, 1)
    if is_of_session(slot.fault):
        free(fetch)
        return SERVED if reply_error(slot, slot.fault) else MALFORMED
    error = join_session(plane, fetch, session_id, session_epoch) if not r.bad else 0
    if error:
        free(fetch)
        return SERVED if reply_error(slot, error) else MALFORMED
    if r.bad or fetch.session == NULL or not take_topics(plane, fetch, &r, slot.api_version):
        fetch_cancel(plane, fetch)
        return MALFORMED
    fetch.session.fetch = fetch
    slot.fetch = fetch
    fetch.expired = max_wait <= 0
    if slot.fault:
        refresh_all(fetch.session)
    if not try_fetch(plane, fetch):
        if fetch.session.id == 0:
            slot_hold(slot, fetch.session.parts * sizeof(FetchPart))
        timer_set(plane, &fetch.timer, plane.now_ns + <int64_t>max_wait * 1000000)
    return SERVED


cdef bint is_of_session(int16_t error) noexcept nogil:
    """These stand in the head of the reply; others with each partition."""
    return (error == FETCH_SESSION_ID_NOT_FOUND or error == INVALID_FETCH_SESSION_EPOCH
            or error == FETCH_SESSION_TOPIC_ID_ERROR)


cdef void refresh_all(FetchSession* session) noexcept nogil:
    cdef FetchPart* part = session.first
    while part != NULL:
        part_refresh(part)
        part = part.next


cdef int16_t join_session(Plane* plane, Fetch* fetch, int32_t id, int32_t epoch) noexcept nogil:
    """FetchManager.newContext: epoch -1 ends a session, 0 starts one, anything else goes on with it."""
    cdef FetchSession* session = session_find(plane, id) if id else NULL
    cdef bint by_id = fetch.slot.api_version >= 13
    if epoch <= 0:
        if session != NULL:
            end_waiting(plane, session)
            session_free(plane, session)
        fetch.full = True
        fetch.session = session_new(plane, epoch == 0, by_id)
        return 0
    if session == NULL:
        return FETCH_SESSION_ID_NOT_FOUND
    if session.epoch != epoch:
        return INVALID_FETCH_SESSION_EPOCH
    if session.by_id != by_id:
        return FETCH_SESSION_TOPIC_ID_ERROR
    end_waiting(plane, session)
    session.epoch = 1 if epoch == 0x7FFFFFFF else epoch + 1
    session.used_ns = plane.now_ns
    fetch.session = session
    return 0


cdef void end_waiting(Plane* plane, FetchSession* session) noexcept nogil:
    """A client that comes again before it was answered has lost its connection; the older request is over."""
    if session.fetch != NULL:
        session.fetch.superseded = True
        try_fetch(plane, session.fetch)


cdef const uint8_t* take_topic(Reader* r, int16_t version, int32_t* size) noexcept nogil:
    size[0] = 16
    if version >= 13:
        return take(r, 16)
    return take_string(r, version >= 12, size)


cdef bint take_topics(Plane* plane, Fetch* fetch, Reader* r, int16_t version) noexcept nogil:
    cdef FetchSession* session = fetch.session
    cdef FetchTopic* topic
    cdef const uint8_t* key
    cdef int32_t i, k, size, parts, topics
    cdef bint flexible = version >= 12
    topics = take_count(r, flexible, 3)
    for i in range(topics):
        key = take_topic(r, version, &size)
        parts = take_count(r, flexible, 16)
        if r.bad or parts < 0:
            return False
        topic = session_topic(session, key, size)
        if topic == NULL:
            return False
        for k in range(parts):
            if not take_part(session, topic, r, version):
                return False
        if flexible:
            take_tags(r)
    if version >= 7:
        topics = take_count(r, flexible, 3)
        for i in range(topics):
            key = take_topic(r, version, &size)
            parts = take_count(r, flexible, 4)
            for k in range(parts):
                if not r.bad:
                    session_forget(plane, session, key, size, take32(r))
            if flexible:
                take_tags(r)
    if version >= 11:
        take_string(r, flexible, &size)
    if flexible:
        take_tags(r)
    return not r.bad


cdef bint take_part(FetchSession* session, FetchTopic* topic, Reader* r, int16_t version) noexcept nogil:
    cdef int32_t index = take32(r), leader_epoch = -1
    cdef int64_t offset
    cdef FetchPart* part
    if version >= 9:
        leader_epoch = take32(r)
    offset = take64(r)
    if version >= 12:
        take32(r)                # last fetched epoch: only followers send one
    if version >= 5:
        take64(r)                # the follower's log start
    if r.bad:
        return False
    part = session_part(session, topic, index)
    if part == NULL:
        return False
    if part.offset != offset:
        part_release(part)
    part.offset = offset
    part.leader_epoch = leader_epoch
    part.max_bytes = max(take32(r), 0)
    part.tried = False
    part_refresh(part)
    if version >= 12:
        take_tags(r)
    return not r.bad


# ---- trying

cdef Located find_log(Plane* plane, FetchPart* part) noexcept nogil:
    """LOCATED: part.log is set. A partition without a log is one whose directory failed before it was opened."""
    cdef FetchTopic* named = part.topic
    cdef Topic* topic
    if part.session.by_id:
        topic = table_by_id(&plane.server.table, named.id)
    else:
        topic = table_by_name(&plane.server.table, named.name, named.name_size)
    if topic == NULL or not 0 <= part.index < topic.partitions:
        return LOG_CLOSED
    if topic.logs[part.index] == NULL:
        return LOG_OFFLINE
    part.log = log_ref(topic.logs[part.index])
    return LOCATED


cdef Located locate_part(Plane* plane, Fetch* fetch, FetchPart* part, int64_t limit, bint min_one) noexcept nogil:
    cdef Located located
    if part.searched and (part.slice.size <= limit or min_one):
        return part.located
    part_release(part)
    if part.log == NULL:
        located = find_log(plane, part)
        if located != LOCATED:
            return located
    located = log_locate(part.log, part.offset, limit, fetch.committed_only, min_one, False, &part.slice, &part.position)
    if located == LOG_CLOSED:            # deleted, perhaps made again
        forget_log(part)
        find_log(plane, part)
        if part.log != NULL:
            located = log_locate(part.log, part.offset, limit, fetch.committed_only, min_one, False, &part.slice, &part.position)
    return located


cdef void forget_log(FetchPart* part) noexcept nogil:
    drop_waiter(part)
    log_unref(part.log)
    part.log = NULL


cdef int16_t check_epoch(FetchPart* part) noexcept nogil:
    if part.leader_epoch < 0 or part.leader_epoch == part.position.leader_epoch:
        return 0
    return FENCED_LEADER_EPOCH if part.leader_epoch < part.position.leader_epoch else UNKNOWN_LEADER_EPOCH


cdef void look(Plane* plane, Fetch* fetch, FetchPart* part, int64_t limit, bint min_one) noexcept nogil:
    """Find what the partition has to send, or why it cannot."""
    cdef Located located
    cdef bint unknown_id
    part.error = fetch.slot.fault
    part.sent = False
    if part.error:
        part_release(part)
        return
    located = locate_part(plane, fetch, part, limit, min_one)
    if located == LOG_CLOSED:
        unknown_id = part.session.by_id and table_by_id(&plane.server.table, part.topic.id) == NULL
        part.error = UNKNOWN_TOPIC_ID if unknown_id else UNKNOWN_TOPIC_OR_PARTITION
    elif located == LOG_OFFLINE:
        part.error = KAFKA_STORAGE_ERROR
    elif located == LOG_DAMAGED:
        part.error = CORRUPT_MESSAGE
    elif fetch.replica:
        part.error = UNKNOWN_LEADER_EPOCH if part.leader_epoch >= 0 else NOT_LEADER_OR_FOLLOWER
    elif check_epoch(part):
        part.error = check_epoch(part)
    elif located == OUT_OF_RANGE:
        part.error = OFFSET_OUT_OF_RANGE
    elif located == WOULD_BLOCK and part.search == NULL:
        start_search(plane, fetch, part, limit, min_one)
    if part.error:
        part_release(part)


cdef bint try_fetch(Plane* plane, Fetch* fetch) noexcept nogil:
    """Complete it if it can be; else leave it waiting (False)."""
    cdef FetchSession* session = fetch.session
    cdef FetchPart* part
    cdef int64_t budget
    cdef bint failed, searching, again = True
    while again:
        again = False
        failed = searching = False
        fetch.bytes = 0
        budget = fetch.max_bytes
        part = session.fresh_first
        while part != NULL:
            look(plane, fetch, part, max(min(<int64_t>part.max_bytes, budget), 0), fetch.bytes == 0)
            failed = failed or part.error != 0
            searching = searching or (part.search != NULL and not part.tried)
            fetch.bytes += part.slice.size
            budget -= part.slice.size
            part = part.next_fresh
        if failed or fetch.superseded or session.parts == 0:
            complete(plane, fetch)
            return True
        # Data on the disk is data: no empty reply while a helper is about to bring some.
        if (fetch.expired or fetch.bytes >= fetch.min_bytes) and (fetch.bytes or not searching):
            complete(plane, fetch)
            return True
        again = not settle(plane, session)
    return False


cdef bint settle(Plane* plane, FetchSession* session) noexcept nogil:
    """Give fresh partitions waiters; those with nothing to send leave the list. False: something came meanwhile."""
    cdef FetchPart* part = session.fresh_first
    cdef FetchPart* after
    cdef bint quiet = True
    session.fresh_first = session.fresh_last = NULL
    while part != NULL:
        after = part.next_fresh
        part.fresh = False
        if part.log == NULL or part.error or part.search != NULL:
            part_refresh(part)
        else:
            if part.waiter == NULL and not watch(plane, part):
                quiet = False
                part.searched = False          # what the helper saw is out of date
                part_refresh(part)
            elif part.slice.size or part.sent:
                part_refresh(part)
        part = after
    return quiet


cdef bint watch(Plane* plane, FetchPart* part) noexcept nogil:
    cdef Waiter* waiter = <Waiter*>calloc(1, sizeof(Waiter))
    if waiter == NULL:
        return True              # the deadline will answer
    waiter.letter.kind = LETTER_WAITER
    waiter.owner = part
    if log_wait(part.log, waiter, &plane.mailbox, WAITS_FOR_DATA, part.position.high_watermark):
        part.waiter = waiter
        return True
    free(waiter)
    return False


cdef void drop_waiter(FetchPart* part) noexcept nogil:
    if part.waiter != NULL:
        waiter_drop(part.waiter)
        part.waiter = NULL


cdef void fetch_news(Plane* plane, Waiter* waiter) noexcept nogil:
    """A log that a session follows has moved."""
    cdef FetchPart* part = <FetchPart*>waiter.owner
    part_refresh(part)
    if part.session.fetch != NULL:
        try_fetch(plane, part.session.fetch)


cdef void fetch_expired(Plane* plane, Fetch* fetch) noexcept nogil:
    fetch.expired = True
    try_fetch(plane, fetch)


cdef void fetch_cancel(Plane* plane, Fetch* fetch) noexcept nogil:
    """The client is gone, or its request was no request. Its session, if it lasts, stays."""
    timer_cancel(plane, &fetch.timer)
    if fetch.session != NULL:
        fetch.session.fetch = NULL
        if fetch.session.id == 0:
            session_free(plane, fetch.session)
    free(fetch)


# ---- helpers' searches

cdef void start_search(Plane* plane, Fetch* fetch, FetchPart* part, int64_t limit, bint min_one) noexcept nogil:
    cdef Search* search = <Search*>calloc(1, sizeof(Search))
    if search == NULL:
        return
    search.job.run = run_search
    search.letter.kind = LETTER_LOCATED
    search.mailbox = &plane.mailbox
    search.log = log_ref(part.log)
    search.part = part
    search.offset = part.offset
    search.max_bytes = limit
    search.committed_only = fetch.committed_only
    search.min_one = min_one
    if runtime_submit(plane.server.runtime, &search.job):
        part.search = search
    else:
        log_unref(search.log)
        free(search)


cdef void run_search(Job* job) noexcept nogil:
    cdef Search* search = <Search*>job
    search.located = log_locate(search.log, search.offset, search.max_bytes, search.committed_only, search.min_one, True,
                                &search.slice, &search.position)
    mailbox_post(search.mailbox, &search.letter)


cdef void fetch_found(Plane* plane, Search* search) noexcept nogil:
    cdef FetchPart* part = search.part
    if part != NULL:
        part.search = NULL
        part.tried = True
        # Other outcomes are found again without a wait; an unreadable segment would only be searched again.
        if part.offset == search.offset and part.log == search.log \
                and (search.slice.file != NULL or search.located == LOG_OFFLINE or search.located == LOG_DAMAGED):
            part_release(part)
            part.slice = search.slice
            part.position = search.position
            part.located = <Located>search.located
            part.searched = True
            search.slice.file = NULL
        part_refresh(part)
        if part.session.fetch != NULL:
            try_fetch(plane, part.session.fetch)
    file_unref(search.slice.file)
    log_unref(search.log)
    free(search)


cdef void put_off(Plane* plane, Fetch* fetch, int32_t throttle_ms) noexcept nogil:
    """Its client is above a quota: an empty reply, and a session that was to begin does not (FetchContext.getThrottledResponse)."""
    cdef Slot* slot = fetch.slot
    cdef FetchSession* session = fetch.session
    cdef bint begins = fetch.full and session.id != 0
    cdef bint good = reply_head(slot, throttle_ms, 0, 0 if fetch.full else session.id, NULL) and reply_tail(slot)
    slot.fetch = NULL
    if session.id and not begins:
        settle(plane, session)
    fetch_cancel(plane, fetch)
    if begins:
        session_free(plane, session)
    if good:
        slot_finish(slot)
        slot_ready(slot)
    else:
        slot_hang_up(slot)


cdef void complete(Plane* plane, Fetch* fetch) noexcept nogil:
    cdef Slot* slot = fetch.slot
    cdef FetchSession* session = fetch.session
    cdef FetchTopic* topic
    cdef bint replica = fetch.replica
    cdef int32_t throttle_ms = 0 if fetch.replica else throttle_before(plane, slot.connection, QUOTA_FETCH, fetch.bytes)
    cdef bint good
    if throttle_ms:
        put_off(plane, fetch, throttle_ms)
        return
    topic = reply_choose(fetch)
    good = reply_head(slot, 0, 0, session.id, topic)
    while topic != NULL:
        good = good and reply_topic(slot, session.by_id, topic)
        topic.shown = NULL
        topic = topic.next_shown
    good = good and reply_tail(slot)
    slot.fetch = NULL
    if session.id:
        settle(plane, session)
    fetch_cancel(plane, fetch)
    if good:
        slot_finish(slot)
        if not replica:
            throttle_count(plane, slot.connection, QUOTA_FETCH, get32(slot.data))
        slot_ready(slot)
    else:
        slot_hang_up(slot)
