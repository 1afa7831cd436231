"""What a log knows of its idempotent producers: per producer id the epoch and the last five batches.

Borrowed from Kafka's ProducerAppendInfo and ProducerStateEntry: a batch whose sequences equal one in the window is a
repeat and keeps its first offset; a lower epoch is fenced; a new epoch starts at sequence 0; a producer nobody knows
(its state expired) may start anywhere.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from kafpy._core.batch cimport BatchInfo
from kafpy._core.segment cimport batches_visit

cdef enum: CONTROL = 0x20
cdef int16_t OUT_OF_ORDER_SEQUENCE_NUMBER = 45
cdef int16_t INVALID_PRODUCER_EPOCH = 47


cdef void producers_free(ProducerTable* table) noexcept nogil:
    free(table.slots)
    table.slots = NULL
    table.room = table.used = 0


cdef void producers_clear(ProducerTable* table) noexcept nogil:
    cdef int32_t i
    for i in range(table.room):
        table.slots[i].id = -1
    table.used = 0


cdef Producer* find(ProducerTable* table, int64_t id) noexcept nogil:
    """The producer's slot, or the free one where it would go; NULL in an empty table."""
    cdef uint64_t at
    if table.room == 0:
        return NULL
    at = (<uint64_t>id * 0x9E3779B97F4A7C15ULL) >> 33
    while True:
        at &= table.room - 1
        if table.slots[at].id == id or table.slots[at].id < 0:
            return &table.slots[at]
        at += 1


cdef bint rebuild(ProducerTable* table, int32_t room, int64_t oldest_timestamp) noexcept nogil:
    cdef ProducerTable made
    cdef int32_t i
    made.slots = <Producer*>malloc(room * sizeof(Producer))
    if made.slots == NULL:
        return False
    made.room = room
    producers_clear(&made)
    for i in range(table.room):
        if table.slots[i].id >= 0 and table.slots[i].last_timestamp >= oldest_timestamp:
            find(&made, table.slots[i].id)[0] = table.slots[i]
            made.used += 1
    free(table.slots)
    table[0] = made
    return True


cdef int32_t sequence_after(int32_t sequence, int32_t by) noexcept nogil:
    """Sequences wrap from 2^31-1 to 0."""
    return <int32_t>((<int64_t>sequence + by) & 0x7FFFFFFF)


cdef int16_t producers_check(ProducerTable* table, const BatchInfo* info, int64_t* duplicate_offset) noexcept nogil:
    cdef Producer* known = find(table, info.producer_id)
    cdef int32_t i, last = sequence_after(info.base_sequence, info.last_offset_delta)
    if known == NULL or known.id < 0:
        return 0
    if info.producer_epoch < known.epoch:
        return INVALID_PRODUCER_EPOCH
    if info.producer_epoch > known.epoch:
        return 0 if info.base_sequence == 0 else OUT_OF_ORDER_SEQUENCE_NUMBER
    for i in range(known.count):
        if known.window[i].first_sequence == info.base_sequence and known.window[i].last_sequence == last:
            duplicate_offset[0] = known.window[i].base_offset
            return DUPLICATE
    if info.base_sequence == sequence_after(known.window[known.newest].last_sequence, 1):
        return 0
    return OUT_OF_ORDER_SEQUENCE_NUMBER


cdef bint producers_note(ProducerTable* table, const BatchInfo* info, int64_t base_offset, int64_t now_ms, int64_t expiry_ms) noexcept nogil:
    """Remember an appended batch; False when there is no memory for a new producer."""
    cdef Producer* known = find(table, info.producer_id)
    cdef SequencedBatch* batch
    if known == NULL or (known.id < 0 and table.used * 4 >= table.room * 3):
        # Expired producers go first; the table grows only when the living ones fill it.
        if not rebuild(table, table.room if table.room else 8, now_ms - expiry_ms):
            return False
        if table.used * 2 >= table.room and not rebuild(table, table.room * 2, now_ms - expiry_ms):
            return False
        known = find(table, info.producer_id)
    if known.id < 0:
        known.id = info.producer_id
        known.count = 0
        known.epoch = info.producer_epoch
        table.used += 1
    if known.epoch != info.producer_epoch:
        known.epoch = info.producer_epoch
        known.count = 0
    known.newest = 0 if known.count == 0 else <int16_t>((known.newest + 1) % BATCH_WINDOW)
    if known.count < BATCH_WINDOW:
        known.count += 1
    known.last_timestamp = info.max_timestamp if info.max_timestamp > now_ms else now_ms
    batch = &known.window[known.newest]
    batch.first_sequence = info.base_sequence
    batch.last_sequence = sequence_after(info.base_sequence, info.last_offset_delta)
    batch.base_offset = base_offset
    return True


# ---- replay

cdef struct Replay:
    ProducerTable* table
    int64_t from_offset
    int64_t expiry_ms
    bint full


cdef bint replay_batch(void* state, const BatchInfo* info, int64_t position, const uint8_t* data) noexcept nogil:
    cdef Replay* replay = <Replay*>state
    if info.base_offset < replay.from_offset or info.producer_id < 0 or info.base_sequence < 0 or info.attributes & CONTROL:
        return True
    # Time is the batch's own, so that old producers expire.
    replay.full = not producers_note(replay.table, info, info.base_offset, info.max_timestamp, replay.expiry_ms)
    return not replay.full


cdef bint producers_replay(ProducerTable* table, int fd, int64_t size, int64_t from_offset, int64_t expiry_ms) noexcept nogil:
    """Note the batches of a segment file as their appends did. False: it cannot be read, or there is no memory."""
    cdef Replay replay = Replay(table, from_offset, expiry_ms, False)
    return batches_visit(fd, 0, size, False, replay_batch, &replay) >= 0 and not replay.full
