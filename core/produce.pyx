"""Produce, versions 3 to 13, from the frame's bytes to the reply's, without Python.

Within a turn: every request is parsed, its batches checked and queued for their logs (`produce_serve`). At the turn's end each log
gets its batches in one append, and replies are written by walking the requests a second time (`produce_commit`). acks=all
replies that the high watermark has not reached are written as successes and held back by a Commit; what goes wrong is
patched into them.

request   transactional_id, acks int16, timeout int32, [topic name | topic id (13), [partition int32, records bytes]]
reply     [topic, [partition, error int16, base offset int64, append time int64, log start int64 (5), [record int32, text] (8), message (8)]], throttle int32
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, strlen
from kafpy._core.append cimport log_append, log_outcome, log_policy, log_ref, log_unref, log_wait, waiter_drop
from kafpy._core.atomic cimport counter_add
from kafpy._core.batch cimport BatchPolicy, batch_check, batch_stamp_append_time, batch_stamp_create_time
from kafpy._core.bytes cimport get16, put16, put32, put64, put_count, put_uvarint
from kafpy._core.connection cimport slot_finish, slot_hang_up, slot_ready, slot_room, turn_alloc
from kafpy._core.partition cimport *
from kafpy._core.quotas cimport QUOTA_PRODUCE
from kafpy._core.reader cimport *
from kafpy._core.runtime cimport LETTER_WAITER, real_monotonic_ns
from kafpy._core.state cimport *
from kafpy._core.table cimport Topic, table_by_id, table_by_name
from kafpy._core.throttle cimport throttle_request
from kafpy._core.timers cimport timer_cancel, timer_set

cdef int16_t UNKNOWN_TOPIC_OR_PARTITION = 3
cdef int16_t REQUEST_TIMED_OUT = 7
cdef int16_t INVALID_TOPIC_EXCEPTION = 17
cdef int16_t INVALID_REQUIRED_ACKS = 21
cdef int16_t INVALID_TIMESTAMP = 32
cdef int16_t INVALID_TXN_STATE = 48
cdef int16_t TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
cdef int16_t KAFKA_STORAGE_ERROR = 56
cdef int16_t UNSUPPORTED_COMPRESSION_TYPE = 76
cdef int16_t INVALID_RECORD = 87
cdef int16_t UNKNOWN_TOPIC_ID = 100
cdef enum: TRANSACTIONAL = 0x10
cdef enum: ZSTD = 4
cdef enum: CODECS = 7
cdef enum: PART_ROOM = 48         # of a partition in the reply, at most
cdef enum: BLAME_ROOM = 128       # more where a record is to blame
cdef const char* BAD_TIMESTAMP = b"A record's timestamp lies outside of what the topic accepts."
cdef const char* BAD_RECORD = b"A record is malformed, or has no key in a compacted topic."


cdef struct Walk:                 # over the topics and partitions of a request; shared by counting, serving and replying
    Reader r
    int16_t version
    bint flexible
    int32_t topics
    int32_t parts                 # of the current topic
    const uint8_t* topic
    int32_t topic_size
    int32_t partition
    uint8_t* records
    int32_t size


cdef void walk_start(Walk* walk, const Produce* produce) noexcept nogil:
    walk.r.p = produce.body
    walk.r.end = produce.end
    walk.r.bad = 0
    walk.r.budget = ELEMENT_BUDGET
    walk.version = produce.version
    walk.flexible = produce.flexible


cdef void walk_topic(Walk* walk) noexcept nogil:
    walk.topic_size = 16
    if walk.version >= 13:
        walk.topic = take(&walk.r, 16)
    else:
        walk.topic = take_string(&walk.r, walk.flexible, &walk.topic_size)
    walk.parts = take_count(&walk.r, walk.flexible, 5)
    if walk.parts < 0 or walk.topic_size < 0:
        walk.r.bad = 1


cdef void walk_part(Walk* walk) noexcept nogil:
    walk.partition = take32(&walk.r)
    walk.records = <uint8_t*>take_bytes(&walk.r, walk.flexible, &walk.size)
    if walk.flexible:
        take_tags(&walk.r)


cdef bint read_head(Walk* walk, Produce* produce, bint* transactional) noexcept nogil:
    cdef int32_t size
    take_string(&walk.r, walk.flexible, &size)
    transactional[0] = size >= 0
    produce.acks = take16(&walk.r)
    produce.timeout_ms = take32(&walk.r)
    walk.topics = take_count(&walk.r, walk.flexible, 3)
    return not walk.r.bad and walk.topics >= 0


cdef bint count_parts(Produce* produce, bint* transactional) noexcept nogil:
    """Walk the whole request once; False when it is malformed."""
    cdef Walk walk
    cdef int32_t i, k
    walk_start(&walk, produce)
    if not read_head(&walk, produce, transactional):
        return False
    for i in range(walk.topics):
        walk_topic(&walk)
        if walk.r.bad:
            return False
        produce.parts += walk.parts
        for k in range(walk.parts):
            walk_part(&walk)
        if walk.flexible:
            take_tags(&walk.r)
    if walk.flexible:
        take_tags(&walk.r)
    return not walk.r.bad


cdef Topic* find_topic(Plane* plane, Walk* walk) noexcept nogil:
    if walk.version >= 13:
        return table_by_id(&plane.server.table, walk.topic)
    return table_by_name(&plane.server.table, <const char*>walk.topic, walk.topic_size)


cdef int16_t check_part(Plane* plane, Produce* produce, Walk* walk, ProducePart* part, bint transactional, bint* native) noexcept nogil:
    """Everything about one batch that needs no log: Kafka's error code."""
    cdef BatchPolicy policy
    cdef int16_t attributes = <int16_t>get16(walk.records + 21) if walk.size >= 61 else 0
    cdef int16_t error
    if walk.size <= 0:
        return INVALID_RECORD
    if walk.size >= 61 and (attributes & CODECS) == ZSTD and walk.version < 7:
        return UNSUPPORTED_COMPRESSION_TYPE
    policy.now_ms = plane.now_ms
    native[0] = log_policy(part.log, &policy, attributes)
    error = batch_check(walk.records, walk.size, &policy, &part.append.info)
    if error:
        native[0] = True          # refused as it is: nothing to open
        return error
    if attributes & CODECS and part.append.info.max_timestamp < part.append.info.base_timestamp and not policy.log_append_time:
        native[0] = False         # only the records can tell the maximum
    if part.append.info.attributes & TRANSACTIONAL:
        return INVALID_TXN_STATE if transactional else TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if native[0]:
        if policy.log_append_time:
            batch_stamp_append_time(walk.records, &part.append.info, plane.now_ms)
            part.append.append_time = plane.now_ms
        else:
            batch_stamp_create_time(walk.records, &part.append.info)
    return 0


