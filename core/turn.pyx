"""A plane's thread: wait, drain every ready socket, commit, send; and the frames' way to the two native APIs or to Python.

One turn: epoll_wait; mail; at most 256 KiB from each readable socket into the arena, served frame by frame. When the
arena is full or all are drained, `turn_commit` appends what was produced, wakes the fetches that this satisfies, and sends
each connection's replies. Bytes that no frame used up go to the connection's own buffer; an idle connection owns none.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from kafpy._core.atomic cimport atomic_add64, atomic_get32, atomic_get64, atomic_get_ptr, atomic_set32, counter_add
from kafpy._core.bytes cimport get16, get32, put32
from kafpy._core.connection cimport *
from kafpy._core.faults cimport FAULT_HANG_UP, fault_of
from kafpy._core.fetch cimport fetch_expired, fetch_found, fetch_news, fetch_serve
from kafpy._core.partition cimport WAITS_FOR_DATA, Waiter
from kafpy._core.posix cimport *
from kafpy._core.produce cimport (
    FALLS_THROUGH, MALFORMED, SERVED, Served, commit_expired, commit_news, produce_commit, produce_serve
)
from kafpy._core.reader cimport ELEMENT_BUDGET, Reader, take, take16, take_tags
from kafpy._core.quotas cimport QUOTA_REQUEST, QuotaRules, client_hold
from kafpy._core.runtime cimport *
from kafpy._core.sessions cimport session_free
from kafpy._core.state cimport *
from kafpy._core.table cimport table_enter, table_leave
from kafpy._core.throttle cimport throttle_bind, throttle_spent
from kafpy._core.timers cimport timer_due
from kafpy._core.transport cimport *

cdef enum: ARENA = 1 << 20
cdef enum: READ_MOST = 256 << 10         # of one connection in one turn
cdef enum: OWN_BUFFER = 128 << 10        # a frame larger than this is received into its connection's own buffer
cdef enum: WHOLE_AT_ONCE = 2 << 20       # up to here that buffer is the frame's size from the start
cdef enum: EVENTS = 256
cdef int64_t SECOND_NS = 1000000000
cdef int64_t FRAME_GRACE_NS = 30 * 1000000000     # an unfinished frame may take this long, and a second for each 64 KiB


cdef void plane_look_at_clock(Plane* plane) noexcept nogil:
    plane.real_ns = real_monotonic_ns()
    plane.now_ns = plane.real_ns + atomic_get64(&plane.server.runtime.clock.shift_ns)
    plane.now_ms = clock_wall_ms(&plane.server.runtime.clock)


cdef void look_at_rules(Plane* plane) noexcept nogil:
    cdef QuotaRules* rules = <QuotaRules*>atomic_get_ptr(&plane.server.quotas.rules)
    plane.timed = rules != NULL and rules.timed
    plane.delay_ns = atomic_get64(&plane.server.faults.delay_ns)


cdef void refuse(Plane* plane, Connection* connection) noexcept nogil:
    """Close a connection for what its client sent."""
    connection.hang_up = True
    tell_refusal(plane, &connection.peer)


# ---- frames

cdef void forward(Plane* plane, Connection* connection, Slot* slot, const uint8_t* frame, int32_t size) noexcept nogil:
    """Put a request into the inbox for Python."""
    cdef Inbox* inbox = &plane.server.inbox
    cdef InboxItem* item = <InboxItem*>malloc(sizeof(InboxItem) + size)
    cdef uint64_t one = 1
    cdef bint was_empty
    if item == NULL:
        connection.hang_up = True
        return
    item.next = NULL
    item.slot = slot
    item.plane = plane
    item.peer = connection.peer
    item.own = connection.own
    item.listener = connection.listener
    item.fault = slot.fault
    item.client = NULL
    item.meter = connection.quota.meter[QUOTA_REQUEST]
    if item.meter != NULL:
        item.client = client_hold(&plane.server.quotas, connection.quota.client)
        item.bound = connection.quota.bound[QUOTA_REQUEST]
        item.spent_ns = throttle_spent(connection)
    item.size = size
    memcpy(item.frame, frame, size)
    slot.outside = True
    slot_hold(slot, size)
    atomic_add64(&plane.server.queued_bytes, size)
    pthread_mutex_lock(&inbox.lock)
    was_empty = inbox.head == NULL
    if was_empty:
        inbox.head = item
    else:
        inbox.tail.next = item
    inbox.tail = item
    pthread_mutex_unlock(&inbox.lock)
    if was_empty:
        write(inbox.event_fd, &one, 8)


cdef bint is_native(int16_t api_key, int16_t version) noexcept nogil:
    return (api_key == 0 and 3 <= version <= 13) or (api_key == 1 and 4 <= version <= 18)


cdef int32_t body_at(const uint8_t* frame, int32_t size, bint flexible) noexcept nogil:
    """Where the body of a Produce or Fetch begins; -1 when the header is malformed."""
    cdef Reader r
    cdef int16_t client_id
    r.p = frame + 8
    r.end = frame + size
    r.bad = 0
    r.budget = 64
    client_id = take16(&r)
    if client_id > 0:
        take(&r, client_id)
    if flexible:
        take_tags(&r)
    return -1 if r.bad or client_id < -1 else <int32_t>(r.p - frame)


cdef Served serve_native(Plane* plane, Slot* slot, uint8_t* frame, int32_t size, const int16_t* decided, int32_t decisions) noexcept nogil:
    cdef int32_t at = body_at(frame, size, slot.api_version >= (9 if slot.api_key == 0 else 12))
    if at < 0:
        return MALFORMED
    if slot.api_key == 0:
        return produce_serve(plane, slot, frame + at, size - at, decided, decisions)
    return fetch_serve(plane, slot, frame + at, size - at)


cdef void serve_frame(Plane* plane, Connection* connection, uint8_t* frame, int32_t size) noexcept nogil:
    cdef int16_t api_key = <int16_t>get16(frame), version = <int16_t>get16(frame + 2)
    cdef Slot* slot = slot_new(connection, api_key, version, <int32_t>get32(frame + 4))
    cdef Served served = FALLS_THROUGH
    counter_add(&plane.requests, 1)
    if slot == NULL:
        connection.hang_up = True
        return
    slot.request_size = size
    throttle_bind(connection, frame, size)
    if atomic_get32(&plane.server.faults.active):
        slot.fault = fault_of(&plane.server.faults, api_key)
        if slot.fault == FAULT_HANG_UP:
            slot_hang_up(slot)
            return
    if is_native(api_key, version):
        served = serve_native(plane, slot, frame, size, NULL, 0)
        connection.blocked = served == FALLS_THROUGH
    if served == FALLS_THROUGH:
        forward(plane, connection, slot, frame, size)
    elif served == MALFORMED:
        refuse(plane, connection)


cdef int64_t feed(Plane* plane, Connection* connection, uint8_t* data, int64_t size) noexcept nogil:
    """Serve whole frames from the front of `data`, which must stay until the commit. Returns how many bytes that took."""
    cdef int64_t used = 0
    cdef int32_t length
    while size - used >= 4 and not connection.hang_up and connection_may_read(connection):
        length = <int32_t>get32(data + used)
        if length < 8 or length > plane.server.limits.max_request_bytes:
            refuse(plane, connection)
        elif size - used < 4 + <int64_t>length:
            break
        else:
            serve_frame(plane, connection, data + used + 4, length)
            used += 4 + <int64_t>length
    return used


# ---- receiving

cdef bint receive_own(Plane* plane, Connection* connection, int64_t frame, uint8_t** at, int64_t* room) noexcept nogil:
    """Room for the rest of a large frame in the connection's own buffer. False: the broker has no memory for it now."""
    cdef int64_t wanted = frame if frame <= WHOLE_AT_ONCE else min(frame, max(<int64_t>WHOLE_AT_ONCE, connection.have * 2))
    if wanted > connection.room and atomic_get64(&plane.server.queued_bytes) + wanted > plane.server.limits.queued_max_bytes:
        connection.starved = True
        plane.starved += 1
        connection_touch(connection)
        return False
    if not connection_grow(connection, wanted):
        connection.hang_up = True
        connection_touch(connection)
        return False
    at[0] = connection.buffer + connection.have
    room[0] = min(min(connection.room, frame) - connection.have, <int64_t>READ_MOST)
    return True


