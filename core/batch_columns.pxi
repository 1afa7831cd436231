# Part of batch.pyx: fetched record sets into columns, in Arrow's layout.
#
# Two passes: one checks every record and sums up sizes, one fills arrays of exactly those sizes. Nothing is made per
# record but its place in the arrays.


class Columns(NamedTuple):
    offsets: object
    timestamps: object
    timestamp_types: object
    leader_epochs: object
    keys: BytesColumn
    values: BytesColumn
    headers: HeadersColumn
    next_offset: int


cdef struct Sums:
    int64_t records
    int64_t key_bytes
    int64_t value_bytes
    int64_t headers
    int64_t header_key_bytes
    int64_t header_value_bytes


# A BytesColumn being filled.
cdef struct BytesFill:
    int32_t* narrow  # one of these two is NULL
    int64_t* wide
    uint8_t* data
    uint8_t* validity  # NULL: never null
    int64_t rows
    int64_t row
    int64_t size
    int64_t used


cdef struct Fill:
    int64_t* offsets
    int64_t* timestamps
    int8_t* timestamp_types
    int32_t* leader_epochs
    BytesFill keys
    BytesFill values
    int32_t* header_starts
    BytesFill header_keys
    BytesFill header_values
    int64_t row


# One opened batch: its header and its records, uncompressed.
cdef class _Opened:
    cdef BatchInfo info
    cdef _Pin pin
    cdef const uint8_t* records
    cdef int64_t size


cdef bint count_records(const uint8_t* p, int64_t size, int32_t count, Sums* sums) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef Record record
    for _ in range(count):
        p = read_record(p, end, &record)
        if p == NULL or not walk_headers(&record, p, &sums.header_key_bytes, &sums.header_value_bytes):
            return False
        sums.records += 1
        sums.headers += record.header_count
        if record.key.size > 0:
            sums.key_bytes += record.key.size
        if record.value.size > 0:
            sums.value_bytes += record.value.size
    return p == end


# The fills are False when the bytes are no longer what was counted: the caller's buffer changed in between.
cdef inline bint fill_bytes(BytesFill* fill, const Slice* field) noexcept nogil:
    if field.size >= 0:
        if unlikely(field.size > fill.size - fill.used):
            return False
        if fill.validity != NULL:
            fill.validity[fill.row >> 3] |= <uint8_t>(1 << (fill.row & 7))
        memcpy(fill.data + fill.used, field.data, <size_t>field.size)
        fill.used += field.size
    fill.row += 1
    if fill.wide != NULL:
        fill.wide[fill.row] = fill.used
    else:
        fill.narrow[fill.row] = <int32_t>fill.used
    return True


