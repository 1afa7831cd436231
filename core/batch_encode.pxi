# Part of batch.pyx: many records at once into one batch.
#
# Every column becomes an array of slices first, whatever its form; two passes over them (sizes, bytes) then run
# without the GIL, while the columns are held.


class BytesColumn(NamedTuple):
    offsets: object
    data: object
    validity: object


class HeadersColumn(NamedTuple):
    offsets: object
    keys: BytesColumn
    values: BytesColumn


# The offsets of an Arrow column, 32 or 64 bits wide.
cdef class _Offsets:
    cdef _Pin pin
    cdef bint wide
    cdef int64_t count

    def __cinit__(self, offsets):
        self.pin = _Pin(offsets)
        if self.pin.view.itemsize not in (4, 8):
            raise TypeError("offsets must be int32 or int64")
        self.wide = self.pin.view.itemsize == 8
        self.count = self.pin.view.len // self.pin.view.itemsize - 1
        if self.count < 0:
            raise ValueError("offsets need one entry more than there are values")

    cdef int64_t at(self, int64_t index) noexcept:
        return (<int64_t*>self.pin.view.buf)[index] if self.wide else (<int32_t*>self.pin.view.buf)[index]


cdef class _Slices:
    cdef Slice* items
    cdef int64_t count
    cdef object held

    def __cinit__(self, column, int64_t count):
        self.count = count
        self.items = <Slice*>malloc(<size_t>(count + 1) * sizeof(Slice))
        if self.items == NULL:
            raise MemoryError
        if column is None:
            for i in range(count):
                self.items[i] = Slice(NULL, -1)
        elif isinstance(column, BytesColumn):
            self.take_column(column)
        else:
            self.take_sequence(tuple(column))

    def __dealloc__(self):
        free(self.items)

    cdef int take_sequence(self, tuple values) except -1:
        cdef int64_t i
        if len(values) != self.count:
            raise ValueError(f"a column has {len(values)} values, not {self.count}")
        self.held = values
        for i in range(self.count):
            value = values[i]
            if value is None:
                self.items[i] = Slice(NULL, -1)
            elif PyBytes_CheckExact(value):
                self.items[i] = Slice(<const uint8_t*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
            else:
                raise TypeError(f"keys and values are bytes or None, not {type(value).__name__}")
        return 0

    cdef int take_column(self, column) except -1:
        cdef _Offsets offsets = _Offsets(column.offsets)
        cdef _Pin data = _Pin(column.data), validity = None if column.validity is None else _Pin(column.validity)
        cdef const uint8_t* bits = NULL if validity is None else validity.data
        cdef int64_t i, start, end
        if offsets.count != self.count or (validity is not None and validity.view.len < (self.count + 7) // 8):
            raise ValueError(f"a column has {offsets.count} values, not {self.count}, or too few validity bits")
        self.held = data
        for i in range(self.count):
            start, end = offsets.at(i), offsets.at(i + 1)
            if not 0 <= start <= end <= data.view.len:
                raise ValueError("the offsets of a column do not ascend within its data")
            self.items[i] = Slice(data.data + start, end - start)
            if bits != NULL and not bits[i >> 3] >> (i & 7) & 1:
                self.items[i].size = -1
        return 0


cdef struct Rows:
    int64_t count
    const int64_t* timestamps
    const Slice* keys
    const Slice* values
    const int64_t* header_starts  # NULL: no headers
    const Slice* header_keys
    const Slice* header_values


cdef inline int64_t delta_of(const Rows* rows, int64_t row) noexcept nogil:
    return <int64_t>(<uint64_t>rows.timestamps[row] - <uint64_t>rows.timestamps[0])


cdef int64_t body_size(const Rows* rows, int64_t row) noexcept nogil:
    cdef int64_t header, size = (1 + varlong_size(delta_of(rows, row)) + varlong_size(row)
                                 + slice_size(&rows.keys[row]) + slice_size(&rows.values[row]))
    if rows.header_starts == NULL:
        return size + 1
    for header in range(rows.header_starts[row], rows.header_starts[row + 1]):
        size += slice_size(&rows.header_keys[header]) + slice_size(&rows.header_values[header])
    return size + varlong_size(rows.header_starts[row + 1] - rows.header_starts[row])


cdef int64_t records_size(const Rows* rows) noexcept nogil:
    cdef int64_t row, body, size = 0
    for row in range(rows.count):
        body = body_size(rows, row)
        size += varlong_size(body) + body
    return size


cdef void put_records(uint8_t* p, const Rows* rows) noexcept nogil:
    cdef int64_t row, header
    for row in range(rows.count):
        p = put_varlong(p, body_size(rows, row))
        p[0] = 0
        p = put_varlong(p + 1, delta_of(rows, row))
        p = put_varlong(p, row)
        p = put_slice(p, &rows.keys[row])
        p = put_slice(p, &rows.values[row])
        if rows.header_starts == NULL:
            p[0] = 0
            p += 1
            continue
        p = put_varlong(p, rows.header_starts[row + 1] - rows.header_starts[row])
        for header in range(rows.header_starts[row], rows.header_starts[row + 1]):
            p = put_slice(p, &rows.header_keys[header])
            p = put_slice(p, &rows.header_values[header])


cdef void put_header(uint8_t* data, BatchInfo* info) noexcept nogil:
    put64(data, <uint64_t>info.base_offset)
    put32(data + 8, <uint32_t>(info.size - LOG_OVERHEAD))
    put32(data + 12, <uint32_t>info.leader_epoch)
    data[16] = 2
    put32(data + 23, <uint32_t>info.last_offset_delta)
    put64(data + 27, <uint64_t>info.base_timestamp)
    put64(data + 43, <uint64_t>info.producer_id)
    put16(data + 51, <uint16_t>info.producer_epoch)
    put32(data + 53, <uint32_t>info.base_sequence)
    put32(data + 57, <uint32_t>info.count)
    store_times(data, info)


cdef bytes with_header(BatchInfo* info, payload):
    cdef _Pin pin = _Pin(payload)
    if pin.view.len > INT32_MAX - HEADER_SIZE:
        raise ValueError("the batch would be larger than 2 GiB")
    info.size = <int32_t>(HEADER_SIZE + pin.view.len)
    cdef bytes batch = PyBytes_FromStringAndSize(NULL, info.size)
    cdef uint8_t* data = <uint8_t*>PyBytes_AS_STRING(batch)
    with nogil:
        memcpy(data + HEADER_SIZE, pin.data, <size_t>pin.view.len)
        put_header(data, info)
    return batch


def rebuild(header, int codec, payload):
    cdef BatchInfo info
    if not 0 <= codec <= ZSTD:
        raise ValueError(f"no codec {codec}")
    info.base_offset = header.base_offset
    info.leader_epoch = header.leader_epoch
    info.attributes = (header.attributes & ~CODEC_MASK) | codec
    info.last_offset_delta = header.last_offset_delta
    info.base_timestamp = header.base_timestamp
    info.max_timestamp = header.max_timestamp
    info.producer_id = header.producer_id
    info.producer_epoch = header.producer_epoch
    info.base_sequence = header.base_sequence
    info.count = header.record_count
    return with_header(&info, payload)


cdef object flat_headers(headers):
    """Per-record lists of (key, value) as (starts, keys, values)."""
    starts, keys, values = array("q", [0]), [], []
    for record in headers:
        for key, value in record:
            keys.append(key.encode() if isinstance(key, str) else key)
            values.append(value)
        starts.append(len(keys))
    return starts, keys, values


cdef object held_headers(headers, int64_t count, Rows* rows):
    cdef _Offsets offsets
    if isinstance(headers, HeadersColumn):
        offsets = _Offsets(headers.offsets)
        starts, keys, values = array("q", [offsets.at(i) for i in range(offsets.count + 1)]), headers.keys, headers.values
    else:
        starts, keys, values = flat_headers(headers)
    if len(starts) != count + 1:
        raise ValueError(f"headers for {len(starts) - 1} records, not {count}")
    if starts[0] < 0 or any(starts[i] > starts[i + 1] for i in range(count)):
        raise ValueError("the offsets of the headers do not ascend")
    cdef int64_t total = _Offsets(keys.offsets).count if isinstance(keys, BytesColumn) else len(keys)
    if starts[count] > total:
        raise ValueError("the offsets of the headers go beyond them")
    cdef _Slices key_slices = _Slices(keys, total), value_slices = _Slices(values, total)
    cdef _Pin pin = _Pin(starts)
    for i in range(total):
        if key_slices.items[i].size < 0:
            raise ValueError("a header key cannot be null")
    rows.header_starts = <const int64_t*>pin.view.buf
    rows.header_keys = key_slices.items
    rows.header_values = value_slices.items
    return pin, key_slices, value_slices


# A copy: sizes are taken from it in one pass and bytes in the next.
cdef object held_timestamps(timestamps, int64_t count, Rows* rows):
    cdef _Pin pin
    if isinstance(timestamps, int):
        copy = array("q", [timestamps]) * count
    elif isinstance(timestamps, (list, tuple)):
        copy = array("q", timestamps)
    else:
        pin = _Pin(timestamps)
        if pin.view.itemsize != 8:
            raise TypeError("timestamps must be int64")
        copy = array("q", PyBytes_FromStringAndSize(<char*>pin.data, pin.view.len))
    if len(copy) != count:
        raise ValueError(f"{len(copy)} timestamps for {count} records")
    pin = _Pin(copy)
    rows.timestamps = <const int64_t*>pin.data
    return pin


cdef int64_t count_of(column) except -1:
    return _Offsets(column.offsets).count if isinstance(column, BytesColumn) else len(column)


def encode(values, *, timestamps, keys=None, headers=None, int codec=0, compress=None, int64_t base_offset=0,
           int32_t leader_epoch=-1, int64_t producer_id=-1, int16_t producer_epoch=-1, int32_t base_sequence=-1,
           bint transactional=False, bint control=False):
    cdef Rows rows
    cdef BatchInfo info
    cdef int64_t size, row
    cdef bytes batch
    cdef uint8_t* place
    rows.count = count_of(values)
    if not 0 < rows.count <= INT32_MAX:
        raise ValueError("a batch needs at least one record")
    if not 0 <= codec <= ZSTD or (codec != 0) != (compress is not None):
        raise ValueError("codecs 1 to 4 need compress, codec 0 none")
    cdef _Slices value_slices = _Slices(values, rows.count), key_slices = _Slices(keys, rows.count)
    rows.values, rows.keys, rows.header_starts = value_slices.items, key_slices.items, NULL
    held = held_timestamps(timestamps, rows.count, &rows)
    held_too = None if headers is None else held_headers(headers, rows.count, &rows)

    info.base_offset, info.leader_epoch, info.count = base_offset, leader_epoch, <int32_t>rows.count
    info.attributes = codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    info.last_offset_delta = info.count - 1
    info.base_timestamp = info.max_timestamp = rows.timestamps[0]
    for row in range(rows.count):
        info.max_timestamp = max(info.max_timestamp, rows.timestamps[row])
    info.producer_id, info.producer_epoch, info.base_sequence = producer_id, producer_epoch, base_sequence
    with nogil:
        size = records_size(&rows)
    if size > INT32_MAX - HEADER_SIZE:
        raise ValueError("the batch would be larger than 2 GiB")
    cdef int64_t room = 0 if codec else HEADER_SIZE
    batch = PyBytes_FromStringAndSize(NULL, room + size)
    place = <uint8_t*>PyBytes_AS_STRING(batch)
    with nogil:
        put_records(place + room, &rows)
        if not codec:
            info.size = <int32_t>(HEADER_SIZE + size)
            put_header(place, &info)
    return with_header(&info, compress(batch)) if codec else batch
