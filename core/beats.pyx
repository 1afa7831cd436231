"""Heartbeats that need no thought: requests whose answer is known until somebody says otherwise.

A request is known by its bytes, all but the correlation id: version, client and body. Belongs to the loop's thread; found
while the inbox is drained, so that nothing of Python runs for one.
"""

cimport cython

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from kafpy._core.bytes cimport get16
from kafpy._core.runtime cimport Runtime, clock_monotonic_ns

cdef enum:
    HEARTBEAT = 12
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