cdef void connection_read(Plane* plane, Connection* connection) noexcept nogil:
    cdef uint8_t* at
    cdef uint8_t* start
    cdef int64_t room, frame = 0
    cdef long n
    if not connection_may_read(connection) or connection.starved:
        return
    if connection.have >= 4:
        frame = 4 + <int64_t>get32(connection.buffer)
    if frame > OWN_BUFFER:
        if not receive_own(plane, connection, frame, &at, &room):
            return
        start = connection.buffer
    else:
        start = plane.arena + plane.arena_used
        memcpy(start, connection.buffer, connection.have)
        at = start + connection.have
        room = READ_MOST
    n = recv(connection.fd, at, room, MSG_DONTWAIT)
    if n <= 0:
        if n == 0 or (errno != EAGAIN and errno != EINTR):
            connection.hang_up = True
            connection_touch(connection)
        return
    counter_add(&plane.bytes_in, n)
    connection_used(connection)
    take_in(plane, connection, start, connection.have + n)


cdef void take_in(Plane* plane, Connection* connection, uint8_t* start, int64_t size) noexcept nogil:
    """Serve what was received; what is left is put away after the commit, for batches are still being pointed to."""
    cdef int64_t used = feed(plane, connection, start, size)
    if start != connection.buffer:
        plane.arena_used += (size + 63) & ~63
    if used and connection.frame_since:
        connection.frame_since = plane.real_ns       # what is left is the beginning of another frame
    connection.input = start + used
    connection.input_size = size - used
    connection_touch(connection)


