"""Requests of quiet members that need no thought: heartbeats whose answer is known, commits that will be taken.

A heartbeat is known by its bytes, all but the correlation id: version, client and body; it is answered while the inbox is
drained, so that nothing of Python runs for one. A commit is known by the bytes before its topics: version, client, group,
generation, member. It is read into records, and its answer written, while the inbox is drained; whether it is taken is
Python's to say. What a commit has besides offsets (metadata, a retention time, a topic not seen before) makes it an
ordinary one. Belongs to the loop's thread.
"""

cimport cython

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from kafpy._core.bytes cimport get16, put16, put32, put64, put_count
from kafpy._core.reader cimport (
    ELEMENT_BUDGET, Reader, take, take32, take64, take_count, take_string, take_tags
)
from kafpy._core.runtime cimport Runtime, clock_monotonic_ns, clock_wall_ms

cdef enum:
    HEARTBEAT = 12
    OFFSET_COMMIT = 8
    FIRST_COMMIT = 5             # versions: before it there is a retention time
    LAST_COMMIT = 10
    COMMITS_BY_ID = 10
    COMMITS_FLEXIBLE = 8
    TOPIC_ID_TAG = 18            # its number, its size, 16 bytes
    HEAD = 4                     # api key and version; the correlation id stands behind them
    LONGEST = 512                # anyone may name a group, in 32 KB if they like


cdef bytes known_by(const uint8_t* frame, int32_t size):
    cdef bytes key = PyBytes_FromStringAndSize(NULL, size - 4)
    cdef uint8_t* place = <uint8_t*>PyBytes_AS_STRING(key)
    memcpy(place, frame, HEAD)
    memcpy(place + HEAD, frame + HEAD + 4, size - HEAD - 4)
    return key


cdef class Beat:
    @property
    def idle_ms(self):
        return (clock_monotonic_ns(&self.beats.runtime.c.clock) - self.heard_ns) // 1000000

    def forget(self):
        if self.beats.known.get(self.key) is self:
            del self.beats.known[self.key]
        if self.commits is not None and self.beats.committers.get(self.commits.key) is self.commits:
            del self.beats.committers[self.commits.key]
        self.commits = None

    cdef bint is_known(self):
        return self.beats.known.get(self.key) is self

    def expect_commits(self, bytes frame not None, str group_id not None, dict topics not None):
        cdef int32_t head = commit_head(<const uint8_t*><const char*>frame, <int32_t>len(frame))
        cdef Committer made
        if not self.is_known() or head < 0 or head > LONGEST:
            return
        if self.commits is not None and self.beats.committers.get(self.commits.key) is self.commits:
            del self.beats.committers[self.commits.key]
        made = Committer.__new__(Committer)
        made.beat = self
        made.key = known_by(<const uint8_t*><const char*>frame, head)
        made.group_id = group_id
        made.group = group_id.encode()
        made.topics = topics
        self.commits = made
        self.beats.committers[made.key] = made

    cdef bytes answer(self, const uint8_t* correlation_id):
        cdef bytes made = PyBytes_FromStringAndSize(NULL, 4 + len(self.reply))
        cdef uint8_t* place = <uint8_t*>PyBytes_AS_STRING(made)
        memcpy(place, correlation_id, 4)
        memcpy(place + 4, PyBytes_AS_STRING(self.reply), len(self.reply))
        self.heard_ns = clock_monotonic_ns(&self.beats.runtime.c.clock)
        return made


cdef class Beats:
    def __cinit__(self, Runtime runtime not None):
        self.runtime = runtime
        self.known = {}
        self.committers = {}

    cdef Beat remember(self, bytes frame, bytes payload):
        cdef Beat beat
        if not 8 <= len(frame) <= LONGEST or get16(<const uint8_t*><const char*>frame) != HEARTBEAT:
            return None
        beat = Beat.__new__(Beat)
        beat.beats = self
        beat.key = known_by(<const uint8_t*><const char*>frame, <int32_t>len(frame))
        beat.reply = payload[4:]
        beat.heard_ns = clock_monotonic_ns(&self.runtime.c.clock)
        self.known[beat.key] = beat
        return beat

    cdef Beat find(self, const uint8_t* frame, int32_t size):
        if not 8 <= size <= LONGEST or get16(frame) != HEARTBEAT or not self.known:
            return None
        return self.known.get(known_by(frame, size))

    cdef KnownCommit read_commit(self, const uint8_t* frame, int32_t size):
        cdef int32_t head
        cdef Committer committer
        cdef KnownCommit commit
        if not self.committers or size < 8 or get16(frame) != OFFSET_COMMIT:
            return None
        head = commit_head(frame, size)
        if head < 0 or head > LONGEST:
            return None
        committer = self.committers.get(known_by(frame, head))
        if committer is None:
            return None
        commit = KnownCommit.__new__(KnownCommit)
        commit.committer = committer
        commit.version = <int16_t>get16(frame + 2)
        return commit if commit.read(frame, head, size) else None


cdef int32_t commit_head(const uint8_t* frame, int32_t size) noexcept:
    """Where the topics of an OffsetCommit begin; -1: it is none that can be known."""
    cdef int16_t version = <int16_t>get16(frame + 2) if size >= 8 else 0
    cdef bint flexible = version >= COMMITS_FLEXIBLE
    cdef Reader r
    cdef int32_t length
    if not FIRST_COMMIT <= version <= LAST_COMMIT or get16(frame) != OFFSET_COMMIT:
        return -1
    r.p = frame + 8
    r.end = frame + size
    r.bad = 0
    r.budget = 64
    take_string(&r, False, &length)                # the client id
    if flexible:
        take_tags(&r)
    take_string(&r, flexible, &length)             # group
    take32(&r)                                     # generation
    take_string(&r, flexible, &length)             # member
    if version >= 7:
        take_string(&r, flexible, &length)         # instance
    return -1 if r.bad else <int32_t>(r.p - frame)


