"""Sockets of a plane: accepting within limits, sending replies with sendfile between their bytes, closing.

The listening sockets belong to Python, which sets what accepted ones inherit: no delay, buffers, congestion control.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset
from kafpy._core.addresses cimport Host, address_enter, address_leave
from kafpy._core.atomic cimport atomic_add32, atomic_get32, atomic_get64, counter_add
from kafpy._core.connection cimport (
    connection_drop_buffer, connection_may_read, connection_mute, connection_new, slot_free, slot_sent
)
from kafpy._core.fetch cimport fetch_cancel
from kafpy._core.meter cimport meter_add, meter_delay
from kafpy._core.posix cimport *
from kafpy._core.produce cimport commit_cancel
from kafpy._core.quotas cimport grip_drop
from kafpy._core.runtime cimport LETTER_ADOPT, Letter, mailbox_post, runtime_alarm
from kafpy._core.segment cimport file_unref
from kafpy._core.state cimport *
from kafpy._core.timers cimport timer_cancel, timer_set

cdef enum: SEND_VECTORS = 64
cdef enum: ACCEPTS_PER_TURN = 64
cdef enum: ALWAYS_LET_IN = 16
cdef int64_t ACCEPT_PAUSE_NS = 100000000
cdef int64_t REFUSALS_NS = 60 * 1000000000        # between two alarms
cdef uint8_t[12] MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]      # an IPv4 client of a dual-stack socket


cdef extern from "<netinet/in.h>" nogil:
    struct in_addr:
        uint32_t s_addr
    struct in6_addr:
        uint8_t s6_addr[16]
    struct sockaddr_in:
        unsigned short sin_port
        in_addr sin_addr
    struct sockaddr_in6:
        unsigned short sin6_port
        in6_addr sin6_addr
    unsigned short ntohs(unsigned short v) noexcept


# ---- sending

cdef int gather(Connection* connection, iovec* vectors, bint* file_next, int64_t* total) noexcept nogil:
    """Bytes that may leave now, up to the first file slice; silent replies are dropped on the way."""
    cdef Slot* slot = connection.first
    cdef int count = 0
    cdef int64_t until
    file_next[0] = False
    total[0] = 0
    while slot != NULL and slot_may_leave(slot) and not slot.hang_up and count < SEND_VECTORS:
        until = slot.pieces[slot.pieces_sent].after if slot.pieces_sent < slot.piece_count else slot.size
        if until > slot.sent:
            vectors[count].iov_base = slot.data + slot.sent
            vectors[count].iov_len = until - slot.sent
            total[0] += until - slot.sent
            count += 1
        if slot.pieces_sent < slot.piece_count:
            file_next[0] = True
            break
        slot = slot.next
    return count


cdef void note_sent(Connection* connection, int64_t n) noexcept nogil:
    """`n` bytes of slots' data have left; free the slots that are done."""
    cdef Slot* slot = connection.first
    cdef int64_t until
    while slot != NULL and slot_may_leave(slot) and not slot.hang_up:
        until = slot.pieces[slot.pieces_sent].after if slot.pieces_sent < slot.piece_count else slot.size
        if slot.sent + n < until:
            slot.sent += n
            return
        n -= until - slot.sent
        slot.sent = until
        if slot.pieces_sent < slot.piece_count:
            return
        slot = slot_sent(connection)


cdef int send_file(Connection* connection) noexcept nogil:
    """The first slot's next slice: 1 it is out, 0 the socket is full, -1 hang up."""
    cdef Slot* slot = connection.first
    cdef Slice* slice = &slot.pieces[slot.pieces_sent].slice
    cdef long n
    while slice.size > 0:
        n = sendfile(connection.fd, slice.file.fd, &slice.position, slice.size)
        if n < 0 and errno == EAGAIN:
            return 0
        if n <= 0:               # 0: the file is shorter than it was (truncated); the reply cannot be completed
            return -1
        slice.size -= n
        counter_add(&connection.plane.bytes_out, n)
    file_unref(slice.file)
    slot.pieces_sent += 1
    return 1


