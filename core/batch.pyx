# cython: auto_pickle=False
"""Record batch v2: header, checks and stamps; batch_records.pxi, batch_encode.pxi and batch_columns.pxi hold the rest.

What other modules cimport is `noexcept nogil` over bytes that the caller owns; no state is kept between calls.

Layout, big-endian (DefaultRecordBatch):

     0 base_offset i64          | 23 last_offset_delta i32   | 51 producer_epoch i16
     8 batch_length i32         | 27 base_timestamp i64      | 53 base_sequence i32
    12 partition_leader_epoch   | 35 max_timestamp i64       | 57 count i32
    16 magic i8                 | 43 producer_id i64         | 61 records
    17 crc u32, of bytes 21 to the end
    21 attributes i16: bits 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon

A record: length varint, attributes i8, timestamp_delta varlong, offset_delta varint, key and value (varint length, -1
for null), header count varint, and per header a key (never null) and a value. All varints are zigzag.
"""

from array import array
from typing import NamedTuple

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport (
    INT32_MAX, INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from kafpy._core.bytes cimport get16, get32, get64, put16, put32, put64
from kafpy._core.crc32c cimport crc32c
from kafpy._core.records cimport (
    Record, Slice, put_slice, put_varlong, read_record, slice_bytes, slice_size, unlikely, varlong_size, walk_headers,
)


cdef extern from * nogil:
    bint __builtin_add_overflow(int64_t a, int64_t b, int64_t* sum) noexcept
    bint __builtin_sub_overflow(int64_t a, int64_t b, int64_t* difference) noexcept


cdef enum:
    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_COMPRESSION_TYPE = 76
    INVALID_RECORD = 87

    LOG_OVERHEAD = 12
    MAGIC_END = 17
    CRC_START = 21

    ZSTD = 4

    # No codec packs records, whose offset deltas all differ, anywhere near this densely: a bound for the count of a
    # batch that is not opened.
    MOST_RECORDS_PER_COMPRESSED_BYTE = 1024


cdef void load_header(const uint8_t* data, BatchInfo* info) noexcept nogil:
    info.base_offset = <int64_t>get64(data)
    info.batch_length = <int32_t>get32(data + 8)
    info.leader_epoch = <int32_t>get32(data + 12)
    info.magic = <int8_t>data[16]
    info.crc = get32(data + 17)
    info.attributes = <int16_t>get16(data + 21)
    info.last_offset_delta = <int32_t>get32(data + 23)
    info.base_timestamp = <int64_t>get64(data + 27)
    info.max_timestamp = <int64_t>get64(data + 35)
    info.producer_id = <int64_t>get64(data + 43)
    info.producer_epoch = <int16_t>get16(data + 51)
    info.base_sequence = <int32_t>get32(data + 53)
    info.count = <int32_t>get32(data + 57)
    info.size = info.batch_length + LOG_OVERHEAD


cdef bint batch_header(const uint8_t* data, int64_t size, BatchInfo* info) noexcept nogil:
    cdef int32_t length
    if size < HEADER_SIZE or data[16] != 2:
        return False
    length = <int32_t>get32(data + 8)
    if length < HEADER_SIZE - LOG_OVERHEAD or length > 0x7fffffff - LOG_OVERHEAD:
        return False
    load_header(data, info)
    return True


cdef bint batch_intact(const uint8_t* data, const BatchInfo* info) noexcept nogil:
    return crc32c(0, data + CRC_START, <size_t>(info.size - CRC_START)) == info.crc


include "batch_records.pxi"


# What needs no CRC: that there is one batch, whole, of our format, and not too large.
cdef int16_t check_frame(const uint8_t* data, int64_t size, const BatchPolicy* policy) noexcept nogil:
    cdef int64_t length
    if size < LOG_OVERHEAD:
        return INVALID_RECORD
    if size >= MAGIC_END and data[16] != 2:
        return INVALID_RECORD
    length = <int32_t>get32(data + 8)
    if length < HEADER_SIZE - LOG_OVERHEAD or length > size - LOG_OVERHEAD:
        return CORRUPT_MESSAGE
    if length != size - LOG_OVERHEAD:
        return INVALID_RECORD
    if get64(data) != 0:
        return INVALID_RECORD
    if size > policy.max_message_bytes:
        return MESSAGE_TOO_LARGE
    return 0


# LogValidator.validateBatch, and what it leaves to others about producers, codecs and counts.
cdef int16_t check_fields(const BatchInfo* info) noexcept nogil:
    cdef int codec = info.attributes & CODEC_MASK
    if info.count <= 0 or info.last_offset_delta != info.count - 1:
        return INVALID_RECORD
    if info.attributes & CONTROL:
        return INVALID_RECORD
    if info.producer_id >= 0:
        if info.base_sequence < 0 or info.producer_epoch < 0:
            return INVALID_RECORD
    # Without a producer id, epoch and sequence mean nothing: KafkaJS leaves zeros there.
    if codec > ZSTD:
        return UNSUPPORTED_COMPRESSION_TYPE
    if codec and info.count > <int64_t>(info.size - HEADER_SIZE) * MOST_RECORDS_PER_COMPRESSED_BYTE:
        return INVALID_RECORD
    return 0


# LogValidator.validateTimestamp: opens the window for the records' own times, and holds the header of a batch whose
# records are not seen against it. The header's maximum is no witness where they are: Sarama always writes -1.
cdef int16_t check_times(const BatchInfo* info, const BatchPolicy* policy,
                         int64_t* earliest, int64_t* latest) noexcept nogil:
    earliest[0] = INT64_MIN
    latest[0] = INT64_MAX
    if policy.log_append_time:
        return INVALID_TIMESTAMP if info.attributes & LOG_APPEND_TIME else 0
    if info.attributes & LOG_APPEND_TIME and info.max_timestamp == -1:
        return INVALID_TIMESTAMP
    if __builtin_sub_overflow(policy.now_ms, policy.before_max_ms, earliest):
        earliest[0] = INT64_MIN
    if __builtin_add_overflow(policy.now_ms, policy.after_max_ms, latest):
        latest[0] = INT64_MAX
    if not info.attributes & CODEC_MASK:
        return 0
    if info.max_timestamp > latest[0] or (info.base_timestamp < earliest[0] and info.base_timestamp != -1):
        return INVALID_TIMESTAMP
    return 0


cdef int16_t batch_check(const uint8_t* data, int64_t size, const BatchPolicy* policy, BatchInfo* info) noexcept nogil:
    cdef int64_t earliest, latest, max_timestamp = 0
    cdef int16_t error = check_frame(data, size, policy)
    info.bad_record = -1
    if error:
        return error
    load_header(data, info)
    if not batch_intact(data, info):
        return CORRUPT_MESSAGE
    error = check_fields(info)
    if error:
        return error
    error = check_times(info, policy, &earliest, &latest)
    if error:
        return error
    if info.attributes & LOG_APPEND_TIME:  # then no record has a time of its own
        earliest = INT64_MIN
        latest = INT64_MAX
    if not info.attributes & CODEC_MASK:
        error = batch_walk(data + HEADER_SIZE, size - HEADER_SIZE, info.count, policy.keys_required,
                           info.base_timestamp, earliest, latest, &max_timestamp, &info.bad_record)
        if error:
            return error
        if not policy.log_append_time and not info.attributes & LOG_APPEND_TIME:
            info.max_timestamp = max_timestamp
    if not policy.log_append_time:
        info.attributes &= ~LOG_APPEND_TIME
    return 0


cdef void batch_stamp(uint8_t* data, int64_t base_offset, int32_t leader_epoch) noexcept nogil:
    put64(data, <uint64_t>base_offset)
    put32(data + 12, <uint32_t>leader_epoch)


cdef void store_times(uint8_t* data, BatchInfo* info) noexcept nogil:
    put16(data + 21, <uint16_t>info.attributes)
    put64(data + 35, <uint64_t>info.max_timestamp)
    info.crc = crc32c(0, data + CRC_START, <size_t>(info.size - CRC_START))
    put32(data + 17, info.crc)


cdef void batch_stamp_append_time(uint8_t* data, BatchInfo* info, int64_t now_ms) noexcept nogil:
    info.attributes |= LOG_APPEND_TIME
    info.max_timestamp = now_ms
    store_times(data, info)


cdef void batch_stamp_create_time(uint8_t* data, BatchInfo* info) noexcept nogil:
    if (info.max_timestamp != <int64_t>get64(data + 35)
            or info.attributes != <int16_t>get16(data + 21)):
        store_times(data, info)


class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def codec(self):
        return self.attributes & CODEC_MASK

    @property
    def size(self):
        return self.batch_length + LOG_OVERHEAD


class CorruptBatch(ValueError):
    pass


# Holds a buffer's memory for as long as the object lives.
cdef class _Pin:
    cdef Py_buffer view
    cdef uint8_t* data

    def __cinit__(self, data, int flags=PyBUF_SIMPLE):
        PyObject_GetBuffer(data, &self.view, flags)
        self.data = <uint8_t*>self.view.buf

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef BatchInfo info_of(_Pin pin) except *:
    cdef BatchInfo info
    if not batch_header(pin.data, pin.view.len, &info):
        raise CorruptBatch("no record batch v2 header here")
    return info


def header(data):
    cdef BatchInfo info = info_of(_Pin(data))
    return BatchHeader(info.base_offset, info.batch_length, info.leader_epoch, info.magic, info.crc, info.attributes,
                       info.last_offset_delta, info.base_timestamp, info.max_timestamp, info.producer_id,
                       info.producer_epoch, info.base_sequence, info.count)


def split(data):
    cdef _Pin pin = _Pin(data)
    cdef int64_t position = 0, size = pin.view.len
    cdef BatchInfo info
    bounds = [0]
    while size - position >= HEADER_SIZE:
        if not batch_header(pin.data + position, size - position, &info):
            raise CorruptBatch(f"no record batch v2 header at byte {position}")
        if info.size > size - position:
            break
        position += info.size
        bounds.append(position)
    return bounds


def check(data, *, int64_t now_ms, int32_t max_message_bytes=1048588, int64_t before_max_ms=INT64_MAX,
          int64_t after_max_ms=3600000, bint log_append_time=False, bint keys_required=False):
    cdef _Pin pin = _Pin(data)
    cdef BatchPolicy policy = BatchPolicy(max_message_bytes, now_ms, before_max_ms, after_max_ms, log_append_time,
                                          keys_required)
    cdef BatchInfo info
    cdef int16_t error
    with nogil:
        error = batch_check(pin.data, pin.view.len, &policy, &info)
    return error


def check_records(records, int32_t count, *, int64_t base_timestamp=0, int64_t earliest=INT64_MIN,
                  int64_t latest=INT64_MAX, bint keys_required=False):
    cdef _Pin pin = _Pin(records)
    cdef int64_t max_timestamp
    cdef int32_t bad_record
    cdef int16_t error
    with nogil:
        error = batch_walk(pin.data, pin.view.len, count, keys_required, base_timestamp, earliest, latest,
                           &max_timestamp, &bad_record)
    return error


def max_timestamp(records, int32_t count, int64_t base_timestamp):
    cdef _Pin pin = _Pin(records)
    cdef int64_t found = 0
    cdef int32_t bad_record
    cdef int16_t error
    with nogil:
        error = batch_walk(pin.data, pin.view.len, count, False, base_timestamp, INT64_MIN, INT64_MAX, &found,
                           &bad_record)
    if error:
        raise CorruptBatch("a record lies about its length or time")
    return found


def first_at(records, int32_t count, int64_t base_timestamp, int64_t timestamp):
    cdef _Pin pin = _Pin(records)
    cdef const uint8_t* p = pin.data
    cdef const uint8_t* end = pin.data + pin.view.len
    cdef Record record
    cdef int32_t index
    for index in range(count):
        p = read_record(p, end, &record)
        if p == NULL:
            raise CorruptBatch("a record lies about its length")
        if base_timestamp + record.timestamp_delta >= timestamp:
            return record.offset_delta, base_timestamp + record.timestamp_delta
    return None


def intact(data):
    cdef _Pin pin = _Pin(data)
    cdef BatchInfo info
    return (batch_header(pin.data, pin.view.len, &info) and info.size <= pin.view.len
            and batch_intact(pin.data, &info))


def stamp(data, int64_t base_offset, int32_t leader_epoch):
    cdef _Pin pin = _Pin(data, PyBUF_WRITABLE)
    info_of(pin)
    batch_stamp(pin.data, base_offset, leader_epoch)


def stamp_append_time(data, int64_t now_ms):
    cdef _Pin pin = _Pin(data, PyBUF_WRITABLE)
    cdef BatchInfo info = info_of(pin)
    if info.size > pin.view.len:
        raise CorruptBatch("the batch is cut off")
    batch_stamp_append_time(pin.data, &info, now_ms)


def stamp_create_time(data):
    cdef _Pin pin = _Pin(data, PyBUF_WRITABLE)
    cdef BatchPolicy anything = BatchPolicy(INT32_MAX, 0, INT64_MAX, INT64_MAX, False, False)
    cdef BatchInfo info
    cdef int16_t error = batch_check(pin.data, pin.view.len, &anything, &info)
    if error:
        raise CorruptBatch(f"not a batch that a client may send (error {error})")
    batch_stamp_create_time(pin.data, &info)


include "batch_encode.pxi"
include "batch_columns.pxi"