# ---- the end of a turn

cdef void deliver(Plane* plane, Letter* letter) noexcept nogil:
    cdef Waiter* waiter = <Waiter*>letter
    atomic_set32(&waiter.queued, 0)
    if waiter.owner == NULL:
        free(waiter)
    elif waiter.kind == WAITS_FOR_DATA:
        fetch_news(plane, waiter)
    else:
        commit_news(plane, waiter)


cdef void deliver_news(Plane* plane) noexcept nogil:
    cdef Letter* letter
    while plane.news != NULL:
        letter = plane.news
        plane.news = letter.next
        deliver(plane, letter)


cdef void put_away(Plane* plane, Connection* connection) noexcept nogil:
    """Keep the rest of what this turn received, and note how long a frame has been unfinished."""
    cdef bint unfinished
    if connection.input != NULL:
        if not connection_keep(connection, connection.input, connection.input_size):
            connection.hang_up = True
        connection.input = NULL
        unfinished = connection.have > 0 and not connection.blocked and connection.mute.at < 0
        if unfinished != (connection.frame_since != 0):
            plane.unfinished += 1 if unfinished else -1
            connection.frame_since = plane.real_ns if unfinished else 0


cdef bint has_frame(Connection* connection) noexcept nogil:
    return connection.have >= 4 and connection_may_read(connection) \
        and 4 + <int64_t>get32(connection.buffer) <= connection.have


cdef void finish(Plane* plane, Connection* connection) noexcept nogil:
    """After the commit: send, close, or serve frames that had to wait."""
    put_away(plane, connection)
    if not send_ready(connection) or connection.hang_up:
        connection_close(connection)
        return
    if has_frame(connection):
        take_in(plane, connection, connection.buffer, connection.have)
        return
    show_interest(connection)


cdef void turn_commit(Plane* plane) noexcept nogil:
    cdef Connection* connection
    cdef Connection* after
    cdef int64_t started
    while plane.touched != NULL or plane.produces != NULL or plane.news != NULL:
        produce_commit(plane)
        turn_reset(plane)
        deliver_news(plane)
        connection = plane.touched
        plane.touched = NULL
        plane.reply_ns = real_monotonic_ns()
        while connection != NULL:
            after = connection.next_touched
            connection.touched = False
            if not connection.closed:
                started = real_monotonic_ns() if plane.timed else 0
                finish(plane, connection)
                if plane.timed:
                    connection.spent_ns += real_monotonic_ns() - started
            connection = after
    plane.arena_used = 0


