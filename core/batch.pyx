"""Record batch v2: checks, stamps and the walk over records. All of it is `noexcept nogil` over caller-owned bytes.

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

from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from kafpy._core.crc32c cimport crc32c


cdef extern from "big_endian.h" nogil:
    uint16_t load_be16(const uint8_t* p) noexcept
    uint32_t load_be32(const uint8_t* p) noexcept
    uint64_t load_be64(const uint8_t* p) noexcept
    void store_be16(uint8_t* p, uint16_t x) noexcept
    void store_be32(uint8_t* p, uint32_t x) noexcept
    void store_be64(uint8_t* p, uint64_t x) noexcept

cdef extern from * nogil:
    bint unlikely(bint condition) noexcept
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
    HEADER_SIZE = 61

    CODEC_MASK = 7
    ZSTD = 4
    LOG_APPEND_TIME = 8
    CONTROL = 32

    LEAST_RECORD_BODY = 6  # attributes and five one-byte varints
    # No codec packs records, whose offset deltas all differ, anywhere near this densely: a bound for the count of a
    # batch that is not opened.
    MOST_RECORDS_PER_COMPRESSED_BYTE = 1024


cdef void load_header(const uint8_t* data, BatchInfo* info) noexcept nogil:
    info.base_offset = <int64_t>load_be64(data)
    info.batch_length = <int32_t>load_be32(data + 8)
    info.leader_epoch = <int32_t>load_be32(data + 12)
    info.magic = <int8_t>data[16]
    info.crc = load_be32(data + 17)
    info.attributes = <int16_t>load_be16(data + 21)
    info.last_offset_delta = <int32_t>load_be32(data + 23)
    info.base_timestamp = <int64_t>load_be64(data + 27)
    info.max_timestamp = <int64_t>load_be64(data + 35)
    info.producer_id = <int64_t>load_be64(data + 43)
    info.producer_epoch = <int16_t>load_be16(data + 51)
    info.base_sequence = <int32_t>load_be32(data + 53)
    info.count = <int32_t>load_be32(data + 57)
    info.size = info.batch_length + LOG_OVERHEAD


cdef bint batch_header(const uint8_t* data, int64_t size, BatchInfo* info) noexcept nogil:
    cdef int32_t length
    if size < HEADER_SIZE or data[16] != 2:
        return False
    length = <int32_t>load_be32(data + 8)
    if length < HEADER_SIZE - LOG_OVERHEAD or length > 0x7fffffff - LOG_OVERHEAD:
        return False
    load_header(data, info)
    return True


cdef bint batch_intact(const uint8_t* data, const BatchInfo* info) noexcept nogil:
    return crc32c(0, data + CRC_START, <size_t>(info.size - CRC_START)) == info.crc


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


# Steps over a length and its bytes; NULL when it lies or is below `least`.
cdef inline const uint8_t* skip_bytes(const uint8_t* p, const uint8_t* end, int32_t least) noexcept nogil:
    cdef int32_t length
    p = varint(p, end, &length)
    if p == NULL or length < least or length > end - p:
        return NULL
    return p + length if length > 0 else p


cdef const uint8_t* skip_headers(const uint8_t* p, const uint8_t* end, int32_t count) noexcept nogil:
    if count < 0 or count > (end - p) // 2:
        return NULL
    while count > 0:
        p = skip_bytes(p, end, 0)
        if p == NULL:
            return NULL
        p = skip_bytes(p, end, -1)
        if p == NULL:
            return NULL
        count -= 1
    return p


cdef int16_t batch_walk(const uint8_t* records, int64_t size, int32_t count, bint keys_required,
                        int64_t base_timestamp, int64_t earliest, int64_t latest,
                        int64_t* max_timestamp) noexcept nogil:
    cdef const uint8_t* p = records
    cdef const uint8_t* end = records + size
    cdef const uint8_t* field
    cdef int32_t index, length, delta
    cdef int64_t timestamp_delta, timestamp, largest = INT64_MIN
    cdef int32_t least_key = 0 if keys_required else -1
    for index in range(count):
        p = varint(p, end, &length)
        if p == NULL or length < LEAST_RECORD_BODY or length > end - p:
            return INVALID_RECORD
        field = p + 1
        p += length
        field = varlong(field, p, &timestamp_delta)
        if field == NULL:
            return INVALID_RECORD
        if __builtin_add_overflow(base_timestamp, timestamp_delta, &timestamp):
            return INVALID_TIMESTAMP
        if timestamp > latest or (timestamp < earliest and timestamp != -1):
            return INVALID_TIMESTAMP
        if timestamp > largest:
            largest = timestamp
        field = varint(field, p, &delta)
        if field == NULL or delta != index:
            return INVALID_RECORD
        field = skip_bytes(field, p, least_key)
        if field == NULL:
            return INVALID_RECORD
        field = skip_bytes(field, p, -1)
        if field == NULL:
            return INVALID_RECORD
        field = varint(field, p, &length)
        if field == NULL:
            return INVALID_RECORD
        if length != 0:
            field = skip_headers(field, p, length)
        if field != p:
            return INVALID_RECORD
    max_timestamp[0] = largest
    return 0 if p == end else INVALID_RECORD


# What needs no CRC: that there is one batch, whole, of our format, and not too large.
cdef int16_t check_frame(const uint8_t* data, int64_t size, const BatchPolicy* policy) noexcept nogil:
    cdef int64_t length
    if size < LOG_OVERHEAD:
        return INVALID_RECORD
    if size >= MAGIC_END and data[16] != 2:
        return INVALID_RECORD
    length = <int32_t>load_be32(data + 8)
    if length < HEADER_SIZE - LOG_OVERHEAD or length > size - LOG_OVERHEAD:
        return CORRUPT_MESSAGE
    if length != size - LOG_OVERHEAD:
        return INVALID_RECORD
    if load_be64(data) != 0:
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
    elif info.base_sequence >= 0:
        return INVALID_RECORD
    if codec > ZSTD:
        return UNSUPPORTED_COMPRESSION_TYPE
    if codec and info.count > <int64_t>(info.size - HEADER_SIZE) * MOST_RECORDS_PER_COMPRESSED_BYTE:
        return INVALID_RECORD
    return 0


cdef int16_t check_times(const BatchInfo* info, const BatchPolicy* policy,
                         int64_t* earliest, int64_t* latest) noexcept nogil:
    earliest[0] = INT64_MIN
    latest[0] = INT64_MAX
    if policy.log_append_time:
        return INVALID_TIMESTAMP if info.attributes & LOG_APPEND_TIME else 0
    if __builtin_sub_overflow(policy.now_ms, policy.before_max_ms, earliest):
        earliest[0] = INT64_MIN
    if __builtin_add_overflow(policy.now_ms, policy.after_max_ms, latest):
        latest[0] = INT64_MAX
    if info.max_timestamp < info.base_timestamp or info.max_timestamp > latest[0]:
        return INVALID_TIMESTAMP
    if info.base_timestamp < earliest[0] and info.base_timestamp != -1:
        return INVALID_TIMESTAMP
    return 0


cdef int16_t batch_check(const uint8_t* data, int64_t size, const BatchPolicy* policy, BatchInfo* info) noexcept nogil:
    cdef int64_t earliest, latest, max_timestamp = 0
    cdef int16_t error = check_frame(data, size, policy)
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
    if not info.attributes & CODEC_MASK:
        error = batch_walk(data + HEADER_SIZE, size - HEADER_SIZE, info.count, policy.keys_required,
                           info.base_timestamp, earliest, latest, &max_timestamp)
        if error:
            return error
        if not policy.log_append_time and not info.attributes & LOG_APPEND_TIME:
            info.max_timestamp = max_timestamp
    if not policy.log_append_time:
        info.attributes &= ~LOG_APPEND_TIME
    return 0


cdef void batch_stamp(uint8_t* data, int64_t base_offset, int32_t leader_epoch) noexcept nogil:
    store_be64(data, <uint64_t>base_offset)
    store_be32(data + 12, <uint32_t>leader_epoch)


cdef void store_times(uint8_t* data, BatchInfo* info) noexcept nogil:
    store_be16(data + 21, <uint16_t>info.attributes)
    store_be64(data + 35, <uint64_t>info.max_timestamp)
    info.crc = crc32c(0, data + CRC_START, <size_t>(info.size - CRC_START))
    store_be32(data + 17, info.crc)


cdef void batch_stamp_append_time(uint8_t* data, BatchInfo* info, int64_t now_ms) noexcept nogil:
    info.attributes |= LOG_APPEND_TIME
    info.max_timestamp = now_ms
    store_times(data, info)


cdef void batch_stamp_create_time(uint8_t* data, BatchInfo* info) noexcept nogil:
    if (info.max_timestamp != <int64_t>load_be64(data + 35)
            or info.attributes != <int16_t>load_be16(data + 21)):
        store_times(data, info)
