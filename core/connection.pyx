"""One client's side of a plane without its socket: bytes of unfinished frames, and ordered slots for replies.

A slot is one request. It is filled at once, later in the turn, or by a waiter or Python after many turns; replies leave in
the order of the requests all the same. A reply is bytes with slices of files between them.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove, memset
from kafpy._core.atomic cimport atomic_add64
from kafpy._core.bytes cimport put32
from kafpy._core.posix cimport PAGE_BYTES, aligned_alloc
from kafpy._core.segment cimport file_unref
from kafpy._core.state cimport *
from kafpy._core.timers cimport timer_cancel, timer_set
from kafpy._core.times cimport TIMED_APIS, times_add

cdef enum: CHUNK = 65536
cdef enum: KEPT_SLOTS = 1024
cdef enum: SPARE_SMALLEST = 18        # 2**18: spare buffers start at 256 KiB


# ---- memory of one turn

cdef void* turn_alloc(Plane* plane, int64_t size) noexcept nogil:
    """Zeroed memory that lives until the turn's commit."""
    cdef Chunk* chunk = plane.chunks
    cdef int64_t room
    cdef void* found
    size = (size + 15) & ~15
    if chunk == NULL or chunk.room - chunk.used < size:
        room = max(<int64_t>CHUNK, size)
        chunk = <Chunk*>malloc(sizeof(Chunk) + 16 + room)
        if chunk == NULL:
            return NULL
        chunk.room = room
        chunk.used = 0
        chunk.next = plane.chunks
        plane.chunks = chunk
    found = <uint8_t*>chunk + ((sizeof(Chunk) + 15) & ~15) + chunk.used
    chunk.used += size
    memset(found, 0, size)
    return found


cdef void turn_reset(Plane* plane) noexcept nogil:
    """Forget the turn's objects; one chunk of the usual size is kept."""
    cdef Chunk* chunk = plane.chunks
    cdef Chunk* kept = NULL
    cdef Chunk* after
    while chunk != NULL:
        after = chunk.next
        if kept == NULL and chunk.room == CHUNK:
            kept = chunk
            kept.next = NULL
            kept.used = 0
        else:
            free(chunk)
        chunk = after
    plane.chunks = kept


# ---- slots

cdef Slot* slot_new(Connection* connection, int16_t api_key, int16_t api_version, int32_t correlation_id) noexcept nogil:
    """The next reply in order; its first 8 bytes (size, correlation id) are laid out. NULL: no memory."""
    cdef Plane* plane = connection.plane
    cdef Slot* slot = plane.free_slots
    if slot != NULL:
        plane.free_slots = slot.next
        plane.free_slot_count -= 1
    else:
        slot = <Slot*>malloc(sizeof(Slot))
        if slot == NULL:
            return NULL
    memset(slot, 0, sizeof(Slot) - INLINE_REPLY)
    slot.connection = connection
    slot.api_key = api_key
    slot.api_version = api_version
    slot.correlation_id = correlation_id
    slot.data = slot.local
    slot.room = INLINE_REPLY
    slot.arrived_ns = plane.real_ns
    slot.size = 8
    put32(slot.data + 4, correlation_id)
    if connection.last == NULL:
        connection.first = slot
    else:
        connection.last.next = slot
    connection.last = slot
    connection.slots += 1
    return slot


cdef void slot_free(Plane* plane, Slot* slot) noexcept nogil:
    cdef int32_t i
    for i in range(slot.pieces_sent, slot.piece_count):
        file_unref(slot.pieces[i].slice.file)
    free(slot.pieces)
    if slot.data != slot.local:
        free(slot.data)
    if plane.free_slot_count < KEPT_SLOTS:
        slot.next = plane.free_slots
        plane.free_slots = slot
        plane.free_slot_count += 1
    else:
        free(slot)


cdef uint8_t* slot_room(Slot* slot, int32_t size) noexcept nogil:
    """Where `size` more bytes of the reply go; the caller moves slot.size. NULL: no memory."""
    cdef int32_t room = slot.room
    cdef uint8_t* grown
    if slot.size + size > room:
        if slot.size + <int64_t>size > 1 << 30:
            return NULL
        while room < slot.size + size:
            room *= 2
        grown = <uint8_t*>realloc(NULL if slot.data == slot.local else slot.data, room)
        if grown == NULL:
            return NULL
        if slot.data == slot.local:
            memcpy(grown, slot.local, slot.size)
        slot.data = grown
        slot.room = room
    return slot.data + slot.size


cdef bint slot_file(Slot* slot, Slice* slice) noexcept nogil:
    """Put a slice behind the bytes written so far. The slot takes over the slice's reference."""
    cdef FilePiece* grown
    if slot.piece_count == slot.piece_room:
        grown = <FilePiece*>realloc(slot.pieces, max(slot.piece_room * 2, 2) * sizeof(FilePiece))
        if grown == NULL:
            return False
        slot.pieces = grown
        slot.piece_room = max(slot.piece_room * 2, 2)
    slot.pieces[slot.piece_count].after = slot.size
    slot.pieces[slot.piece_count].slice = slice[0]
    slot.piece_count += 1
    return True


cdef void slot_finish(Slot* slot) noexcept nogil:
    """All is written: fill in the frame's size."""
    cdef int64_t total = slot.size - 4
    cdef int32_t i
    for i in range(slot.piece_count):
        total += slot.pieces[i].slice.size
    put32(slot.data, <uint32_t>total)


cdef void slot_hold(Slot* slot, int64_t bytes) noexcept nogil:
    """The request holds memory until it is answered: that counts against its connection."""
    slot.held += <int32_t>min(bytes, <int64_t>UNSENT_PER_CONNECTION)
    slot.connection.unsent += <int32_t>min(bytes, <int64_t>UNSENT_PER_CONNECTION)