# ---- mail

cdef void take_answer(Plane* plane, Answer* answer) noexcept nogil:
    cdef Slot* slot = answer.slot
    cdef Connection* connection = slot.connection
    cdef uint8_t* frame
    slot.outside = False
    atomic_add64(&plane.server.queued_bytes, -answer.request_size)
    if connection == NULL:
        slot_free(plane, slot)
    else:
        connection.blocked = connection.blocked and slot.api_key != 0
        connection_touch(connection)
        if answer.kind == ANSWER_REPLY:
            slot.data = answer.data
            slot.size = slot.room = answer.size
            answer.data = NULL
            slot_finish(slot)
            slot_ready(slot)
            if answer.throttle_ms > 0:
                connection_mute(connection, answer.throttle_ms)
                counter_add(&plane.throttled, 1)
        elif answer.kind == ANSWER_REJECT:
            refuse(plane, connection)
        else:
            frame = <uint8_t*>turn_alloc(plane, answer.size)
            if frame == NULL:
                connection.hang_up = True
            else:
                memcpy(frame, answer.data, answer.size)
                if serve_native(plane, slot, frame, answer.size, answer.decided, answer.decisions) != SERVED:
                    refuse(plane, connection)
    free(answer.data)
    free(answer.decided)
    free(answer)


cdef void drop_connections(Plane* plane) noexcept nogil:
    cdef Connection* connection = plane.oldest
    while connection != NULL:
        connection.hang_up = True
        connection_touch(connection)
        connection = connection.newer


cdef void read_mail(Plane* plane) noexcept nogil:
    cdef Letter* letter = mailbox_take(&plane.mailbox)
    cdef Letter* after
    while letter != NULL:
        after = letter.next
        if letter.kind == LETTER_WAITER:
            deliver(plane, letter)
        elif letter.kind == LETTER_LOCATED:
            fetch_found(plane, <Search*>(<uint8_t*>letter - sizeof(Job)))
        elif letter.kind == LETTER_REPLY:
            take_answer(plane, <Answer*>letter)
        elif letter.kind == LETTER_ADOPT:
            adopt(plane, (<Arrival*>letter).connection)
            free(letter)
        elif letter.kind == LETTER_DROP:
            drop_connections(plane)
            free(letter)
        elif letter.kind == LETTER_LISTEN:
            watch_listeners(plane, True)
            free(letter)
        else:
            free(letter)
        letter = after


# ---- time

cdef void unmute(Connection* connection) noexcept nogil:
    connection_used(connection)
    connection.hang_up = connection.hang_up or connection.unwelcome
    connection_touch(connection)


cdef void fire_timers(Plane* plane) noexcept nogil:
    cdef Timer* timer = timer_due(plane)
    while timer != NULL:
        if timer.kind == TIMER_FETCH:
            fetch_expired(plane, <Fetch*>timer.owner)
        elif timer.kind == TIMER_COMMIT:
            commit_expired(plane, <Commit*>timer.owner)
        elif timer.kind == TIMER_LATE:
            connection_touch(<Connection*>timer.owner)
        else:
            unmute(<Connection*>timer.owner)
        timer = timer_due(plane)


cdef bint overdue(Plane* plane, Connection* connection) noexcept nogil:
    cdef int64_t size
    if connection.frame_since == 0:
        return False
    size = connection.have if connection.have < 4 else get32(connection.buffer)
    return plane.real_ns - connection.frame_since > FRAME_GRACE_NS + size // 65536 * SECOND_NS