cdef bint fill_headers(Fill* fill, const Record* record, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* p = record.headers
    cdef Slice field
    if record.header_count > fill.header_keys.rows - fill.header_keys.row:
        return False
    for _ in range(record.header_count):
        p = slice_bytes(p, end, 0, &field)
        if p == NULL or not fill_bytes(&fill.header_keys, &field):
            return False
        p = slice_bytes(p, end, -1, &field)
        if p == NULL or not fill_bytes(&fill.header_values, &field):
            return False
    return True


cdef bint fill_records(Fill* fill, const BatchInfo* info, const uint8_t* p, int64_t size) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef Record record
    cdef int64_t row
    cdef bint append_time = info.attributes & LOG_APPEND_TIME != 0
    for _ in range(info.count):
        p = read_record(p, end, &record)
        if unlikely(p == NULL):
            return False
        row = fill.row
        fill.offsets[row] = info.base_offset + record.offset_delta
        fill.timestamps[row] = (info.max_timestamp if append_time else
                                <int64_t>(<uint64_t>info.base_timestamp + <uint64_t>record.timestamp_delta))
        fill.timestamp_types[row] = append_time
        fill.leader_epochs[row] = info.leader_epoch
        if unlikely(not (fill_bytes(&fill.keys, &record.key) and fill_bytes(&fill.values, &record.value)
                         and fill_headers(fill, &record, p))):
            return False
        fill.row = row + 1
        fill.header_starts[fill.row] = <int32_t>fill.header_keys.row
    return True


cdef _Opened open_batch(record_sets, _Pin pin, int64_t position, const BatchInfo* info, decompress):
    cdef _Opened opened = _Opened.__new__(_Opened)
    cdef int codec = info.attributes & CODEC_MASK
    opened.info = info[0]
    opened.pin = pin
    opened.records = pin.data + position + HEADER_SIZE
    opened.size = info.size - HEADER_SIZE
    if codec:
        if decompress is None:
            raise ValueError(f"the batch at byte {position} is compressed (codec {codec}) and there is no decompress")
        payload = memoryview(record_sets).cast("B")[position + HEADER_SIZE:position + info.size]
        opened.pin = _Pin(decompress(codec, payload))
        opened.records = opened.pin.data
        opened.size = opened.pin.view.len
    return opened


cdef object bytes_column(numpy, int64_t rows, int64_t size, bint nullable, BytesFill* fill):
    offsets = numpy.zeros(rows + 1, numpy.int32 if size <= INT32_MAX else numpy.int64)
    data = numpy.empty(size, numpy.uint8)
    validity = numpy.zeros((rows + 7) // 8, numpy.uint8) if nullable else None
    fill.wide = <int64_t*>place_of(offsets) if size > INT32_MAX else NULL
    fill.narrow = <int32_t*>place_of(offsets)
    fill.data = <uint8_t*>place_of(data)
    fill.validity = <uint8_t*>place_of(validity) if nullable else NULL
    fill.rows, fill.row, fill.size, fill.used = rows, 0, size, 0
    return BytesColumn(offsets, data, validity)


# Where a new array keeps its elements; the caller holds the array.
cdef void* place_of(array_) except? NULL:
    cdef _Pin pin = _Pin(array_, PyBUF_WRITABLE)
    return pin.view.buf


cdef object filled(list batches, const Sums* sums, int64_t next_offset):
    import numpy  # here, so that a broker that never decodes does not load it
    cdef Fill fill
    cdef _Opened opened
    cdef int64_t rows = sums.records
    cdef bint whole
    columns = Columns(
        numpy.empty(rows, numpy.int64), numpy.empty(rows, numpy.int64), numpy.empty(rows, numpy.int8),
        numpy.empty(rows, numpy.int32),
        bytes_column(numpy, rows, sums.key_bytes, True, &fill.keys),
        bytes_column(numpy, rows, sums.value_bytes, True, &fill.values),
        HeadersColumn(numpy.zeros(rows + 1, numpy.int32),
                      bytes_column(numpy, sums.headers, sums.header_key_bytes, False, &fill.header_keys),
                      bytes_column(numpy, sums.headers, sums.header_value_bytes, True, &fill.header_values)),
        next_offset)
    fill.offsets = <int64_t*>place_of(columns.offsets)
    fill.timestamps = <int64_t*>place_of(columns.timestamps)
    fill.timestamp_types = <int8_t*>place_of(columns.timestamp_types)
    fill.leader_epochs = <int32_t*>place_of(columns.leader_epochs)
    fill.header_starts = <int32_t*>place_of(columns.headers.offsets)
    fill.row = 0
    for opened in batches:
        with nogil:
            whole = fill_records(&fill, &opened.info, opened.records, opened.size)
        if not whole:
            raise CorruptBatch("the buffer changed while it was read")
    return columns


# Every whole batch that is wanted, opened and checked; and the offset behind the last one, -1 where there is none.
cdef tuple opened_batches(record_sets, decompress, bint control, bint check_crcs, Sums* sums):
    cdef _Pin pin = _Pin(record_sets)
    cdef _Opened opened
    cdef BatchInfo info
    cdef int64_t position = 0, size = pin.view.len, next_offset = -1
    cdef bint whole
    batches = []
    while size - position >= HEADER_SIZE:
        if not batch_header(pin.data + position, size - position, &info):
            raise CorruptBatch(f"no record batch v2 header at byte {position}")
        if info.size > size - position:
            break
        if check_crcs:
            with nogil:
                whole = batch_intact(pin.data + position, &info)
            if not whole:
                raise CorruptBatch(f"wrong CRC in the batch at byte {position}")
        next_offset = info.base_offset + info.last_offset_delta + 1
        if control or not info.attributes & CONTROL:
            opened = open_batch(record_sets, pin, position, &info, decompress)
            with nogil:
                whole = count_records(opened.records, opened.size, info.count, sums)
            if not whole or info.count < 0:
                raise CorruptBatch(f"the records of the batch at byte {position} do not add up")
            batches.append(opened)
        position += info.size
    return batches, next_offset


def decode_columns(record_sets, decompress=None, *, bint control=False, bint check_crcs=True):
    cdef Sums sums = Sums(0, 0, 0, 0, 0, 0)
    batches, next_offset = opened_batches(record_sets, decompress, control, check_crcs, &sums)
    if sums.headers > INT32_MAX:
        raise OverflowError("more than 2**31 headers in one call")
    return filled(batches, &sums, next_offset)


cdef object bytes_of(const Slice* field):
    return None if field.size < 0 else PyBytes_FromStringAndSize(<const char*>field.data, field.size)


def decode_pairs(record_sets, decompress=None):
    cdef Sums sums = Sums(0, 0, 0, 0, 0, 0)
    cdef _Opened opened
    cdef const uint8_t* p
    cdef Record record
    cdef list pairs = []
    batches, next_offset = opened_batches(record_sets, decompress, False, True, &sums)
    for opened in batches:
        p = opened.records
        for _ in range(opened.info.count):
            p = read_record(p, opened.records + opened.size, &record)
            if p == NULL:
                raise CorruptBatch("the buffer changed while it was read")
            pairs.append((opened.info.base_offset + record.offset_delta, bytes_of(&record.key), bytes_of(&record.value)))
    return pairs, next_offset