cdef bint prepare(Plane* plane, Produce* produce, bint transactional, const int16_t* decided) noexcept nogil:
    """Look up and check every partition. False: a batch must be opened first. The logs found are referenced either way."""
    cdef Walk walk
    cdef Topic* topic
    cdef ProducePart* part = produce.part
    cdef int16_t fault = produce.slot.fault
    cdef int32_t i, k
    cdef bint native, all_native = True
    walk_start(&walk, produce)
    read_head(&walk, produce, &transactional)
    for i in range(walk.topics):
        walk_topic(&walk)
        topic = find_topic(plane, &walk)
        for k in range(walk.parts):
            walk_part(&walk)
            part.append.data = walk.records
            part.append.base_offset = part.append.append_time = part.append.log_start_offset = -1
            part.append.info.bad_record = -1
            if fault:
                part.append.error = fault
            elif decided != NULL and decided[0]:
                part.append.error = decided[0]
            elif produce.acks < -1 or produce.acks > 1:
                part.append.error = INVALID_REQUIRED_ACKS
            elif topic == NULL:
                part.append.error = UNKNOWN_TOPIC_ID if walk.version >= 13 else UNKNOWN_TOPIC_OR_PARTITION
            elif walk.partition < 0 or walk.partition >= topic.partitions:
                part.append.error = UNKNOWN_TOPIC_OR_PARTITION
            elif topic.internal:
                part.append.error = INVALID_TOPIC_EXCEPTION
            elif topic.logs[walk.partition] == NULL:      # its directory failed before it was opened
                part.append.error = KAFKA_STORAGE_ERROR
            else:
                part.log = log_ref(topic.logs[walk.partition])
                native = True
                part.append.error = check_part(plane, produce, &walk, part, transactional, &native)
                all_native = all_native and (native or decided != NULL)
            if decided != NULL:
                decided += 1
            part += 1
        if walk.flexible:
            take_tags(&walk.r)
    return all_native


