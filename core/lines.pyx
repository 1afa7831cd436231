# cython: auto_pickle=False
"""From input lines to record batches: a Packer holds the open batch of every partition of one topic.

A Form says how a line is laid out: fields in order, each but the last one ended by its separator, as Kafka's
LineMessageReader and rpk's produce formats have it. Packing runs without the GIL; only a full batch makes an object.

Records without a key go to one partition until its batch is closed, then to another one (the sticky partitioner of
KIP-794 without its weights); keys go where Kafka's Java client (murmur2) or librdkafka (CRC-32) sends them.
"""

from typing import NamedTuple

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcmp, memcpy

from kafpy._core.growing cimport Out, make_room
from kafpy._core.records cimport Record, Slice, put_slice, put_varlong, read_record, slice_size, varlong_size

cdef extern from "<string.h>" nogil:
    void* memmem(const void* hay, size_t size, const void* needle, size_t length) noexcept

cdef enum:
    HEADER_SIZE = 61
    MOST_FIELDS = 8
    MOST_HEADERS = 1 << 16

    KEY = 0
    VALUE = 1
    HEADERS = 2
    PARTITION = 3
    TIMESTAMP = 4

    NO_SEPARATOR = 2  # plus the field's place
    NO_HEADER_SEPARATOR = 20
    NOT_A_NUMBER = 21

_FIELDS = {"key": KEY, "value": VALUE, "headers": HEADERS, "partition": PARTITION, "timestamp": TIMESTAMP}
_ENDS_OF = {KEY: "key separator", VALUE: "value separator", HEADERS: "headers delimiter",
           PARTITION: "separator after the partition", TIMESTAMP: "separator after the timestamp"}


class LineError(ValueError):
    """A line that is not laid out as it was said to be."""


class Packed(NamedTuple):
    partition: int
    record_count: int
    base_timestamp: int
    max_timestamp: int
    records: bytes


include "lines_form.pxi"