cdef bint slot_may_leave(const Slot* slot) noexcept nogil:
    return slot.state == SLOT_READY and slot.due_ns <= slot.connection.plane.real_ns


cdef void hold_back(Connection* connection) noexcept nogil:
    """Look at its replies again when the first one is due."""
    cdef Plane* plane = connection.plane
    if connection.late.at < 0:
        timer_set(plane, &connection.late, plane.now_ns + connection.first.due_ns - plane.real_ns)


cdef bint send_ready(Connection* connection) noexcept nogil:
    """Send what is ready until the socket is full. False: hang up."""
    cdef iovec[SEND_VECTORS] vectors
    cdef msghdr message
    cdef bint file_next
    cdef int64_t total
    cdef long n
    cdef int count, sent
    while connection.first != NULL and connection.first.state == SLOT_READY:
        if connection.first.due_ns > connection.plane.real_ns:
            hold_back(connection)
            return True
        if connection.first.hang_up:
            return False
        count = gather(connection, vectors, &file_next, &total)
        if count:
            if count == 1:
                n = send(connection.fd, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT | (MSG_MORE if file_next else 0))
            else:
                memset(&message, 0, sizeof(message))
                message.msg_iov = vectors
                message.msg_iovlen = count
                n = sendmsg(connection.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT | (MSG_MORE if file_next else 0))
            if n < 0:
                return errno == EAGAIN
            counter_add(&connection.plane.bytes_out, n)
            note_sent(connection, n)
            if n < total:
                return True
        else:
            note_sent(connection, 0)
        if file_next:
            sent = send_file(connection)
            if sent <= 0:
                return sent == 0
            note_sent(connection, 0)
    return True


cdef void show_interest(Connection* connection) noexcept nogil:
    """Tell epoll what this connection waits for."""
    cdef epoll_event event
    event.events = 0
    if connection_may_read(connection) and not connection.starved:
        event.events = EPOLLIN
    if connection.first != NULL and slot_may_leave(connection.first):
        event.events |= EPOLLOUT
    if event.events != connection.interest:
        connection.interest = event.events
        event.data.ptr = connection
        epoll_ctl(connection.plane.epoll_fd, EPOLL_CTL_MOD, connection.fd, &event)


# ---- the list by activity

cdef void unlink_activity(Connection* connection) noexcept nogil:
    cdef Plane* plane = connection.plane
    if connection.older != NULL:
        connection.older.newer = connection.newer
    else:
        plane.oldest = connection.newer
    if connection.newer != NULL:
        connection.newer.older = connection.older
    else:
        plane.newest = connection.older
    connection.older = connection.newer = NULL


cdef void link_newest(Connection* connection) noexcept nogil:
    cdef Plane* plane = connection.plane
    connection.older = plane.newest
    if plane.newest != NULL:
        plane.newest.newer = connection
    else:
        plane.oldest = connection
    plane.newest = connection


cdef void connection_used(Connection* connection) noexcept nogil:
    connection.active_ns = connection.plane.real_ns
    if connection.plane.newest != connection:
        unlink_activity(connection)
        link_newest(connection)


# ---- closing

cdef void connection_close(Connection* connection) noexcept nogil:
    """Let go of the socket and of all that waits for it. The struct itself stays until the turn's end: the turn may point to it."""
    cdef Plane* plane = connection.plane
    cdef Slot* slot = connection.first
    cdef Slot* after
    if connection.closed:
        return
    connection.closed = True
    while slot != NULL:
        after = slot.next
        slot.connection = NULL
        if slot.fetch != NULL:
            fetch_cancel(plane, <Fetch*>slot.fetch)
        if slot.commit != NULL:
            commit_cancel(plane, <Commit*>slot.commit)
        if not slot.outside:
            slot_free(plane, slot)
        slot = after
    connection.first = connection.last = NULL
    if connection.frame_since:
        plane.unfinished -= 1
    if connection.starved:
        plane.starved -= 1
    connection_drop_buffer(connection)
    unlink_activity(connection)
    counter_add(&plane.connections, -1)
    if connection.fd >= 0:
        shutdown(connection.fd, SHUT_RDWR)       # a forked child may hold the socket too
        close(connection.fd)
        see_out(plane.server, &connection.peer, not connection.unwelcome)
    timer_cancel(plane, &connection.mute)
    timer_cancel(plane, &connection.late)
    grip_drop(&plane.server.quotas, &connection.quota)
    connection.newer = plane.graves
    plane.graves = connection