cdef void slot_ready(Slot* slot) noexcept nogil:
    """The reply may leave when its turn comes."""
    slot.state = SLOT_READY
    if slot.connection != NULL:
        if slot.connection.plane.delay_ns:
            slot.due_ns = slot.connection.plane.real_ns + slot.connection.plane.delay_ns
        slot.connection.unsent += slot.size - slot.held
        slot.held = 0
        connection_touch(slot.connection)


cdef void slot_hang_up(Slot* slot) noexcept nogil:
    slot.hang_up = True
    slot.size = 0
    slot_ready(slot)


cdef Slot* slot_sent(Connection* connection) noexcept nogil:
    """The first slot has left: free it and return the next."""
    cdef Slot* slot = connection.first
    connection.first = slot.next
    if connection.first == NULL:
        connection.last = NULL
    connection.slots -= 1
    connection.unsent -= slot.size
    if 0 <= slot.api_key < TIMED_APIS:
        times_add(&connection.plane.times[slot.api_key], connection.plane.reply_ns - slot.arrived_ns)
    slot_free(connection.plane, slot)
    return connection.first


# ---- connections

cdef Connection* connection_new(Plane* plane, int fd) noexcept nogil:
    cdef Connection* connection = <Connection*>calloc(1, sizeof(Connection))
    if connection != NULL:
        connection.plane = plane
        connection.fd = fd
        connection.mute.at = -1
        connection.mute.kind = TIMER_MUTE
        connection.mute.owner = connection
        connection.late.at = -1
        connection.late.kind = TIMER_LATE
        connection.late.owner = connection
    return connection


cdef void connection_free(Connection* connection) noexcept nogil:
    """Slots that are outside or waited for live on without it; their owners free them."""
    cdef Slot* slot = connection.first
    cdef Slot* after
    while slot != NULL:
        after = slot.next
        slot.connection = NULL
        if not slot.outside:
            slot_free(connection.plane, slot)
        slot = after
    connection_drop_buffer(connection)
    free(connection)


cdef void connection_touch(Connection* connection) noexcept nogil:
    """Look at it at the end of the turn: replies to send, frames that may now be served, interest to change."""
    if not connection.touched:
        connection.touched = True
        connection.next_touched = connection.plane.touched
        connection.plane.touched = connection


cdef void connection_mute(Connection* connection, int64_t ms) noexcept nogil:
    """Read nothing more for `ms`; what is under way is answered."""
    cdef Plane* plane = connection.plane
    cdef int64_t until = plane.now_ns + ms * 1000000
    if connection.mute.at >= 0 and connection.mute.deadline_ns >= until:
        return
    timer_cancel(plane, &connection.mute)
    timer_set(plane, &connection.mute, until)


cdef bint connection_may_read(Connection* connection) noexcept nogil:
    """Back-pressure: a client that does not take its replies, has too much under way, or is above a quota, is not read."""
    return not connection.blocked and connection.mute.at < 0 and connection.slots < SLOTS_PER_CONNECTION and connection.unsent < UNSENT_PER_CONNECTION


# Buffers of 256 KiB and more are recycled: fresh ones cost a page fault per 4 KiB, more than receiving the bytes.

cdef int spare_class(int64_t size) noexcept nogil:
    cdef int k = 0
    while (<int64_t>1 << (SPARE_SMALLEST + k)) < size:
        k += 1
    return k


cdef bint connection_grow(Connection* connection, int64_t wanted) noexcept nogil:
    """Have room for `wanted` bytes in all. Doubles, so that a large frame that never comes costs little."""
    cdef Plane* plane = connection.plane
    cdef int64_t room
    cdef uint8_t* grown
    cdef int k
    if wanted <= connection.room:
        return True
    if wanted < 1 << SPARE_SMALLEST:
        room = 512
        while room < wanted:
            room *= 2
        grown = <uint8_t*>malloc(room)
    else:
        k = spare_class(wanted)
        room = <int64_t>1 << (SPARE_SMALLEST + k)
        if k < 8 and plane.spare[k] != NULL:
            grown = plane.spare[k]
            plane.spare[k] = NULL
        else:
            grown = <uint8_t*>aligned_alloc(PAGE_BYTES, room)
    if grown == NULL:
        return False
    memcpy(grown, connection.buffer, connection.have)
    release_buffer(connection)
    connection.buffer = grown
    connection.room = room
    atomic_add64(&plane.server.queued_bytes, room)
    return True


cdef void release_buffer(Connection* connection) noexcept nogil:
    cdef Plane* plane = connection.plane
    cdef int k
    if connection.buffer == NULL:
        return
    atomic_add64(&plane.server.queued_bytes, -connection.room)
    if connection.room >= 1 << SPARE_SMALLEST:
        k = spare_class(connection.room)
        if k < 4 and plane.spare[k] == NULL:      # one of each size up to 2 MiB
            plane.spare[k] = connection.buffer
            connection.buffer = NULL
    free(connection.buffer)
    connection.buffer = NULL
    connection.room = 0


cdef void connection_drop_buffer(Connection* connection) noexcept nogil:
    release_buffer(connection)
    connection.have = 0


cdef bint connection_keep(Connection* connection, const uint8_t* data, int64_t size) noexcept nogil:
    """Hold bytes that are not served yet, in place of what was held."""
    cdef uint8_t* old = connection.buffer
    if size == 0:
        connection_drop_buffer(connection)
        return True
    if connection.buffer != NULL and data >= old and data < old + connection.room:
        if data != old:
            memmove(old, data, size)
        connection.have = size
        return True
    connection.have = 0
    if not connection_grow(connection, size):
        return False
    memcpy(connection.buffer, data, size)
    connection.have = size
    return True