cdef class Committer:
    """Whose commits are known, and of which topics: as the request names them to what they are called."""


cdef class KnownCommit:
    @property
    def group_id(self):
        return self.committer.group_id

    def take(self):
        """Whether it may still be taken; if so its member was heard of now."""
        cdef Beat beat = self.committer.beat
        if not beat.is_known() or beat.commits is not self.committer:
            return False
        beat.heard_ns = clock_monotonic_ns(&beat.beats.runtime.c.clock)
        return True

    cdef bint read(self, const uint8_t* frame, int32_t head, int32_t size):
        """False: it is not what can be known."""
        cdef bint flexible = self.version >= COMMITS_FLEXIBLE
        cdef bytes answer = PyBytes_FromStringAndSize(NULL, size + 32)        # more than any answer takes
        cdef uint8_t* start = <uint8_t*>PyBytes_AS_STRING(answer)
        cdef uint8_t* out = start
        cdef Reader r
        cdef int32_t topics, i
        r.p = frame + head
        r.end = frame + size
        r.bad = 0
        r.budget = ELEMENT_BUDGET
        self.records = []
        self.topics = []
        memcpy(out, frame + 4, 4)                  # correlation id
        out += 4
        if flexible:
            out[0] = 0
            out += 1
        put32(out, 0)                              # throttle time
        out += 4
        topics = take_count(&r, flexible, 4)
        out += put_count(out, flexible, topics)
        for i in range(topics):
            out = self.read_topic(&r, flexible, out)
            if out == NULL:
                return False
        if flexible:
            take_tags(&r)
            out[0] = 0
            out += 1
        self.payload = answer[:out - start]
        return topics > 0 and not r.bad and r.p == r.end

    cdef uint8_t* read_topic(self, Reader* r, bint flexible, uint8_t* out):
        """Writes its part of the answer, and returns the end of it; NULL as read()."""
        cdef bint by_id = self.version >= COMMITS_BY_ID
        cdef const uint8_t* name
        cdef const uint8_t* begins = r.p
        cdef int32_t length = 16, partitions, partition, i, highest = -1
        cdef bytes prefix
        name = take(r, 16) if by_id else take_string(r, flexible, &length)
        if r.bad or length < 0:
            return NULL
        topic = self.committer.topics.get((<const char*>name)[:length])
        if topic is None:
            return NULL
        memcpy(out, begins, r.p - begins)
        out += r.p - begins
        prefix = record_key(self.committer.group, topic[1])
        partitions = take_count(r, flexible, 13)
        if partitions <= 0:
            return NULL
        out += put_count(out, flexible, partitions)
        for i in range(partitions):
            partition = take32(r)
            if not self.read_partition(r, flexible, prefix, partition, name if by_id else NULL) or partition < 0:
                return NULL
            highest = max(highest, partition)
            put32(out, partition)
            put16(out + 4, 0)
            out += 6
            if flexible:
                out[0] = 0
                out += 1
        if flexible:
            take_tags(r)
            out[0] = 0
            out += 1
        self.topics.append((topic[0], highest))
        return out

    cdef bint read_partition(self, Reader* r, bint flexible, bytes prefix, int32_t partition, const uint8_t* topic_id):
        cdef int64_t offset = take64(r)
        cdef int32_t leader_epoch = take32(r) if self.version >= 6 else -1, metadata, size
        cdef bytes key, value
        cdef uint8_t* p
        take_string(r, flexible, &metadata)
        if flexible:
            take_tags(r)
        if r.bad or metadata > 0:
            return False
        size = <int32_t>len(prefix)
        key = PyBytes_FromStringAndSize(NULL, size + 4)
        memcpy(PyBytes_AS_STRING(key), PyBytes_AS_STRING(prefix), size)
        put32(<uint8_t*>PyBytes_AS_STRING(key) + size, partition)
        value = PyBytes_FromStringAndSize(NULL, 24 + (TOPIC_ID_TAG if topic_id != NULL else 0))
        p = <uint8_t*>PyBytes_AS_STRING(value)
        put16(p, 4)
        put64(p + 2, offset)
        put32(p + 10, leader_epoch)
        p[14] = 1                                  # no metadata
        put64(p + 15, clock_wall_ms(&self.committer.beat.beats.runtime.c.clock))
        p[23] = 0 if topic_id == NULL else 1
        if topic_id != NULL:
            p[24] = 0                              # the tag's number
            p[25] = 16
            memcpy(p + 26, topic_id, 16)
        self.records.append((key, value))
        return True


cdef bytes record_key(bytes group, bytes topic):
    """All of an offset's key but its partition (offset_record.py)."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, 6 + len(group) + len(topic))
    cdef uint8_t* p = <uint8_t*>PyBytes_AS_STRING(made)
    put16(p, 1)
    put16(p + 2, len(group))
    memcpy(p + 4, PyBytes_AS_STRING(group), len(group))
    p += 4 + len(group)
    put16(p, len(topic))
    memcpy(p + 2, PyBytes_AS_STRING(topic), len(topic))
    return made
