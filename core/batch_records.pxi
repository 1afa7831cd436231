# Part of batch.pyx: all records of a batch, checked.

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