# Kafka's org.apache.kafka.common.utils.Utils.murmur2
cdef uint32_t murmur2(const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint32_t m = 0x5bd1e995, h = 0x9747b28cU ^ <uint32_t>size, k
    cdef int64_t at = 0
    while size - at >= 4:
        memcpy(&k, data + at, 4)
        k *= m
        k ^= k >> 24
        k *= m
        h = (h * m) ^ k
        at += 4
    if size - at == 3:
        h ^= <uint32_t>data[at + 2] << 16
    if size - at >= 2:
        h ^= <uint32_t>data[at + 1] << 8
    if size - at >= 1:
        h = (h ^ data[at]) * m
    h = (h ^ (h >> 13)) * m
    return h ^ (h >> 15)


cdef uint32_t crc32(const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint32_t crc = 0xffffffffU
    cdef int64_t at
    for at in range(size):
        crc ^= data[at]
        for _ in range(8):
            crc = (crc >> 1) ^ (0xedb88320U * (crc & 1))
    return ~crc


cdef inline uint64_t next_random(uint64_t* state) noexcept nogil:
    cdef uint64_t x = state[0]
    x ^= x << 13
    x ^= x >> 7
    x ^= x << 17
    state[0] = x
    return x


cdef class Packer:
    def __cinit__(self, int32_t partitions, *, int64_t batch_bytes=16384, available=None, bint crc_keys=False,
                  uint64_t seed=0):
        if not 0 < partitions <= 1 << 20:
            raise ValueError(f"{partitions} partitions")
        self.partitions, self.batch_bytes, self.crc_keys = partitions, batch_bytes, crc_keys
        self.random = (seed ^ 0x9e3779b97f4a7c15ULL) or 1
        self.full = []
        self.open = <Open*>calloc(partitions, sizeof(Open))
        self.available = <int32_t*>malloc(partitions * sizeof(int32_t))
        if self.open == NULL or self.available == NULL:
            raise MemoryError
        self.let(range(partitions) if available is None else available)

    def __dealloc__(self):
        if self.open != NULL:
            for partition in range(self.partitions):
                free(self.open[partition].out.data)
        free(self.open)
        free(self.available)
        free(self.scratch.data)

    def let(self, available):
        """What the sticky partitioner may choose from."""
        chosen = sorted({int(each) for each in available if 0 <= each < self.partitions}) or list(range(self.partitions))
        self.available_count = <int32_t>len(chosen)
        for place, partition in enumerate(chosen):
            self.available[place] = partition
        self.move_on()

    cdef void move_on(self) noexcept nogil:
        self.sticky = self.available[next_random(&self.random) % <uint64_t>self.available_count]

    cdef int32_t partition_of(self, const Row* row) noexcept nogil:
        if row.partition != ANY:
            return row.partition
        if row.key.size < 0 or (self.crc_keys and row.key.size == 0):
            return self.sticky
        if self.crc_keys:
            return <int32_t>(crc32(row.key.data, row.key.size) % <uint32_t>self.partitions)
        return <int32_t>((murmur2(row.key.data, row.key.size) & 0x7fffffff) % <uint32_t>self.partitions)

    cdef int pack(self, const Row* row, int32_t partition) noexcept nogil:
        cdef Open* batch = &self.open[partition]
        cdef int64_t delta, body, whole
        if batch.count == 0:
            batch.base_timestamp = batch.max_timestamp = row.timestamp
        delta = <int64_t>(<uint64_t>row.timestamp - <uint64_t>batch.base_timestamp)
        body = (1 + varlong_size(delta) + varlong_size(batch.count) + slice_size(&row.key) + slice_size(&row.value)
                + varlong_size(row.header_count) + row.headers.size)
        whole = varlong_size(body) + body
        if batch.count > 0 and HEADER_SIZE + batch.out.size + whole > self.batch_bytes or batch.count == INT32_MAX:
            return FULL
        if not make_room(&batch.out, whole):
            return NO_MEMORY
        p = put_varlong(batch.out.data + batch.out.size, body)
        p[0] = 0
        p = put_varlong(p + 1, delta)
        p = put_varlong(p, batch.count)
        p = put_slice(p, &row.key)
        p = put_slice(p, &row.value)
        p = put_varlong(p, row.header_count)
        if row.headers.size:
            memcpy(p, row.headers.data, <size_t>row.headers.size)
        if row.timestamp > batch.max_timestamp:
            batch.max_timestamp = row.timestamp
        batch.out.size += whole
        batch.count += 1
        self.held += whole
        return WANTS_MORE

    cdef int close(self, int32_t partition) except -1:
        cdef Open* batch = &self.open[partition]
        if batch.count:
            records = PyBytes_FromStringAndSize(<const char*>batch.out.data, batch.out.size)
            self.full.append(Packed(partition, batch.count, batch.base_timestamp, batch.max_timestamp, records))
            batch.count = 0
            batch.out.size = 0
        if partition == self.sticky:
            self.move_on()
        return 0

    # One record, however many closings that takes: one at most, since an empty batch takes any record.
    cdef int put(self, const Row* row) except -1:
        cdef int status
        cdef int32_t partition = self.partition_of(row)
        if not 0 <= partition < self.partitions:
            raise ValueError(f"no partition {partition}; there are {self.partitions}")
        status = self.pack(row, partition)
        if status == FULL:
            self.close(partition)
            return self.put(row)
        if status == NO_MEMORY:
            raise MemoryError
        return 0

    def add(self, value, key=None, *, int64_t timestamp, headers=(), int32_t partition=ANY):
        cdef Row row
        cdef bytes packed = pack_headers(headers)
        row.key, row.value = slice_of(key), slice_of(value)
        row.timestamp, row.partition = timestamp, partition
        row.header_count, row.headers = len(headers), slice_of(packed)
        self.put(&row)

    def add_lines(self, data, Form form not None, *, int64_t timestamp, bint last=False):
        """Packs every whole line, with `last` also what follows them; the bytes that are done with."""
        cdef Py_buffer view
        cdef const uint8_t* at
        cdef const uint8_t* end
        cdef int status
        cdef int32_t partition = 0
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            at = <const uint8_t*>view.buf
            end = at + view.len
            while True:
                with nogil:
                    status = pack_lines(self, &at, end, form, timestamp, last, &partition)
                if status == FULL:
                    self.close(partition)
                elif status == WANTS_MORE:
                    return at - <const uint8_t*>view.buf
                else:
                    raise form.complaint(status, self.lines + 1, form.line_at(at, end))
        finally:
            PyBuffer_Release(&view)

    def add_random(self, int64_t count, int32_t size, *, int64_t timestamp):
        """Records without a key, their values random capitals, as kafka-producer-perf-test makes them."""
        cdef bytes letters = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t* place = <uint8_t*>PyBytes_AS_STRING(letters)
        cdef Row row
        cdef int status
        cdef int32_t partition = 0
        row.key, row.value, row.headers = Slice(NULL, -1), Slice(place, size), Slice(NULL, 0)
        row.timestamp, row.partition, row.header_count = timestamp, ANY, 0
        while count > 0:
            with nogil:
                status = WANTS_MORE
                while count > 0 and status == WANTS_MORE:
                    fill_letters(place, size, &self.random)
                    partition = self.partition_of(&row)
                    status = self.pack(&row, partition)
                    count -= status == WANTS_MORE
            if status == FULL:
                self.close(partition)
            elif status == NO_MEMORY:
                raise MemoryError

    def take(self, bint everything=False):
        """The batches that are full; with `everything`, the open ones too."""
        cdef int32_t partition
        if everything:
            for partition in range(self.partitions):
                if self.open[partition].count:
                    self.close(partition)
        taken, self.full = self.full, []
        for each in taken:
            self.held -= len(each.records)
        return taken


cdef int pack_lines(Packer packer, const uint8_t** at, const uint8_t* end, Form form, int64_t timestamp, bint last,
                    int32_t* partition) noexcept nogil:
    cdef const uint8_t* stop
    cdef Slice line
    cdef Row row
    cdef int status
    while at[0] < end:
        stop = find(at[0], end, &form.delimiter)
        if stop == NULL and not last:
            return WANTS_MORE
        line.data = at[0]
        line.size = (end if stop == NULL else stop) - at[0]
        if line.size == 0 and form.skip_empty:
            at[0] = end if stop == NULL else stop + form.delimiter.size
            continue
        row.timestamp, row.partition = timestamp, form.partition
        status = form.read(&line, &row, &packer.scratch)
        if status != WANTS_MORE:
            return status
        partition[0] = packer.partition_of(&row)
        if not 0 <= partition[0] < packer.partitions:
            return NO_SUCH_PARTITION
        status = packer.pack(&row, partition[0])
        if status != WANTS_MORE:
            return status
        packer.lines += 1
        at[0] = end if stop == NULL else stop + form.delimiter.size
    return WANTS_MORE


cdef void fill_letters(uint8_t* place, int32_t size, uint64_t* random) noexcept nogil:
    cdef uint64_t bits = 0
    cdef int32_t at
    for at in range(size):
        if at % 6 == 0:
            bits = next_random(random)
        place[at] = <uint8_t>(65 + (((bits & 0x3ff) * 26) >> 10))
        bits >>= 10


cdef Slice slice_of(value) except *:
    if value is None:
        return Slice(NULL, -1)
    if not isinstance(value, bytes):
        raise TypeError(f"keys and values are bytes or None, not {type(value).__name__}")
    return Slice(<const uint8_t*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))


cdef bytes pack_headers(headers):
    """(key, value) pairs as they stand in a record, after their count."""
    cdef Slice each
    cdef bytearray packed = bytearray()
    for key, value in headers:
        for field in (key.encode() if isinstance(key, str) else key, value):
            each = slice_of(field)
            piece = PyBytes_FromStringAndSize(NULL, slice_size(&each))
            put_slice(<uint8_t*>PyBytes_AS_STRING(piece), &each)
            packed += piece
    return bytes(packed)


def partition_for(bytes key not None, int32_t partitions):
    return <int32_t>((murmur2(<const uint8_t*>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)) & 0x7fffffff)
                     % <uint32_t>partitions)


