"""Record sets into columns of Arrow's layout, a bounded piece at a time, for readers in bulk.

A RecordSet walks over the whole batches of a Fetch reply or of a segment and leaves out control batches and those of
aborted transactions. A Gatherer takes the records of one partition from one RecordSet after the other and fills one
growing array per column that is wanted; take() hands the arrays over and begins anew. Records are read once: nothing is
counted before, so an array is made as large as the batch that comes next could need at most, and what is never touched
costs nothing. Both belong to one thread at a time; batches that are not compressed are read without the GIL.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset
from kafpy._core.batch cimport (
    CODEC_MASK, CONTROL, HEADER_SIZE, LOG_APPEND_TIME, TRANSACTIONAL, BatchInfo, batch_header, batch_intact,
)
from kafpy._core.records cimport Record, Slice, read_record, slice_bytes, unlikely, walk_headers
from kafpy._core.batch import CorruptBatch

cdef extern from * nogil:
    bint __builtin_mul_overflow(int64_t a, int64_t b, int64_t* product) noexcept

cdef enum:
    LEAST_RECORD = 7        # its length and the smallest body
    LEAST_AREA = 4096
    MOST_DATA = 0x7fffffff  # an int32 offset counts to there
    ROOM_TO_COME = 1 << 20  # a column is full when the next batch may not fit

cdef enum Outcome:
    DONE, FULL, OPEN, CORRUPT, NO_MEMORY


# ---- arrays that grow

cdef struct Area:
    uint8_t* data
    int64_t capacity


cdef bint area_fit(Area* area, int64_t needed) noexcept nogil:
    cdef int64_t capacity
    cdef uint8_t* data
    if needed <= area.capacity:
        return True
    capacity = max(needed, area.capacity + area.capacity // 2, <int64_t>LEAST_AREA)
    data = <uint8_t*>realloc(area.data, <size_t>capacity)
    if data == NULL:
        return False
    area.data = data
    area.capacity = capacity
    return True


# Values of any size, null or not: Arrow's binary and utf8.
cdef struct Texts:
    Area starts    # int32, one more than there are values
    Area data
    Area validity  # a bit per value; those not reached yet are 1
    int64_t count
    int64_t used
    int64_t nulls


cdef bint bits_fit(Area* bits, int64_t count) noexcept nogil:
    cdef int64_t before = bits.capacity
    if not area_fit(bits, (count + 7) >> 3):
        return False
    memset(bits.data + before, 0xff, <size_t>(bits.capacity - before))
    return True


cdef bint texts_fit(Texts* texts, int64_t values, int64_t size) noexcept nogil:
    """Room for so many more values of so many bytes together."""
    if not (area_fit(&texts.starts, (texts.count + values + 1) * 4) and area_fit(&texts.data, texts.used + size)
            and bits_fit(&texts.validity, texts.count + values)):
        return False
    if texts.count == 0:
        (<int32_t*>texts.starts.data)[0] = 0
    return True


cdef inline void texts_add(Texts* texts, const Slice* field) noexcept nogil:
    if field.size > 0:
        memcpy(texts.data.data + texts.used, field.data, <size_t>field.size)
        texts.used += field.size
    elif field.size < 0:
        texts.validity.data[texts.count >> 3] &= <uint8_t>~(1 << (texts.count & 7))
        texts.nulls += 1
    texts.count += 1
    (<int32_t*>texts.starts.data)[texts.count] = <int32_t>texts.used


cdef void texts_close(Texts* texts) noexcept nogil:
    free(texts.starts.data)
    free(texts.data.data)
    free(texts.validity.data)


# ---- record sets

cdef struct Aborted:
    int64_t first_offset
    int64_t producer_id


cdef struct Walk:
    const uint8_t* data
    int64_t size       # of the whole batches
    int64_t position
    Aborted* aborted   # by first offset
    int32_t coming
    int32_t aborted_count
    int64_t* active    # producers in an aborted transaction at this place
    int32_t active_count


cdef int32_t place_of(const Walk* walk, int64_t producer_id) noexcept nogil:
    """-1: the producer is in no aborted transaction."""
    cdef int32_t i
    for i in range(walk.active_count):
        if walk.active[i] == producer_id:
            return i
    return -1


cdef bint aborted_here(Walk* walk, const BatchInfo* info) noexcept nogil:
    """Whether the batch belongs to an aborted transaction; a producer's marker ends its (Kafka's CompletedFetch)."""
    cdef int64_t producer_id
    cdef int32_t place
    while (walk.coming < walk.aborted_count
           and walk.aborted[walk.coming].first_offset <= info.base_offset + info.last_offset_delta):
        producer_id = walk.aborted[walk.coming].producer_id
        walk.coming += 1
        if place_of(walk, producer_id) < 0:
            walk.active[walk.active_count] = producer_id
            walk.active_count += 1
    if not info.attributes & (TRANSACTIONAL | CONTROL):
        return False
    place = place_of(walk, info.producer_id)
    if place >= 0 and info.attributes & CONTROL:
        walk.active_count -= 1
        walk.active[place] = walk.active[walk.active_count]
    return place >= 0


@cython.final
cdef class RecordSet:
    cdef Walk walk
    cdef object data
    cdef Py_buffer view
    cdef readonly int64_t next_offset
    cdef readonly int64_t wanted

    def __cinit__(self, data, aborted=()):
        cdef int32_t i
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.data = data
        self.walk.data = <const uint8_t*>self.view.buf
        ordered = sorted((first, producer) for producer, first in aborted)
        if ordered:
            self.walk.aborted = <Aborted*>malloc(len(ordered) * sizeof(Aborted))
            self.walk.active = <int64_t*>malloc(len(ordered) * sizeof(int64_t))
            if self.walk.aborted == NULL or self.walk.active == NULL:
                raise MemoryError
        for i, (first, producer) in enumerate(ordered):
            self.walk.aborted[i] = Aborted(first, producer)
        self.walk.aborted_count = <int32_t>len(ordered)
        self.measure()

    cdef int measure(self) except -1:
        cdef BatchInfo info
        cdef int64_t left
        self.next_offset = -1
        while True:
            left = self.view.len - self.walk.size
            if left < HEADER_SIZE:
                self.wanted = HEADER_SIZE if left else 0
                return 0
            if not batch_header(self.walk.data + self.walk.size, left, &info):
                raise CorruptBatch(f"no record batch v2 header at byte {self.walk.size}, after offset {self.next_offset}")
            if info.size > left:
                self.wanted = info.size
                return 0
            self.walk.size += info.size
            self.next_offset = info.base_offset + info.last_offset_delta + 1

    def __dealloc__(self):
        free(self.walk.aborted)
        free(self.walk.active)
        PyBuffer_Release(&self.view)

    @property
    def size(self):
        return self.walk.size


# ---- columns

cdef struct Row:
    int64_t start
    int64_t end


cdef struct Filling:
    bint keys
    bint values
    bint headers
    bint offsets
    bint timestamps
    bint timestamp_types
    Area offset
    Area timestamp
    Area timestamp_type
    Texts key
    Texts value
    Area header_starts      # int32, one more than rows
    Area header_validity    # a row without headers is null
    int64_t without_headers
    Texts header_key
    Texts header_value
    int64_t rows
    int64_t most_rows
    int64_t most_bytes


cdef int64_t bytes_used(const Filling* f) noexcept nogil:
    return f.key.used + f.value.used + f.header_key.used + f.header_value.used


cdef bint fit(Filling* f, int64_t count, int64_t size) noexcept nogil:
    """Room for so many records that take so many bytes."""
    cdef int64_t rows = f.rows + count
    if f.offsets and not area_fit(&f.offset, rows * 8):
        return False
    if f.timestamps and not area_fit(&f.timestamp, rows * 8):
        return False
    if f.timestamp_types and not area_fit(&f.timestamp_type, rows * 4):
        return False
    if f.keys and not texts_fit(&f.key, count, size):
        return False
    if f.values and not texts_fit(&f.value, count, size):
        return False
    if f.headers:
        if not (area_fit(&f.header_starts, (rows + 1) * 4) and bits_fit(&f.header_validity, rows)):
            return False
        if f.rows == 0:
            (<int32_t*>f.header_starts.data)[0] = 0
    return True


cdef int64_t microseconds(int64_t milliseconds) noexcept nogil:
    cdef int64_t product
    if __builtin_mul_overflow(milliseconds, 1000, &product):
        return 0x7fffffffffffffff if milliseconds > 0 else -0x7fffffffffffffff
    return product


cdef Outcome add_headers(Filling* f, const Record* record, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* p = record.headers
    cdef int64_t keys = 0, values = 0
    cdef Slice field
    if record.header_count == 0 and p == end:
        f.header_validity.data[f.rows >> 3] &= <uint8_t>~(1 << (f.rows & 7))
        f.without_headers += 1
    elif not walk_headers(record, end, &keys, &values):
        return CORRUPT
    elif not (texts_fit(&f.header_key, record.header_count, keys)
              and texts_fit(&f.header_value, record.header_count, values)):
        return NO_MEMORY
    else:
        for _ in range(record.header_count):
            p = slice_bytes(p, end, 0, &field)
            if unlikely(p == NULL):
                return CORRUPT
            texts_add(&f.header_key, &field)
            p = slice_bytes(p, end, -1, &field)
            if unlikely(p == NULL):
                return CORRUPT
            texts_add(&f.header_value, &field)
    (<int32_t*>f.header_starts.data)[f.rows + 1] = <int32_t>f.header_key.count
    return DONE


cdef Outcome gather(Filling* f, const BatchInfo* info, const uint8_t* p, int64_t size, const Row* range_) noexcept nogil:
    """The records of one batch, uncompressed, whose offsets are in the range."""
    cdef const uint8_t* end = p + size
    cdef bint append_time = info.attributes & LOG_APPEND_TIME != 0
    cdef int64_t offset, row
    cdef Record record
    cdef Outcome outcome
    if info.count < 0 or info.count > size // LEAST_RECORD:
        return CORRUPT
    if not fit(f, info.count, size):
        return NO_MEMORY
    for _ in range(info.count):
        p = read_record(p, end, &record)
        if unlikely(p == NULL):
            return CORRUPT
        offset = info.base_offset + record.offset_delta
        if unlikely(offset < range_.start or offset >= range_.end):
            continue
        row = f.rows
        if f.headers:
            outcome = add_headers(f, &record, p)
            if unlikely(outcome != DONE):
                return outcome
        if f.offsets:
            (<int64_t*>f.offset.data)[row] = offset
        if f.timestamps:
            (<int64_t*>f.timestamp.data)[row] = microseconds(
                info.max_timestamp if append_time else info.base_timestamp + record.timestamp_delta)
        if f.timestamp_types:
            (<int32_t*>f.timestamp_type.data)[row] = append_time
        if f.keys:
            texts_add(&f.key, &record.key)
        if f.values:
            texts_add(&f.value, &record.value)
        f.rows = row + 1
    return DONE if p == end else CORRUPT


cdef bint is_full(const Filling* f) noexcept nogil:
    return f.rows >= f.most_rows or bytes_used(f) >= f.most_bytes


cdef Outcome walk_on(Walk* walk, Filling* f, const Row* range_, BatchInfo* info) noexcept nogil:
    """Until the columns are full, the record set or the range ends, or a batch is to be opened: `info` is the one that
    the walk stands before then, or that is damaged."""
    cdef Outcome outcome
    while walk.position < walk.size:
        if is_full(f):
            return FULL
        batch_header(walk.data + walk.position, walk.size - walk.position, info)
        if info.base_offset >= range_.end:
            walk.position = walk.size
            break
        if (aborted_here(walk, info) or info.attributes & CONTROL
                or info.base_offset + info.last_offset_delta < range_.start):
            walk.position += info.size
            continue
        if not batch_intact(walk.data + walk.position, info):
            return CORRUPT
        if info.attributes & CODEC_MASK:
            return OPEN
        if f.rows and info.size > MOST_DATA - bytes_used(f):
            return FULL
        outcome = gather(f, info, walk.data + walk.position + HEADER_SIZE, info.size - HEADER_SIZE, range_)
        if outcome != DONE:
            return outcome
        walk.position += info.size
    return DONE


# Memory that a column was handed over in.
@cython.final
cdef class Memory:
    cdef uint8_t* data
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data if self.data != NULL else <void*>b"", self.size, 1, flags)

    def __releasebuffer__(self, Py_buffer* view):
        pass

    def __dealloc__(self):
        free(self.data)


cdef Memory handed_over(Area* area, int64_t size):
    cdef Memory memory = Memory.__new__(Memory)
    memory.data = area.data
    memory.size = size
    area.data = NULL
    area.capacity = 0
    return memory


cdef object bits_handed_over(Area* area, int64_t count, int64_t nulls):
    bits = handed_over(area, (count + 7) >> 3)
    return bits if nulls else None


cdef tuple texts_handed_over(Texts* texts):
    if not texts_fit(texts, 0, 0):
        raise MemoryError
    made = (texts.count, texts.nulls, bits_handed_over(&texts.validity, texts.count, texts.nulls),
            handed_over(&texts.starts, (texts.count + 1) * 4), handed_over(&texts.data, texts.used))
    texts.count = texts.used = texts.nulls = 0
    return made


@cython.final
cdef class Gatherer:
    cdef Filling filling

    def __cinit__(self, columns, *, int64_t most_rows, int64_t most_bytes):
        wanted = set(columns)
        unknown = wanted - {"key", "value", "offset", "timestamp", "timestampType", "headers"}
        if unknown:
            raise ValueError(f"no such column: {', '.join(sorted(unknown))}")
        if most_rows < 1 or most_bytes < 1:
            raise ValueError("a piece has at least one row and one byte")
        self.filling.keys = "key" in wanted
        self.filling.values = "value" in wanted
        self.filling.headers = "headers" in wanted
        self.filling.offsets = "offset" in wanted
        self.filling.timestamps = "timestamp" in wanted
        self.filling.timestamp_types = "timestampType" in wanted
        self.filling.most_rows = most_rows
        self.filling.most_bytes = min(most_bytes, MOST_DATA - ROOM_TO_COME)

    def __dealloc__(self):
        cdef Filling* f = &self.filling
        free(f.offset.data)
        free(f.timestamp.data)
        free(f.timestamp_type.data)
        free(f.header_starts.data)
        free(f.header_validity.data)
        texts_close(&f.key)
        texts_close(&f.value)
        texts_close(&f.header_key)
        texts_close(&f.header_value)

    @property
    def rows(self):
        return self.filling.rows

    def feed(self, RecordSet source not None, int64_t start, int64_t end, decompress=None):
        cdef Row range_ = Row(start, end)
        cdef BatchInfo info
        cdef Outcome outcome
        while True:
            with nogil:
                outcome = walk_on(&source.walk, &self.filling, &range_, &info)
            if outcome == OPEN:
                outcome = self.open(source, &info, &range_, decompress)
                if outcome == DONE:
                    source.walk.position += info.size
                    continue
            if outcome == CORRUPT:
                raise CorruptBatch(f"the batch at offset {info.base_offset} is damaged")
            if outcome == NO_MEMORY:
                raise MemoryError
            return outcome == FULL

    cdef Outcome open(self, RecordSet source, const BatchInfo* info, const Row* range_, decompress) except *:
        cdef int64_t position = source.walk.position
        cdef Py_buffer opened
        cdef Outcome outcome
        if decompress is None:
            raise ValueError(f"the batch at offset {info.base_offset} is compressed and there is no decompress")
        payload = memoryview(source.data)[position + HEADER_SIZE:position + info.size]
        PyObject_GetBuffer(decompress(info.attributes & CODEC_MASK, payload), &opened, PyBUF_SIMPLE)
        try:
            if self.filling.rows and opened.len > MOST_DATA - bytes_used(&self.filling):
                return FULL
            with nogil:
                outcome = gather(&self.filling, info, <const uint8_t*>opened.buf, opened.len, range_)
            return outcome
        finally:
            PyBuffer_Release(&opened)

    def take(self):
        cdef Filling* f = &self.filling
        cdef int64_t rows = f.rows
        taken = {}
        if f.offsets:
            taken["offset"] = handed_over(&f.offset, rows * 8)
        if f.timestamps:
            taken["timestamp"] = handed_over(&f.timestamp, rows * 8)
        if f.timestamp_types:
            taken["timestampType"] = handed_over(&f.timestamp_type, rows * 4)
        if f.keys:
            taken["key"] = texts_handed_over(&f.key)
        if f.values:
            taken["value"] = texts_handed_over(&f.value)
        if f.headers:
            if not fit(f, 0, 0):
                raise MemoryError
            taken["headers"] = (
                f.without_headers, bits_handed_over(&f.header_validity, rows, f.without_headers),
                handed_over(&f.header_starts, (rows + 1) * 4),
                texts_handed_over(&f.header_key), texts_handed_over(&f.header_value))
            f.without_headers = 0
        f.rows = 0
        return rows, taken
