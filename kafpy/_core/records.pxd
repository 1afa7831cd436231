# Single records and their varints, read and written; the layout is described in core/batch.pyx. No reader here trusts a
# length, and the writers' callers have made room.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from * nogil:
    bint unlikely(bint condition) noexcept
    int __builtin_clzll(unsigned long long x) noexcept

cdef enum:
    LEAST_RECORD_BODY = 6  # attributes and five one-byte varints


cdef inline const uint8_t* long_varint(const uint8_t* p, const uint8_t* end, uint32_t* raw) noexcept nogil:
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


cdef inline const uint8_t* long_varlong(const uint8_t* p, const uint8_t* end, uint64_t* raw) noexcept nogil:
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
cdef inline bint walk_headers(const Record* record, const uint8_t* end, int64_t* key_bytes,
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


cdef inline int64_t varlong_size(int64_t value) noexcept nogil:
    cdef uint64_t raw = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    return (9 * (64 - __builtin_clzll(raw | 1)) + 64) >> 6  # ceil(bits / 7)


cdef inline uint8_t* put_varlong(uint8_t* p, int64_t value) noexcept nogil:
    cdef uint64_t raw = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    while raw >= 0x80:
        p[0] = <uint8_t>(raw | 0x80)
        raw >>= 7
        p += 1
    p[0] = <uint8_t>raw
    return p + 1


cdef inline int64_t slice_size(const Slice* field) noexcept nogil:
    return varlong_size(field.size) + (field.size if field.size > 0 else 0)


cdef inline uint8_t* put_slice(uint8_t* p, const Slice* field) noexcept nogil:
    p = put_varlong(p, field.size)
    if field.size > 0:
        memcpy(p, field.data, <size_t>field.size)
        p += field.size
    return p