def runs(packed):
    """(timestamp, records, bytes of their keys and values) of each run of records with the same timestamp."""
    cdef bytes records = packed.records
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(records)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(records)
    cdef Record record
    cdef int64_t delta = 0, count = 0, size = 0, base = packed.base_timestamp
    found = []
    while p < end:
        p = read_record(p, end, &record)
        if p == NULL:
            raise ValueError("these are no records")
        if count and record.timestamp_delta != delta:
            found.append((base + delta, count, size))
            count = size = 0
        delta = record.timestamp_delta
        count += 1
        size += max(record.key.size, <int64_t>0) + max(record.value.size, <int64_t>0)
    if count:
        found.append((base + delta, count, size))
    return found


def halves(packed):
    """Two batches with the records of one, which has at least two."""
    cdef bytes records = packed.records
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(records)
    cdef const uint8_t* end = start + PyBytes_GET_SIZE(records)
    cdef const uint8_t* p
    cdef Record record
    cdef Row row
    cdef int64_t base = packed.base_timestamp
    cdef int32_t index = 0, count = packed.record_count
    cdef Packer into = Packer(1, batch_bytes=1 << 62)
    p = start
    while p < end:
        if index == count // 2:
            into.close(0)
        p = read_record(p, end, &record)
        if p == NULL:
            raise ValueError("these are no records")
        row.key, row.value, row.partition = record.key, record.value, 0
        row.timestamp, row.header_count = base + record.timestamp_delta, record.header_count
        row.headers = Slice(record.headers, p - record.headers)
        into.put(&row)
        index += 1
    return [each._replace(partition=packed.partition) for each in into.take(True)]