cdef void queue_part(Plane* plane, ProducePart* part) noexcept nogil:
    """Join the turn's group of its log."""
    cdef uint64_t bucket = (<uint64_t>part.log >> 6) % TURN_BUCKETS
    cdef Group* group = plane.group_of[bucket]
    while group != NULL and group.log != part.log:
        group = group.same_hash
    if group == NULL:
        group = <Group*>turn_alloc(plane, sizeof(Group))
        if group == NULL:
            part.append.error = KAFKA_STORAGE_ERROR
            return
        group.log = part.log
        group.same_hash = plane.group_of[bucket]
        plane.group_of[bucket] = group
        if plane.last_group == NULL:
            plane.groups = group
        else:
            plane.last_group.next = group
        plane.last_group = group
        group.first = &part.append
    else:
        group.last.next = &part.append
    group.last = &part.append


cdef Served produce_serve(Plane* plane, Slot* slot, uint8_t* body, int32_t size, const int16_t* decided, int32_t decisions) noexcept nogil:
    """Take in one request. `decided`: what Python, which opened its batches, found per partition; NULL the first time."""
    cdef Produce* produce = <Produce*>turn_alloc(plane, sizeof(Produce))
    cdef bint transactional = False
    cdef int32_t i
    if produce == NULL:
        return MALFORMED
    produce.slot = slot
    produce.body = body
    produce.end = body + size
    produce.version = slot.api_version
    produce.flexible = slot.api_version >= 9
    if not count_parts(produce, &transactional) or (decided != NULL and decisions != produce.parts):
        return MALFORMED
    produce.part = <ProducePart*>turn_alloc(plane, produce.parts * sizeof(ProducePart))
    if produce.part == NULL:
        return MALFORMED
    slot.silent = produce.acks == 0
    if not prepare(plane, produce, transactional, decided):
        for i in range(produce.parts):
            log_unref(produce.part[i].log)
        return FALLS_THROUGH
    for i in range(produce.parts):
        if produce.part[i].append.error == 0:
            queue_part(plane, &produce.part[i])
    if plane.last_produce == NULL:
        plane.produces = produce
    else:
        plane.last_produce.next = produce
    plane.last_produce = produce
    counter_add(&plane.produced, 1)
    return SERVED


# ---- the end of the turn

cdef void produce_commit(Plane* plane) noexcept nogil:
    cdef Group* group = plane.groups
    cdef Produce* produce = plane.produces
    cdef int64_t started = real_monotonic_ns() if plane.timed else 0
    cdef int32_t i
    while group != NULL:
        log_append(group.log, group.first, plane.now_ms, &plane.mailbox, &plane.news)
        plane.group_of[(<uint64_t>group.log >> 6) % TURN_BUCKETS] = NULL
        group = group.next
    if plane.timed:
        share_time(produce, real_monotonic_ns() - started)
    while produce != NULL:
        answer(plane, produce)
        for i in range(produce.parts):
            if produce.part[i].append.error:
                counter_add(&plane.failed_produces, 1)
            log_unref(produce.part[i].log)
        produce = produce.next
    plane.groups = plane.last_group = NULL
    plane.produces = plane.last_produce = NULL


cdef void share_time(Produce* produce, int64_t ns) noexcept nogil:
    """Appending took all of them together so long: to each connection its part, by bytes."""
    cdef Produce* each = produce
    cdef int64_t bytes = 1
    while each != NULL:
        bytes += each.slot.request_size
        each = each.next
    while produce != NULL:
        produce.slot.connection.spent_ns += ns * produce.slot.request_size // bytes
        produce = produce.next


