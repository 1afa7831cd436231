# Part of batch.pyx: varints and single records, read. Nothing here trusts a length.

cdef const uint8_t* long_varint(const uint8_t* p, const uint8_t* end, uint32_t* raw) noexcept nogil:
    cdef uint32_t value = 0
    cdef int shift = 0
    while p < end:
        if shift == 28 and p[0] > 0x0f:
            return NULL
        value |= <uint32_t>(p[0] & 0x7f) << shift
        if p[0] < 0x80:
            raw[0] = value
            return p + 1
        p += 1
        shift += 7
    return NULL


cdef const uint8_t* long_varlong(const uint8_t* p, const uint8_t* end, uint64_t* raw) noexcept nogil:
    cdef uint64_t value = 0
    cdef int shift = 0
    while p < end:
        if shift == 63 and p[0] > 0x01:
            return NULL
        value |= <uint64_t>(p[0] & 0x7f) << shift
        if p[0] < 0x80:
            raw[0] = value
            return p + 1
        p += 1
        shift += 7
    return NULL


# Both return the place after the number, NULL when it runs over the end or has more bits than fit.
cdef inline const uint8_t* varint(const uint8_t* p, const uint8_t* end, int32_t* value) noexcept nogil:
    cdef uint32_t raw
    if p < end and p[0] < 0x80:
        raw = p[0]
        p += 1
    elif end - p >= 2 and p[1] < 0x80:
        raw = (p[0] & 0x7f) | <uint32_t>p[1] << 7
        p += 2
    else:
        raw = 0
        p = long_varint(p, end, &raw)
    value[0] = <int32_t>(raw >> 1) ^ -<int32_t>(raw & 1)
    return p


cdef inline const uint8_t* varlong(const uint8_t* p, const uint8_t* end, int64_t* value) noexcept nogil:
    cdef uint64_t raw
    if p < end and p[0] < 0x80:
        raw = p[0]
        p += 1
    else:
        raw = 0
        p = long_varlong(p, end, &raw)
    value[0] = <int64_t>(raw >> 1) ^ -<int64_t>(raw & 1)
    return p


cdef struct Slice:
    const uint8_t* data
    int64_t size  # -1: null

cdef struct Record:
    int64_t timestamp_delta
    int32_t offset_delta
    Slice key
    Slice value
    int32_t header_count
    const uint8_t* headers  # to the end of the record


# Reads a length and steps over its bytes; NULL when it lies or is below `least`.
cdef inline const uint8_t* slice_bytes(const uint8_t* p, const uint8_t* end, int32_t least, Slice* into) noexcept nogil:
    cdef int32_t length
    p = varint(p, end, &length)
    if unlikely(p == NULL or length < least or length > end - p):
        return NULL
    into.data = p
    into.size = length
    return p + length if length > 0 else p


# Reads one record up to its headers; returns the record's end, NULL when something in it lies.
cdef inline const uint8_t* read_record(const uint8_t* p, const uint8_t* end, Record* record) noexcept nogil:
    cdef int32_t length
    p = varint(p, end, &length)
    if unlikely(p == NULL or length < LEAST_RECORD_BODY or length > end - p):
        return NULL
    end = p + length
    p = varlong(p + 1, end, &record.timestamp_delta)
    if unlikely(p == NULL):
        return NULL
    p = varint(p, end, &record.offset_delta)
    if unlikely(p == NULL):
        return NULL
    p = slice_bytes(p, end, -1, &record.key)
    if unlikely(p == NULL):
        return NULL
    p = slice_bytes(p, end, -1, &record.value)
    if unlikely(p == NULL):
        return NULL
    p = varint(p, end, &record.header_count)
    if unlikely(p == NULL):
        return NULL
    record.headers = p
    return end


# Whether the headers fill their place exactly. The bytes of their keys and values are added to the sums.
cdef bint walk_headers(const Record* record, const uint8_t* end, int64_t* key_bytes,
                       int64_t* value_bytes) noexcept nogil:
    cdef const uint8_t* p = record.headers
    cdef int32_t left = record.header_count
    cdef Slice field
    if left < 0 or left > (end - p) // 2:
        return False
    while left > 0:
        p = slice_bytes(p, end, 0, &field)
        if p == NULL:
            return False
        key_bytes[0] += field.size
        p = slice_bytes(p, end, -1, &field)
        if p == NULL:
            return False
        if field.size > 0:
            value_bytes[0] += field.size
        left -= 1
    return p == end


cdef int16_t batch_walk(const uint8_t* records, int64_t size, int32_t count, bint keys_required,
                        int64_t base_timestamp, int64_t earliest, int64_t latest,
                        int64_t* max_timestamp, int32_t* bad_record) noexcept nogil:
    cdef const uint8_t* p = records
    cdef const uint8_t* end = records + size
    cdef Record record
    cdef int32_t index
    cdef int64_t timestamp, unused, largest = -1, least_key = 0 if keys_required else -1
    for index in range(count):
        p = read_record(p, end, &record)
        if unlikely(p == NULL or record.offset_delta != index or record.key.size < least_key):
            bad_record[0] = index
            return INVALID_RECORD
        if unlikely(record.header_count != 0 or record.headers != p):
            unused = 0
            if not walk_headers(&record, p, &unused, &unused):
                bad_record[0] = index
                return INVALID_RECORD
        if unlikely(__builtin_add_overflow(base_timestamp, record.timestamp_delta, &timestamp)
                    or timestamp > latest or (timestamp < earliest and timestamp != -1)):
            bad_record[0] = index
            return INVALID_TIMESTAMP
        if timestamp > largest:
            largest = timestamp
    max_timestamp[0] = largest
    return 0 if p == end else INVALID_RECORD
