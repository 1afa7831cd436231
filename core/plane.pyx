"""The planes of one broker as Python holds them: start and stop, the table, the inbox and the answers to it.

Each request that Python drains carries a token. Exactly one of reply, reject and resubmit gives it back; a token is good
for one answer, and stale ones are refused.
"""

import os
import socket

cimport cython

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset
from kafpy._core.addresses cimport HostLimit, addresses_close, addresses_init, addresses_limit
from kafpy._core.append cimport log_ref
from kafpy._core.atomic cimport atomic_set32, atomic_set64, counter_get
from kafpy._core.beats cimport Beat, Beats, KnownCommit
from kafpy._core.bytes cimport get16, get32
from kafpy._core.connection cimport slot_free
from kafpy._core.faults cimport faults_add, faults_close, faults_forget, faults_init
from kafpy._core.log cimport Log
from kafpy._core.meter cimport meter_init
from kafpy._core.partition cimport CLog
from kafpy._core.posix cimport *
from kafpy._core.quotas cimport (
    QUOTA_KINDS, QuotaRules, charge_time, client_drop, quotas_close, quotas_init, rules_add, rules_free, rules_publish
)
from kafpy._core.runtime cimport *
from kafpy._core.state cimport *
from kafpy._core.table cimport (
    Topic, table_close, table_init, table_publish, table_withdraw
)
from kafpy._core.times cimport TIME_BUCKETS, TIMED_APIS, Times
from kafpy._core.transport cimport watch_listeners
from kafpy._core.turn cimport (
    ANSWER_AGAIN, ANSWER_REJECT, ANSWER_REPLY, Answer, AnswerKind, plane_end, plane_look_at_clock,
    plane_main
)

cdef enum: ARENA_BYTES = (1 << 20) + (4 << 10)
cdef int64_t FOREVER_MS = 100 * 365 * 86400000LL


cdef str host_text(const Address* address):
    if address.six:
        text = socket.inet_ntop(socket.AF_INET6, address.host[:16])
        return text.removeprefix("::ffff:") if text.startswith("::ffff:") and "." in text else text
    return "%d.%d.%d.%d" % (address.host[0], address.host[1], address.host[2], address.host[3])


cdef class Request:
    cdef readonly int64_t token
    cdef readonly int api_key
    cdef readonly int api_version
    cdef readonly int correlation_id
    cdef readonly bytes frame
    cdef readonly int listener
    cdef readonly bint metered
    cdef readonly int fault
    cdef readonly KnownCommit commit
    cdef Address peer
    cdef Address own

    @property
    def local_host(self):
        return host_text(&self.own)

    @property
    def local_port(self):
        return self.own.port

    @property
    def peer_host(self):
        return host_text(&self.peer)


cdef Plane* plane_new(Server* server, int32_t index):
    cdef Plane* plane = <Plane*>calloc(1, sizeof(Plane))
    cdef epoll_event event
    if plane == NULL:
        raise MemoryError
    plane.server = server
    plane.index = index
    plane.next_session = int.from_bytes(os.urandom(4), "big") & 0x3FFFFFFF
    plane.arena = <uint8_t*>aligned_alloc(PAGE_BYTES, ARENA_BYTES)
    plane.epoll_fd = epoll_create1(EPOLL_CLOEXEC)
    plane.mailbox_source = SOURCE_MAILBOX
    plane.times = <Times*>calloc(TIMED_APIS, sizeof(Times))
    mailbox_init(&plane.mailbox)
    event.events = EPOLLIN
    event.data.ptr = &plane.mailbox_source
    if plane.arena == NULL or plane.times == NULL or plane.epoll_fd < 0 or plane.mailbox.event_fd < 0 \
            or epoll_ctl(plane.epoll_fd, EPOLL_CTL_ADD, plane.mailbox.event_fd, &event):
        raise OSError(errno, "cannot set up a plane")
    plane_look_at_clock(plane)
    return plane


cdef void plane_free(Plane* plane) noexcept:
    cdef Slot* slot
    cdef int i
    plane_end(plane)
    while plane.free_slots != NULL:
        slot = plane.free_slots
        plane.free_slots = slot.next
        free(slot)
    for i in range(8):
        free(plane.spare[i])
    free(plane.chunks)
    free(plane.timers)
    free(plane.times)
    free(plane.arena)
    close_descriptors(plane)
    mailbox_close(&plane.mailbox)
    free(plane)