cdef void answer(Plane* plane, Produce* produce) noexcept nogil:
    cdef Slot* slot = produce.slot
    cdef int32_t throttle_ms = throttle_request(plane, slot.connection, QUOTA_PRODUCE, slot.request_size)
    cdef int32_t i
    cdef bint failed = False
    if slot.silent:
        for i in range(produce.parts):
            failed = failed or produce.part[i].append.error != 0
        # acks=0: the only way to tell such a client that something went wrong
        if failed:
            slot_hang_up(slot)
        else:
            slot.size = 0
            slot_ready(slot)
        return
    if not write_reply(produce, throttle_ms):
        slot_hang_up(slot)
        return
    slot_finish(slot)
    if produce.acks == -1 and hold_back(plane, produce):
        return
    slot_ready(slot)


cdef uint8_t* write_topic(uint8_t* p, Walk* walk) noexcept nogil:
    if walk.version < 13:
        if walk.flexible:
            p += put_uvarint(p, <uint32_t>walk.topic_size + 1)
        else:
            put16(p, <uint16_t>walk.topic_size)
            p += 2
    memcpy(p, walk.topic, walk.topic_size)
    p += walk.topic_size
    return p + put_count(p, walk.flexible, walk.parts)


cdef uint8_t* write_part(uint8_t* p, Walk* walk, Append* result) noexcept nogil:
    cdef bint good = result.error == 0
    put32(p, walk.partition)
    put16(p + 4, <uint16_t>result.error)
    put64(p + 6, <uint64_t>(result.base_offset if good else -1))
    put64(p + 14, <uint64_t>(result.append_time if good else -1))
    p += 22
    if walk.version >= 5:
        put64(p, <uint64_t>result.log_start_offset)
        p += 8
    if walk.version >= 8:
        p = write_blame(p, walk.flexible, result)
        if walk.flexible:
            p[0] = 0                                 # tags
            p += 1
    return p


cdef uint8_t* write_blame(uint8_t* p, bint flexible, const Append* result) noexcept nogil:
    """Which record is to blame, and a sentence (KIP-467): the client fails that record with it, and tells the others why they went too."""
    cdef bint blamed = result.error != 0 and result.info.bad_record >= 0
    cdef const char* said = NULL
    p += put_count(p, flexible, blamed)
    if blamed:
        said = BAD_TIMESTAMP if result.error == INVALID_TIMESTAMP else BAD_RECORD
        put32(p, result.info.bad_record)
        p = write_text(p + 4, flexible, NULL)        # the sentence below says it
        if flexible:
            p[0] = 0                                 # tags
            p += 1
    return write_text(p, flexible, said)


cdef uint8_t* write_text(uint8_t* p, bint flexible, const char* text) noexcept nogil:
    cdef int32_t size = -1 if text == NULL else <int32_t>strlen(text)
    if flexible:
        p += put_uvarint(p, <uint32_t>(size + 1))
    else:
        put16(p, <uint16_t>size)
        p += 2
    if size > 0:
        memcpy(p, text, size)
        p += size
    return p


cdef int32_t room_of(const ProducePart* part, int32_t count) noexcept nogil:
    cdef int32_t i, room = count * PART_ROOM
    for i in range(count):
        if part[i].append.error and part[i].append.info.bad_record >= 0:
            room += BLAME_ROOM
    return room


cdef bint write_reply(Produce* produce, int32_t throttle_ms) noexcept nogil:
    """The whole reply, by a second walk over the request. The room asked for covers the largest version's fields."""
    cdef Slot* slot = produce.slot
    cdef Walk walk
    cdef ProducePart* part = produce.part
    cdef uint8_t* p
    cdef int32_t i, k
    cdef bint transactional
    walk_start(&walk, produce)
    read_head(&walk, produce, &transactional)
    p = slot_room(slot, 16)
    if p == NULL:
        return False
    if walk.flexible:
        p[0] = 0                                     # header tags
        p += 1
    p += put_count(p, walk.flexible, walk.topics)
    slot.size = <int32_t>(p - slot.data)
    for i in range(walk.topics):
        walk_topic(&walk)
        p = slot_room(slot, walk.topic_size + 16 + room_of(part, walk.parts))
        if p == NULL:
            return False
        p = write_topic(p, &walk)
        for k in range(walk.parts):
            walk_part(&walk)
            part.append.position = p + 4 - slot.data     # from here on: where its error stands
            p = write_part(p, &walk, &part.append)
            part += 1
        if walk.flexible:
            take_tags(&walk.r)
            p[0] = 0
            p += 1
        slot.size = <int32_t>(p - slot.data)
    p = slot_room(slot, 8)
    if p == NULL:
        return False
    put32(p, throttle_ms)
    slot.size += 4
    if walk.flexible:
        p[4] = 0
        slot.size += 1
    return True