cdef void sweep(Plane* plane) noexcept nogil:
    """Idle connections, frames that never end, connections that waited for memory, a paused listener. Real time, once a second at most."""
    cdef Connection* connection
    cdef Connection* after
    if plane.accept_ns and plane.real_ns >= plane.accept_ns:
        plane.accept_ns = 0
        watch_listeners(plane, True)
    if plane.real_ns - plane.sweep_ns < SECOND_NS:
        return
    plane.sweep_ns = plane.real_ns
    connection = plane.oldest
    while connection != NULL:
        after = connection.newer
        if overdue(plane, connection):
            refuse(plane, connection)
            connection_touch(connection)
        elif plane.real_ns - connection.active_ns > plane.server.limits.idle_ms * 1000000:
            connection.hang_up = True
            connection_touch(connection)
        elif connection.starved:
            connection.starved = False
            plane.starved -= 1
            connection_touch(connection)
        elif plane.unfinished == 0 and plane.starved == 0:
            break
        connection = after


cdef int wait_ms(Plane* plane) noexcept nogil:
    """How long to sleep: to the next deadline or the next look at connections; -1 when nothing is due ever."""
    cdef int64_t wait = -1, idle
    if plane.timer_count:
        wait = max((plane.timers[0].deadline_ns - plane.now_ns + 999999) // 1000000, 0)
    if plane.oldest != NULL:
        idle = plane.server.limits.idle_ms + 1000 - (plane.real_ns - plane.oldest.active_ns) // 1000000
        if plane.unfinished or plane.starved:
            idle = 1000
        idle = max(idle, 1)
        wait = idle if wait < 0 else min(wait, idle)
    if plane.accept_ns:
        wait = 100 if wait < 0 else min(wait, 100)
    return <int>min(wait, 3600000)


# ---- the thread

cdef void bury(Plane* plane) noexcept nogil:
    cdef Connection* connection = plane.graves
    cdef Connection* after
    plane.graves = NULL
    while connection != NULL:
        after = connection.newer
        connection_free(connection)
        connection = after


cdef void handle(Plane* plane, epoll_event* event) noexcept nogil:
    cdef Source* source = <Source*>event.data.ptr
    cdef Connection* connection
    cdef int64_t started
    if source[0] == SOURCE_LISTENER:
        accept_ready(plane, <Listener*>source)
    elif source[0] == SOURCE_CONNECTION:
        connection = <Connection*>source
        if connection.closed:
            return
        if event.events & EPOLLOUT:
            connection_used(connection)
            connection_touch(connection)
        if event.events & (EPOLLERR | EPOLLHUP) and not event.events & EPOLLIN:
            connection.hang_up = True
            connection_touch(connection)
        elif event.events & EPOLLIN:
            started = real_monotonic_ns() if plane.timed else 0
            connection_read(plane, connection)
            if plane.timed:
                connection.spent_ns += real_monotonic_ns() - started


cdef void* plane_main(void* arg) noexcept nogil:
    cdef Plane* plane = <Plane*>arg
    cdef epoll_event[EVENTS] events
    cdef int i, n
    while not atomic_get32(&plane.server.stopping):
        n = epoll_wait(plane.epoll_fd, events, EVENTS, wait_ms(plane))
        table_enter(&plane.server.table, &plane.reading)
        plane_look_at_clock(plane)
        look_at_rules(plane)
        # Mail first, wherever it stands in the list: an append that was acknowledged before a fetch was sent is seen by it.
        for i in range(n):
            if (<Source*>events[i].data.ptr)[0] == SOURCE_MAILBOX:
                read_mail(plane)
        for i in range(n):
            if plane.arena_used > ARENA - READ_MOST - OWN_BUFFER:
                turn_commit(plane)
            handle(plane, &events[i])
        fire_timers(plane)
        sweep(plane)
        turn_commit(plane)
        bury(plane)
        table_leave(&plane.reading)
    return NULL


cdef void close_all(Plane* plane) noexcept nogil:
    while plane.oldest != NULL:
        connection_close(plane.oldest)
    bury(plane)
    while plane.sessions != NULL:
        session_free(plane, plane.sessions)


cdef void plane_end(Plane* plane) noexcept nogil:
    """When no plane's thread and no helper is left: let go of connections, sessions and whatever lies in the mailbox."""
    close_all(plane)
    read_mail(plane)             # nothing is waited for any more: letters are freed; arrivals are connections again
    close_all(plane)
    turn_reset(plane)
