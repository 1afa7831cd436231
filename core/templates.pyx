# cython: auto_pickle=False
"""Fetched batches printed by a compiled template, without an object per record.

A template is a list of ops: literals, fields of the record, and the headers with ops of their own for each header (in
them, key and value are the header's). Text fields and numbers have styles. Whole batches are checked (CRC, then every
length) before anything of them is printed; printing itself runs without the GIL.
"""

from typing import NamedTuple

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from kafpy._core.batch cimport BatchInfo, batch_header, batch_intact
from kafpy._core.batch import CorruptBatch
from kafpy._core.growing cimport Out, make_room
from kafpy._core.records cimport Record, Slice, read_record, slice_bytes, walk_headers

cdef extern from "<time.h>" nogil:
    cdef struct tm:
        pass
    tm* gmtime_r(const int64_t* seconds, tm* into) noexcept
    size_t strftime(char* out, size_t room, const char* form, const tm* time) noexcept

cdef enum:
    HEADER_SIZE = 61
    CODEC_MASK = 7
    LOG_APPEND_TIME = 8
    CONTROL = 32
    MOST_OPS = 256

    LITERAL = 0
    TOPIC = 1
    KEY = 2
    VALUE = 3
    HEADERS = 4
    TIMESTAMP_TYPE = 5
    FIRST_NUMBER = 10  # from here on: numbers
    PARTITION = 10
    OFFSET = 11
    TIMESTAMP = 12
    EPOCH = 13
    KEY_SIZE = 14
    VALUE_SIZE = 15
    TOPIC_SIZE = 16
    HEADER_COUNT = 17
    PRODUCER_ID = 18
    PRODUCER_EPOCH = 19
    INDEX = 20
    BROKER = 21

    PLAIN = 0
    HEX = 1
    BASE64 = 2
    JSON = 3
    JSON_MEMBER = 4
    BIG = 5
    LITTLE = 6
    TIME = 7

_KINDS = {
    "literal": LITERAL, "topic": TOPIC, "key": KEY, "value": VALUE, "headers": HEADERS,
    "timestamp_type": TIMESTAMP_TYPE, "partition": PARTITION, "offset": OFFSET, "timestamp": TIMESTAMP, "epoch": EPOCH,
    "key_size": KEY_SIZE, "value_size": VALUE_SIZE, "topic_size": TOPIC_SIZE, "header_count": HEADER_COUNT,
    "producer_id": PRODUCER_ID, "producer_epoch": PRODUCER_EPOCH, "index": INDEX, "broker": BROKER,
}
_STYLES = {"plain": PLAIN, "hex": HEX, "base64": BASE64, "json": JSON, "json_member": JSON_MEMBER, "big": BIG,
          "little": LITTLE, "time": TIME}

class Op(NamedTuple):
    kind: str
    style: str = "plain"
    text: bytes = b""
    width: int = 0
    between: bytes = b""
    before: bytes = b""
    after: bytes = b""
    inner: tuple = ()


cdef struct Part:  # an Op, ready to run
    int kind
    int style
    int width        # of a number in bytes, for hex, big and little
    Slice text       # a literal; null as text; a member's name; a time's form; what stands for no headers
    Slice between    # headers, as the next two
    Slice before
    Slice after
    int inner        # headers: how many ops that follow are theirs

cdef struct Shown:  # what the ops print of
    Slice key
    Slice value
    Slice topic
    const BatchInfo* batch
    const uint8_t* headers
    const uint8_t* end
    int64_t header_count
    int64_t offset
    int64_t timestamp
    int64_t index
    int32_t partition
    int32_t broker

cdef struct Window:  # which records are wanted, and what came of it
    int64_t start
    int64_t stop
    int64_t left
    int64_t printed
    int64_t next_offset


include "templates_print.pxi"