# ---- acks=all

cdef bint hold_back(Plane* plane, Produce* produce) noexcept nogil:
    """Wait for the high watermarks that are not there yet; False when there is nothing to wait for."""
    cdef Commit* commit = NULL
    cdef Append* result
    cdef Waiter* waiter
    cdef int32_t i
    for i in range(produce.parts):
        result = &produce.part[i].append
        if result.error or result.committed:
            continue
        if commit == NULL:
            commit = commit_new(plane, produce.slot, produce.parts)
        waiter = <Waiter*>calloc(1, sizeof(Waiter))
        if commit == NULL or waiter == NULL:
            free(waiter)
            put16(produce.slot.data + result.position, REQUEST_TIMED_OUT)
            continue
        waiter.letter.kind = LETTER_WAITER
        waiter.owner = commit
        commit.error_at[i] = <int32_t>result.position
        if log_wait(produce.part[i].log, waiter, &plane.mailbox, WAITS_FOR_OFFSET, result.end_offset):
            commit.waiters[i] = waiter
            commit.waiting += 1
        else:
            put16(produce.slot.data + result.position, <uint16_t>max(log_outcome(produce.part[i].log, result.end_offset), 0))
            free(waiter)
    if commit == NULL:
        return False
    if commit.waiting == 0:
        commit_free(plane, commit)
        return False
    produce.slot.commit = commit
    timer_set(plane, &commit.timer, plane.now_ns + <int64_t>produce.timeout_ms * 1000000)
    return True


cdef Commit* commit_new(Plane* plane, Slot* slot, int32_t parts) noexcept nogil:
    cdef Commit* commit = <Commit*>calloc(1, sizeof(Commit) + parts * (sizeof(Waiter*) + sizeof(int32_t)))
    if commit != NULL:
        commit.plane = plane
        commit.slot = slot
        commit.timer.at = -1
        commit.timer.kind = TIMER_COMMIT
        commit.timer.owner = commit
        commit.count = parts
        commit.waiters = <Waiter**>(commit + 1)
        commit.error_at = <int32_t*>(commit.waiters + parts)
    return commit


cdef void commit_free(Plane* plane, Commit* commit) noexcept nogil:
    cdef int32_t i
    for i in range(commit.count):
        if commit.waiters[i] != NULL:
            waiter_drop(commit.waiters[i])
    timer_cancel(plane, &commit.timer)
    free(commit)


cdef void commit_news(Plane* plane, Waiter* waiter) noexcept nogil:
    """A high watermark moved, or a log failed. The waiter's letter has been taken: `queued` is 0 again."""
    cdef Commit* commit = <Commit*>waiter.owner
    cdef int16_t outcome = log_outcome(waiter.log, waiter.offset)
    cdef int32_t i
    if outcome < 0:
        return
    for i in range(commit.count):
        if commit.waiters[i] == waiter:
            put16(commit.slot.data + commit.error_at[i], <uint16_t>outcome)
            commit.waiters[i] = NULL
    waiter_drop(waiter)
    commit.waiting -= 1
    if commit.waiting == 0:
        release(plane, commit)


cdef void release(Plane* plane, Commit* commit) noexcept nogil:
    cdef Slot* slot = commit.slot
    slot.commit = NULL
    commit_free(plane, commit)
    slot_ready(slot)


cdef void commit_expired(Plane* plane, Commit* commit) noexcept nogil:
    cdef int32_t i
    for i in range(commit.count):
        if commit.waiters[i] != NULL:
            put16(commit.slot.data + commit.error_at[i], REQUEST_TIMED_OUT)
    release(plane, commit)


cdef void commit_cancel(Plane* plane, Commit* commit) noexcept nogil:
    """The client is gone."""
    commit_free(plane, commit)