# ---- accepting

cdef void read_address(const sockaddr_storage* from_kernel, Address* address) noexcept nogil:
    memset(address, 0, sizeof(Address))
    if from_kernel.ss_family == AF_INET:
        address.port = ntohs((<const sockaddr_in*>from_kernel).sin_port)
        memcpy(address.host, &(<const sockaddr_in*>from_kernel).sin_addr, 4)
    elif from_kernel.ss_family == AF_INET6:
        address.six = True
        address.port = ntohs((<const sockaddr_in6*>from_kernel).sin6_port)
        memcpy(address.host, &(<const sockaddr_in6*>from_kernel).sin6_addr, 16)


cdef Host host_of(const Address* address) noexcept nogil:
    cdef Host host
    memset(&host, 0, sizeof(host))
    host.six = address.six and memcmp(address.host, MAPPED, sizeof(MAPPED)) != 0
    if host.six or not address.six:
        memcpy(host.bytes, address.host, 16)
    else:
        memcpy(host.bytes, &address.host[12], 4)
    return host


cdef bint accepts_now(Plane* plane) noexcept nogil:
    """False: connections come faster than max.connection.creation.rate; the backlog waits."""
    cdef Server* server = plane.server
    cdef int64_t rate = atomic_get64(&server.accept_rate), delay
    if rate <= 0:
        return True
    delay = meter_delay(&server.accepted, &server.quotas.windows, plane.now_ns // 1000000, rate, 1)
    if delay > 0:
        pause_accepting(plane, delay * 1000000)
        return False
    return True


cdef void tell_refusal(Plane* plane, const Address* peer) noexcept nogil:
    """Count it, and let Python hear of it now and then. No peer: it was turned away for want of descriptors."""
    cdef Refusals* refusals = &plane.server.refusals
    cdef bint alarm
    pthread_mutex_lock(&refusals.lock)
    if peer == NULL:
        refusals.crowded += 1
    else:
        refusals.count += 1
        refusals.last = peer[0]
    alarm = plane.real_ns >= refusals.alarm_ns
    if alarm:
        refusals.alarm_ns = plane.real_ns + REFUSALS_NS
    pthread_mutex_unlock(&refusals.lock)
    if alarm:
        runtime_alarm(plane.server.runtime)


cdef bint crowded(Server* server, int fd) noexcept nogil:
    """Whether a client may not have this descriptor, so that logs can still open files. The lowest free one is given out
    first: its number tells how many are in use. A few clients get in even where files hold nearly all."""
    cdef rlimit limit
    if atomic_get32(&server.connections) < ALWAYS_LET_IN:
        return False
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 and <unsigned long>fd + min(max(limit.rlim_cur // 16, <unsigned long>16), <unsigned long>1024) >= limit.rlim_cur


cdef void pause_accepting(Plane* plane, int64_t ns) noexcept nogil:
    plane.accept_ns = plane.real_ns + ns
    watch_listeners(plane, False)


cdef bint let_in(Plane* plane, const Address* peer, int64_t* delay_ms) noexcept nogil:
    """Count a new connection. False: there are too many. `delay_ms` above 0: hold it so long and close it."""
    cdef Server* server = plane.server
    cdef Host host = host_of(peer)
    cdef bint welcome
    if atomic_add32(&server.connections, 1) > atomic_get32(&server.limits.max_connections):
        atomic_add32(&server.connections, -1)
        return False
    welcome = address_enter(&server.addresses, &host, plane.now_ns // 1000000, delay_ms)
    if not welcome:
        atomic_add32(&server.connections, -1)
    elif atomic_get64(&server.accept_rate) > 0:
        meter_add(&server.accepted, &server.quotas.windows, plane.now_ns // 1000000, 1)
    return welcome


cdef void see_out(Server* server, const Address* peer, bint counted) noexcept nogil:
    cdef Host host = host_of(peer)
    atomic_add32(&server.connections, -1)
    if counted:
        address_leave(&server.addresses, &host)


cdef void accept_ready(Plane* plane, Listener* listener) noexcept nogil:
    """Take new connections and deal them out to the planes in turn."""
    cdef sockaddr_storage from_kernel
    cdef unsigned int size
    cdef Address peer
    cdef int64_t delay_ms = 0
    cdef int fd, i
    for i in range(ACCEPTS_PER_TURN):
        if not accepts_now(plane):
            return
        size = sizeof(from_kernel)
        fd = accept4(listener.fd, <sockaddr*>&from_kernel, &size, SOCK_NONBLOCK | SOCK_CLOEXEC)
        if fd < 0:
            if errno != EAGAIN and errno != EINTR:
                # Out of descriptors: the backlog would wake us for ever. Look again a little later.
                pause_accepting(plane, ACCEPT_PAUSE_NS)
            return
        read_address(&from_kernel, &peer)
        if crowded(plane.server, fd):
            tell_refusal(plane, NULL)
            close(fd)
        elif not let_in(plane, &peer, &delay_ms):
            close(fd)
        elif not place(plane, listener, fd, &peer, delay_ms):
            close(fd)
            see_out(plane.server, &peer, delay_ms == 0)


cdef bint place(Plane* plane, Listener* listener, int fd, const Address* peer, int64_t delay_ms) noexcept nogil:
    """Give a new socket to its plane; the accepting one keeps those that are only to be closed. False: no memory."""
    cdef Server* server = plane.server
    cdef Plane* chosen = plane
    cdef sockaddr_storage from_kernel
    cdef unsigned int size = sizeof(from_kernel)
    cdef Connection* connection
    cdef Arrival* arrival
    if delay_ms == 0:
        chosen = server.plane[server.next_plane % server.planes]
        server.next_plane = (server.next_plane + 1) % server.planes
    connection = connection_new(chosen, fd)
    arrival = NULL if chosen == plane else <Arrival*>calloc(1, sizeof(Arrival))
    if connection == NULL or (chosen != plane and arrival == NULL):
        free(connection)
        free(arrival)
        return False
    connection.peer = peer[0]
    connection.listener = listener.number
    if getsockname(fd, <sockaddr*>&from_kernel, &size) == 0:
        read_address(&from_kernel, &connection.own)
    if delay_ms > 0:
        connection.unwelcome = True
        connection_mute(connection, delay_ms)
        counter_add(&plane.throttled, 1)
    if chosen == plane:
        adopt(plane, connection)
    else:
        arrival.letter.kind = LETTER_ADOPT
        arrival.connection = connection
        mailbox_post(&chosen.mailbox, &arrival.letter)
    return True


cdef void adopt(Plane* plane, Connection* connection) noexcept nogil:
    cdef epoll_event event
    connection.active_ns = plane.real_ns
    counter_add(&plane.connections, 1)
    link_newest(connection)
    event.events = connection.interest = 0 if connection.unwelcome else EPOLLIN
    event.data.ptr = connection
    if epoll_ctl(plane.epoll_fd, EPOLL_CTL_ADD, connection.fd, &event) or atomic_get32(&plane.server.faults.refusing):
        connection_close(connection)


cdef void watch_listeners(Plane* plane, bint on) noexcept nogil:
    cdef epoll_event event
    cdef int32_t i
    on = on and not atomic_get32(&plane.server.faults.refusing)
    for i in range(plane.server.listener_count):
        event.events = EPOLLIN
        event.data.ptr = &plane.server.listeners[i]
        epoll_ctl(plane.epoll_fd, EPOLL_CTL_ADD if on else EPOLL_CTL_DEL, plane.server.listeners[i].fd, &event)