cdef class Template:
    cdef Part[MOST_OPS] ops
    cdef int count
    cdef list held

    def __cinit__(self, ops):
        self.held = []
        self.lay(ops)

    cdef int lay(self, ops) except -1:
        cdef int place
        for each in ops:
            if self.count == MOST_OPS:
                raise ValueError(f"a template has at most {MOST_OPS} parts")
            place = self.count
            self.count += 1
            memset(&self.ops[place], 0, sizeof(Part))
            self.ops[place].kind = _KINDS[each.kind]
            self.ops[place].style = _STYLES[each.style]
            self.ops[place].width = each.width
            self.ops[place].text = self.hold(each.text)
            self.ops[place].between = self.hold(each.between)
            self.ops[place].before, self.ops[place].after = self.hold(each.before), self.hold(each.after)
            if self.ops[place].kind == HEADERS:
                self.lay(each.inner)
                self.ops[place].inner = self.count - place - 1
        return 0

    cdef Slice hold(self, bytes text) except *:
        text = text + b"\0"  # strftime wants an end; it is not counted
        self.held.append(text)
        return Slice(<const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text) - 1)

    def render(self, record_sets, decompress=None, *, bytes topic=b"", int32_t partition=0, int64_t start=0,
               int64_t stop=INT64_MAX, int64_t most=INT64_MAX, int64_t index=0, int32_t broker=-1,
               bint check_crcs=True):
        cdef Window window = Window(start, stop, most, 0, start)
        cdef Shown shown
        cdef Out out = Out(NULL, 0, 0)
        memset(&shown, 0, sizeof(Shown))
        shown.topic = Slice(<const uint8_t*>PyBytes_AS_STRING(topic), PyBytes_GET_SIZE(topic))
        shown.partition, shown.index, shown.broker = partition, index, broker
        try:
            each_batch(self, record_sets, decompress, check_crcs, &window, &shown, &out, NULL)
            return PyBytes_FromStringAndSize(<const char*>out.data, out.size), window.printed, window.next_offset
        finally:
            free(out.data)

    cdef bint print_records(self, const BatchInfo* info, const uint8_t* p, int64_t size, Window* window, Shown* shown,
                            Out* out) noexcept nogil:
        cdef const uint8_t* end = p + size
        cdef Record record
        cdef bint append_time = info.attributes & LOG_APPEND_TIME != 0
        shown.batch = info
        for _ in range(info.count):
            p = read_record(p, end, &record)
            if p == NULL:
                return False
            shown.offset = info.base_offset + record.offset_delta
            if shown.offset < window.start:
                continue
            if shown.offset >= window.stop or window.left <= 0:
                return True
            shown.timestamp = (info.max_timestamp if append_time else
                               <int64_t>(<uint64_t>info.base_timestamp + <uint64_t>record.timestamp_delta))
            shown.key, shown.value = record.key, record.value
            shown.headers, shown.end, shown.header_count = record.headers, p, record.header_count
            if not print_ops(self.ops, self.count, shown, out):
                return False
            window.next_offset = shown.offset + 1
            window.printed += 1
            window.left -= 1
            shown.index += 1
        return True


def tally(record_sets, decompress=None, *, int64_t start=0, int64_t most=INT64_MAX, bint check_crcs=True):
    cdef Window window = Window(start, INT64_MAX, most, 0, start)
    cdef int64_t total = 0
    each_batch(None, record_sets, decompress, check_crcs, &window, NULL, NULL, &total)
    return window.printed, total, window.next_offset


# Every whole batch, opened and checked, to the template; without one its records and their bytes are only counted.
cdef int each_batch(Template template, record_sets, decompress, bint check_crcs, Window* window, Shown* shown, Out* out,
                    int64_t* total) except -1:
    cdef Py_buffer view, opened
    cdef BatchInfo info
    cdef int64_t position = 0, size
    cdef const uint8_t* records
    cdef bint fine
    PyObject_GetBuffer(record_sets, &view, PyBUF_SIMPLE)
    try:
        while view.len - position >= HEADER_SIZE and window.left > 0:
            if not batch_header(<uint8_t*>view.buf + position, view.len - position, &info):
                raise CorruptBatch(f"no record batch v2 header at byte {position}")
            if info.size > view.len - position:
                break
            if info.base_offset >= window.stop:
                window.next_offset = max(window.next_offset, window.stop)
                break
            if check_crcs:
                with nogil:
                    fine = batch_intact(<uint8_t*>view.buf + position, &info)
                if not fine:
                    raise CorruptBatch(f"wrong CRC in the batch of offset {info.base_offset}")
            payload = None
            records, size = <uint8_t*>view.buf + position + HEADER_SIZE, info.size - HEADER_SIZE
            if not info.attributes & CONTROL and info.base_offset + info.last_offset_delta >= window.start:
                if info.attributes & CODEC_MASK:
                    payload = decompress(info.attributes & CODEC_MASK,
                                         memoryview(record_sets)[position + HEADER_SIZE:position + info.size])
                    PyObject_GetBuffer(payload, &opened, PyBUF_SIMPLE)
                    records, size = <uint8_t*>opened.buf, opened.len
                try:
                    with nogil:
                        fine = whole_records(&info, records, size)
                        if fine and template is None:
                            count_bytes(&info, records, size, window, total)
                        elif fine:
                            fine = template.print_records(&info, records, size, window, shown, out)
                finally:
                    if payload is not None:
                        PyBuffer_Release(&opened)
                if not fine:
                    raise CorruptBatch(f"the records of the batch of offset {info.base_offset} do not add up")
            if window.left > 0 and info.base_offset + info.last_offset_delta < window.stop:
                window.next_offset = max(window.next_offset, info.base_offset + info.last_offset_delta + 1)
            elif window.left > 0:
                window.next_offset = max(window.next_offset, window.stop)
            position += info.size
        return 0
    finally:
        PyBuffer_Release(&view)


cdef bint whole_records(const BatchInfo* info, const uint8_t* p, int64_t size) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef Record record
    cdef int64_t unused = 0
    for _ in range(info.count):
        p = read_record(p, end, &record)
        if p == NULL or not walk_headers(&record, p, &unused, &unused):
            return False
    return p == end and info.count >= 0


cdef void count_bytes(const BatchInfo* info, const uint8_t* p, int64_t size, Window* window,
                      int64_t* total) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef Record record
    for _ in range(info.count):
        p = read_record(p, end, &record)
        if p == NULL or window.left <= 0:
            return
        if info.base_offset + record.offset_delta >= window.start:
            total[0] += max(record.key.size, <int64_t>0) + max(record.value.size, <int64_t>0)
            window.next_offset = info.base_offset + record.offset_delta + 1
            window.printed += 1
            window.left -= 1
