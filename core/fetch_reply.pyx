"""The reply to a Fetch: which partitions it shows, and its bytes with file slices between them.

reply     throttle int32, error int16, session id int32 (7), [topic, [partition, error, high watermark, last stable, log start (5),
          aborted transactions, preferred replica (11), records]]
"""

from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from kafpy._core.atomic cimport atomic_add64, counter_add
from kafpy._core.bytes cimport put16, put32, put64, put_count, put_uvarint
from kafpy._core.connection cimport slot_file, slot_finish, slot_ready, slot_room
from kafpy._core.posix cimport pread
from kafpy._core.sessions cimport part_release
from kafpy._core.state cimport *

cdef int16_t UNKNOWN_TOPIC_OR_PARTITION = 3
cdef int16_t UNKNOWN_TOPIC_ID = 100
cdef enum: COPY_BELOW = 16384          # cheaper to copy than to sendfile

cdef bint worth_showing(FetchPart* part) noexcept nogil:
    """FetchSession.CachedPartition.maybeUpdateResponseData: data, an error, or news of the limits."""
    return (part.error != 0 or part.slice.size > 0 or not part.told
            or part.told_high_watermark != part.position.high_watermark or part.told_log_start != part.position.log_start_offset)


cdef FetchTopic* reply_choose(Fetch* fetch) noexcept nogil:
    """Hang the partitions to show under their topics, in order; returns the first topic."""
    cdef FetchSession* session = fetch.session
    cdef FetchPart* part = session.first if fetch.full else session.fresh_first
    cdef FetchTopic* first = NULL
    cdef FetchTopic* last = NULL
    while part != NULL:
        if fetch.full or worth_showing(part):
            part.next_shown = NULL
            if part.topic.shown == NULL:
                part.topic.shown = part
                part.topic.shown_count = 0
                part.topic.next_shown = NULL
                if last == NULL:
                    first = part.topic
                else:
                    last.next_shown = part.topic
                last = part.topic
            else:
                part.topic.shown_last.next_shown = part
            part.topic.shown_last = part
            part.topic.shown_count += 1
        part = part.next if fetch.full else part.next_fresh
    return first


cdef bint reply_head(Slot* slot, int32_t throttle_ms, int16_t error, int32_t session_id, FetchTopic* topic) noexcept nogil:
    cdef bint flexible = slot.api_version >= 12
    cdef uint8_t* p = slot_room(slot, 24)
    cdef int32_t topics = 0
    if p == NULL:
        return False
    while topic != NULL:
        topics += 1
        topic = topic.next_shown
    if flexible:
        p[0] = 0
        p += 1
    put32(p, throttle_ms)
    p += 4
    if slot.api_version >= 7:
        put16(p, <uint16_t>error)
        put32(p + 2, session_id)
        p += 6
    p += put_count(p, flexible, topics)
    slot.size = <int32_t>(p - slot.data)
    return True


cdef bint reply_tail(Slot* slot) noexcept nogil:
    cdef uint8_t* p
    if slot.api_version >= 12:
        p = slot_room(slot, 1)
        if p == NULL:
            return False
        p[0] = 0
        slot.size += 1
    return True


cdef bint reply_error(Slot* slot, int16_t error) noexcept nogil:
    if not reply_head(slot, 0, error, 0, NULL) or not reply_tail(slot):
        return False
    slot_finish(slot)
    slot_ready(slot)
    return True


cdef bint reply_topic(Slot* slot, bint by_id, FetchTopic* topic) noexcept nogil:
    cdef bint flexible = slot.api_version >= 12
    cdef uint8_t* p = slot_room(slot, 270)
    cdef FetchPart* part = topic.shown
    if p == NULL:
        return False
    if by_id:
        memcpy(p, topic.id, 16)
        p += 16
    else:
        if flexible:
            p += put_uvarint(p, <uint32_t>topic.name_size + 1)
        else:
            put16(p, <uint16_t>topic.name_size)
            p += 2
        memcpy(p, topic.name, topic.name_size)
        p += topic.name_size
    p += put_count(p, flexible, topic.shown_count)
    slot.size = <int32_t>(p - slot.data)
    while part != NULL:
        if not write_part(slot, part):
            return False
        part = part.next_shown
    return not flexible or reply_tail(slot)


cdef bint write_part(Slot* slot, FetchPart* part) noexcept nogil:
    cdef bint flexible = slot.api_version >= 12
    cdef uint8_t* p = slot_room(slot, 64)
    cdef int16_t version = slot.api_version
    cdef bint unknown
    if p == NULL:
        return False
    if part.error:
        counter_add(&slot.connection.plane.failed_fetches, 1)
        part.position.high_watermark = part.position.last_stable_offset = part.position.log_start_offset = -1
    put32(p, part.index)
    put16(p + 4, <uint16_t>part.error)
    put64(p + 6, <uint64_t>part.position.high_watermark)
    put64(p + 14, <uint64_t>part.position.last_stable_offset)
    p += 22
    if version >= 5:
        put64(p, <uint64_t>part.position.log_start_offset)
        p += 8
    # aborted transactions: null to those who did not ask, but none where Kafka answers without a look at the partition
    unknown = part.error == UNKNOWN_TOPIC_OR_PARTITION or part.error == UNKNOWN_TOPIC_ID
    p += put_count(p, flexible, 0 if unknown or (<Fetch*>slot.fetch).committed_only else -1)
    if version >= 11:
        put32(p, 0xFFFFFFFF)                       # preferred read replica: none
        p += 4
    if flexible:
        p += put_uvarint(p, <uint32_t>part.slice.size + 1)
    else:
        put32(p, <uint32_t>part.slice.size)
        p += 4
    slot.size = <int32_t>(p - slot.data)
    part.told = part.error == 0
    part.told_high_watermark = part.position.high_watermark
    part.told_log_start = part.position.log_start_offset
    if part.log != NULL and not (<Fetch*>slot.fetch).replica:
        atomic_add64(&part.log.reads, 1)
        atomic_add64(&part.log.bytes_out, part.slice.size)
    return write_records(slot, part) and (not flexible or reply_tail(slot))


cdef bint write_records(Slot* slot, FetchPart* part) noexcept nogil:
    cdef uint8_t* p
    cdef bint good = True
    if part.slice.size == 0:
        return True
    part.sent = True
    if part.slice.size < COPY_BELOW:
        p = slot_room(slot, <int32_t>part.slice.size)
        good = p != NULL and pread(part.slice.file.fd, p, part.slice.size, part.slice.position) == part.slice.size
        slot.size += <int32_t>part.slice.size
        part_release(part)
        return good
    good = slot_file(slot, &part.slice)
    if good:
        part.slice.file = NULL                     # the slot's now
    part_release(part)
    return good