cdef void close_descriptors(Plane* plane) noexcept nogil:
    if plane.epoll_fd >= 0:
        close(plane.epoll_fd)
    plane.epoll_fd = -1
    mailbox_deafen(&plane.mailbox)


@cython.no_gc            # its runtime must be there when it is freed
cdef class Planes:
    def __cinit__(self, Runtime runtime not None, *, int planes=1, int max_request_bytes=104857600,
                  int max_connections=0x7FFFFFFF, int max_connections_per_ip=0x7FFFFFFF, int64_t idle_ms=600000,
                  int fetch_max_bytes=57671680, int fetch_sessions=1000, int64_t queued_max_bytes=268435456,
                  int quota_windows=11, int64_t quota_window_ms=1000):
        cdef int i
        if not 1 <= planes <= MAX_PLANES:
            raise ValueError(f"planes must be between 1 and {MAX_PLANES}")
        if quota_windows < 1 or quota_window_ms < 1:
            raise ValueError("quotas need at least one window of a millisecond")
        self.runtime = runtime
        self.beats = Beats(runtime)
        self.held_free = -1
        self.c = <Server*>calloc(1, sizeof(Server))
        if self.c == NULL or not table_init(&self.c.table):
            raise MemoryError
        self.c.runtime = runtime.c
        self.c.planes = planes
        self.c.limits = Limits(
            max_request_bytes=max_request_bytes, max_connections=max_connections,
            idle_ms=min(idle_ms, FOREVER_MS) if idle_ms >= 0 else FOREVER_MS, fetch_max_bytes=fetch_max_bytes,
            fetch_sessions=-(-fetch_sessions // planes), queued_max_bytes=queued_max_bytes)
        pthread_mutex_init(&self.c.inbox.lock, NULL)
        pthread_mutex_init(&self.c.refusals.lock, NULL)
        faults_init(&self.c.faults)
        addresses_init(&self.c.addresses, quota_windows, quota_window_ms)
        self.c.addresses.most = max_connections_per_ip
        self.c.accepted_samples = <Sample*>calloc(quota_windows, sizeof(Sample))
        meter_init(&self.c.accepted, self.c.accepted_samples)
        if not quotas_init(&self.c.quotas, quota_windows, quota_window_ms) or self.c.accepted_samples == NULL:
            raise MemoryError
        self.c.inbox.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
        if self.c.inbox.event_fd < 0:
            raise OSError(errno, "cannot set up the inbox")
        for i in range(planes):
            self.c.plane[i] = plane_new(self.c, i)
            self.c.table.readers[i] = &self.c.plane[i].reading
            self.c.table.reader_count += 1

    # ---- life

    def listen(self, int fd, int listener=0):
        if self.running or self.c.listener_count >= 16:
            raise RuntimeError("at most 16 listeners, all given before start()")
        self.c.listeners[self.c.listener_count] = Listener(SOURCE_LISTENER, fd, listener)
        self.c.listener_count += 1

    def start(self):
        cdef int i
        if self.running:
            raise RuntimeError("already started")
        self.running = True
        for i in range(self.c.planes):
            if thread_start(&self.c.plane[i].thread, plane_main, self.c.plane[i], b"kafpy-plane"):
                raise OSError("cannot start a plane's thread")
            self.c.plane[i].started = True
        watch_listeners(self.c.plane[0], True)

    def wake(self):
        """Have every plane look at the clock again."""
        self.tell(LETTER_WAKE)

    cdef tell(self, LetterKind kind):
        cdef Letter* letter
        cdef int i
        for i in range(1 if kind == LETTER_LISTEN else self.c.planes):
            letter = <Letter*>calloc(1, sizeof(Letter))
            if letter == NULL:
                raise MemoryError
            letter.kind = kind
            mailbox_post(&self.c.plane[i].mailbox, letter)

    def stop(self):
        """Close every connection and end the threads. Requests that are with Python may still be answered; nobody hears it."""
        cdef int i
        if not self.running or self.runtime.c.owner != getpid():
            return
        atomic_set32(&self.c.stopping, 1)
        self.wake()
        with nogil:
            for i in range(self.c.planes):
                if self.c.plane[i].started:
                    pthread_join(self.c.plane[i].thread, NULL)
                    self.c.plane[i].started = False
            runtime_settle(self.c.runtime)      # searches post to the mailboxes
        self.running = False
        for i in range(self.c.planes):
            plane_end(self.c.plane[i])
            close_descriptors(self.c.plane[i])
        close(self.c.inbox.event_fd)            # at once: this object may be kept alive for long by a cycle
        self.c.inbox.event_fd = -1

    def __dealloc__(self):
        cdef InboxItem* item
        cdef int i
        if self.c == NULL or self.running or self.c.runtime.owner != getpid():
            return
        item = self.c.inbox.head
        while item != NULL:
            self.c.inbox.head = item.next
            slot_free(item.plane, item.slot)
            free(item)
            item = self.c.inbox.head
        for i in range(self.held_room):
            if self.held[i].slot != NULL:
                slot_free(self.held[i].plane, self.held[i].slot)
        free(self.held)
        for i in range(self.c.table.reader_count):
            plane_free(self.c.plane[i])
        table_close(&self.c.table)
        if self.c.inbox.event_fd >= 0:
            close(self.c.inbox.event_fd)
        addresses_close(&self.c.addresses)
        quotas_close(&self.c.quotas)
        faults_close(&self.c.faults)
        free(self.c.accepted_samples)
        free(self.c)

    # ---- table

    def publish(self, str topic not None, bytes topic_id not None, list logs not None, bint internal=False):
        """Say where a topic's partitions are, in place of what was said before. None: not here."""
        cdef bytes name = topic.encode()
        cdef Topic* entry
        cdef Log log
        cdef bint good
        if not 0 < len(name) < 250 or len(topic_id) != 16:
            raise ValueError("a topic's name has 1 to 249 bytes, its id 16")
        entry = <Topic*>calloc(1, sizeof(Topic))
        if entry == NULL:
            raise MemoryError
        memcpy(entry.id, <const char*>topic_id, 16)
        memcpy(entry.name, <const char*>name, len(name))
        entry.name_size = <int16_t>len(name)
        entry.internal = internal
        entry.logs = <CLog**>calloc(max(len(logs), 1), sizeof(void*))
        if entry.logs == NULL:
            free(entry)
            raise MemoryError
        for log in logs:
            if log is not None:
                entry.logs[entry.partitions] = log_ref(log.c)
            entry.partitions += 1
        with nogil:
            good = table_publish(&self.c.table, entry)
        if not good:
            raise MemoryError

    def withdraw(self, str topic not None):
        cdef bytes name = topic.encode()
        cdef const char* text = name
        cdef int32_t size = len(name)
        with nogil:
            table_withdraw(&self.c.table, text, size)

    # ---- limits

    def limit_clients(self, list rules not None):
        cdef QuotaRules* made = NULL
        cdef bytes name
        cdef double[QUOTA_KINDS] bound
        cdef bint[QUOTA_KINDS] shared
        cdef bint good = True
        cdef int i
        if rules:
            made = <QuotaRules*>calloc(1, sizeof(QuotaRules))
            if made == NULL:
                raise MemoryError
        for client_id, *limits in rules:
            for i in range(QUOTA_KINDS):
                bound[i], shared[i] = limits[i]
            if client_id is None:
                rules_add(made, NULL, 0, bound, shared)
            else:
                name = client_id.encode()
                good = good and rules_add(made, <const uint8_t*><const char*>name, len(name), bound, shared)
        if not good:
            rules_free(made)
            raise MemoryError
        with nogil:
            rules_publish(&self.c.quotas, &self.c.table, made)

    def limit_connections(self, *, int most, int per_address, int64_t rate, double address_rate, list addresses not None):
        cdef HostLimit* named = NULL
        cdef HostLimit* limit
        cdef bytes packed
        for host, address_most, rate_of_it in addresses:
            packed = host
            limit = <HostLimit*>calloc(1, sizeof(HostLimit))
            if limit == NULL:
                raise MemoryError
            limit.host.six = len(packed) == 16
            memcpy(limit.host.bytes, <const char*>packed, min(len(packed), 16))
            limit.most = address_most
            limit.rate = rate_of_it
            limit.next = named
            named = limit
        atomic_set32(&self.c.limits.max_connections, most)
        atomic_set64(&self.c.accept_rate, rate)
        with nogil:
            addresses_limit(&self.c.addresses, per_address, address_rate, named)

    # ---- faults

    def fail_requests(self, int api_key, list codes not None):
        """The next requests of that API are answered with these codes, in order: 0 as usual, -195 not at all but hung up on."""
        for code in codes:
            if not faults_add(&self.c.faults, api_key, code):
                raise MemoryError

    def forget_failures(self, int api_key=-1):
        faults_forget(&self.c.faults, api_key)

    def delay_replies(self, int64_t ms):
        atomic_set64(&self.c.faults.delay_ns, ms * 1000000)
        self.wake()

    def drop_connections(self):
        self.tell(LETTER_DROP)

    def accept(self, bint accepting):
        """False: listening sockets are not looked at, and connections are closed."""
        atomic_set32(&self.c.faults.refusing, not accepting)
        self.tell(LETTER_LISTEN)
        if not accepting:
            self.tell(LETTER_DROP)

    # ---- inbox

    @property
    def inbox_fd(self):
        return self.c.inbox.event_fd

    def drain(self):
        """Every request that waits for Python, oldest first; heartbeats whose answer is known are answered here."""
        cdef list found = []
        cdef Beat beat
        cdef InboxItem* item
        cdef InboxItem* after
        cdef Request request
        cdef uint64_t count
        cdef bint plain
        read(self.c.inbox.event_fd, &count, 8)
        with nogil:
            pthread_mutex_lock(&self.c.inbox.lock)
            item = self.c.inbox.head
            self.c.inbox.head = self.c.inbox.tail = NULL
            pthread_mutex_unlock(&self.c.inbox.lock)
        self.drained = 0
        while item != NULL:
            after = item.next
            self.drained += 1
            plain = item.meter == NULL and item.fault == 0
            beat = self.beats.find(item.frame, item.size) if plain else None
            if beat is not None:
                self.reply(self.hold(item), beat.answer(item.frame + 4))
                free(item)
                item = after
                continue
            request = Request.__new__(Request)
            request.token = self.hold(item)
            request.metered = item.meter != NULL
            request.fault = item.fault
            request.commit = self.beats.read_commit(item.frame, item.size) if plain else None
            request.frame = (<const char*>item.frame)[:item.size]
            request.api_key = <int16_t>get16(item.frame)
            request.api_version = <int16_t>get16(item.frame + 2)
            request.correlation_id = <int32_t>get32(item.frame + 4)
            request.listener = item.listener
            request.peer = item.peer
            request.own = item.own
            free(item)
            found.append(request)
            item = after
        return found

    @property
    def drained_last(self):
        return self.drained

    def remember(self, bytes frame not None, bytes payload not None):
        return self.beats.remember(frame, payload)

    cdef int64_t hold(self, InboxItem* item) except -1:
        cdef Held* grown
        cdef int32_t at, i
        if self.held_free < 0:
            grown = <Held*>realloc(self.held, max(self.held_room * 2, 64) * sizeof(Held))
            if grown == NULL:
                raise MemoryError
            self.held = grown
            for i in range(self.held_room, max(self.held_room * 2, 64)):
                memset(&self.held[i], 0, sizeof(Held))
                self.held[i].generation = 1
                self.held[i].next_free = self.held_free
                self.held_free = i
            self.held_room = max(self.held_room * 2, 64)
        at = self.held_free
        self.held_free = self.held[at].next_free
        self.held[at].slot = item.slot
        self.held[at].plane = item.plane
        self.held[at].size = item.size
        self.held[at].client = item.client
        self.held[at].meter = item.meter
        self.held[at].bound = item.bound
        self.held[at].spent_ns = item.spent_ns
        return (<int64_t>self.held[at].generation << 32) | at

    cdef Held* find(self, int64_t token) except NULL:
        cdef int64_t at = token & 0xFFFFFFFF
        if at >= self.held_room or self.held[at].slot == NULL or self.held[at].generation != token >> 32:
            raise KeyError(f"no request has token {token}: was it answered before?")
        return &self.held[at]

    cdef Slot* let_go(self, int64_t token, Plane** plane, Answer* answer) except NULL:
        cdef Held* held = self.find(token)
        cdef Slot* slot = held.slot
        plane[0] = held.plane
        answer.request_size = held.size
        if held.client != NULL:
            client_drop(&self.c.quotas, held.client)
        held.slot = NULL
        held.generation = (held.generation + 1) & 0x7FFFFFFF
        held.next_free = self.held_free
        self.held_free = <int32_t>(held - self.held)
        return slot

    def charge(self, int64_t token, int64_t spent_ns):
        """Count Python's time for a metered request, and its plane's; milliseconds by which it is above its bound."""
        cdef Held* held = self.find(token)
        cdef int64_t now_ms = clock_monotonic_ns(&self.c.runtime.clock) // 1000000
        cdef int64_t spent = held.spent_ns + spent_ns
        if held.meter == NULL:
            return 0
        held.spent_ns = 0
        return charge_time(&self.c.quotas, held.meter, held.bound, now_ms, spent)

    def reply(self, int64_t token, bytes payload not None, int throttle_ms=0):
        """Answer with a response header and body."""
        cdef Answer* answer = new_answer(ANSWER_REPLY, len(payload) + 4)
        answer.throttle_ms = throttle_ms
        memcpy(answer.data + 4, <const char*>payload, len(payload))
        self.post(token, answer)

    def reject(self, int64_t token):
        """Close that request's connection."""
        self.post(token, new_answer(ANSWER_REJECT, 0))

    def resubmit(self, int64_t token, bytes frame not None, bytes errors not None):
        """Hand a Produce back to its plane: batches opened, `errors` an int16 per partition in the request's order, 0 to append."""
        cdef Answer* answer = new_answer(ANSWER_AGAIN, len(frame))
        memcpy(answer.data, <const char*>frame, len(frame))
        answer.decided = <int16_t*>malloc(max(len(errors), 1))
        if answer.decided == NULL:
            raise MemoryError
        memcpy(answer.decided, <const char*>errors, len(errors))
        answer.decisions = <int32_t>(len(errors) // 2)
        self.post(token, answer)

    cdef post(self, int64_t token, Answer* answer):
        cdef Plane* plane = NULL
        try:
            answer.slot = self.let_go(token, &plane, answer)
        except KeyError:
            free(answer.data)
            free(answer.decided)
            free(answer)
            raise
        if not self.running:
            slot_free(plane, answer.slot)
            free(answer.data)
            free(answer.decided)
            free(answer)
            return
        mailbox_post(&plane.mailbox, &answer.letter)

    # ---- sight

    def statistics(self):
        """Counters since the start, over all planes. Read without stopping anyone: they may be a little behind each other."""
        cdef Plane* plane
        cdef int i
        total = dict.fromkeys(("connections", "requests", "produce_requests", "fetch_requests", "bytes_in", "bytes_out", "fetch_sessions", "throttled", "failed_produces", "failed_fetches"), 0)
        for i in range(self.c.planes):
            plane = self.c.plane[i]
            total["connections"] += counter_get(&plane.connections)
            total["requests"] += counter_get(&plane.requests)
            total["produce_requests"] += counter_get(&plane.produced)
            total["fetch_requests"] += counter_get(&plane.fetched)
            total["bytes_in"] += counter_get(&plane.bytes_in)
            total["bytes_out"] += counter_get(&plane.bytes_out)
            total["fetch_sessions"] += counter_get(&plane.session_count)
            total["throttled"] += counter_get(&plane.throttled)
            total["failed_produces"] += counter_get(&plane.failed_produces)
            total["failed_fetches"] += counter_get(&plane.failed_fetches)
        return total

    def request_times(self):
        cdef dict found = {}
        cdef int64_t[TIME_BUCKETS] counts
        cdef int64_t total_us
        cdef int key, i, k
        for key in range(TIMED_APIS):
            memset(counts, 0, sizeof(counts))
            total_us = 0
            for i in range(self.c.planes):
                total_us += counter_get(&self.c.plane[i].times[key].total_us)
                for k in range(TIME_BUCKETS):
                    counts[k] += counter_get(&self.c.plane[i].times[key].bucket[k])
            buckets = [counts[k] for k in range(TIME_BUCKETS)]
            if any(buckets):
                found[key] = total_us, buckets
        return found

    def cpu_ns(self):
        cdef timespec spent
        cdef int clock, i
        cdef list found = []
        for i in range(self.c.planes):
            if self.c.plane[i].started and pthread_getcpuclockid(self.c.plane[i].thread, &clock) == 0 \
                    and clock_gettime(clock, &spent) == 0:
                found.append(spent.tv_sec * 1000000000 + spent.tv_nsec)
        return found

    def refusals(self):
        cdef Refusals seen
        with nogil:
            pthread_mutex_lock(&self.c.refusals.lock)
            seen = self.c.refusals
            pthread_mutex_unlock(&self.c.refusals.lock)
        return seen.count, host_text(&seen.last), seen.crowded


cdef Answer* new_answer(AnswerKind kind, int64_t size) except NULL:
    cdef Answer* answer = <Answer*>calloc(1, sizeof(Answer))
    if answer == NULL:
        raise MemoryError
    answer.letter.kind = LETTER_REPLY
    answer.kind = kind
    answer.size = <int32_t>size
    answer.data = <uint8_t*>malloc(max(size, 1))
    if answer.data == NULL:
        free(answer)
        raise MemoryError
    return answer
