from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t


cdef enum:
    HEADER_SIZE = 61
    CODEC_MASK = 7  # of the attributes, as those that follow
    LOG_APPEND_TIME = 8
    TRANSACTIONAL = 16
    CONTROL = 32


cdef struct BatchInfo:  # a v2 header in host byte order
    int64_t base_offset
    int32_t batch_length
    int32_t leader_epoch
    int8_t magic
    uint32_t crc
    int16_t attributes
    int32_t last_offset_delta
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int16_t producer_epoch
    int32_t base_sequence
    int32_t count
    int32_t size  # of the whole batch: 12 + batch_length
    int32_t bad_record  # after a batch_check that failed: the place of the record that is to blame; -1: the batch is


cdef struct BatchPolicy:
    int32_t max_message_bytes
    int64_t now_ms
    int64_t before_max_ms
    int64_t after_max_ms
    bint log_append_time
    bint keys_required


# Copies the header out. True when 61 bytes are there and they are sane in themselves (magic 2, length >= 49); no CRC,
# and the batch may end beyond `size`.
cdef bint batch_header(const uint8_t* data, int64_t size, BatchInfo* info) noexcept nogil

# Whether the CRC is right; all info.size bytes must be there.
cdef bint batch_intact(const uint8_t* data, const BatchInfo* info) noexcept nogil

# A client's record set of one partition: exactly one batch, which fills `size`. Returns Kafka's error code, 0 when the
# batch may be appended. Uncompressed records are walked; compressed ones are taken on header and CRC. `info` is the
# header as it should be stored: a wrong max timestamp or a LogAppendTime bit on a CreateTime topic is put right in
# it, and batch_stamp_create_time brings the bytes in line.
cdef int16_t batch_check(const uint8_t* data, int64_t size, const BatchPolicy* policy, BatchInfo* info) noexcept nogil

# Walks `count` records that fill `size` bytes exactly; 0, INVALID_RECORD or INVALID_TIMESTAMP (a timestamp outside
# [earliest, latest] that is not -1). max_timestamp: the largest one seen. bad_record: set when one record is to blame.
cdef int16_t batch_walk(const uint8_t* records, int64_t size, int32_t count, bint keys_required,
                        int64_t base_timestamp, int64_t earliest, int64_t latest,
                        int64_t* max_timestamp, int32_t* bad_record) noexcept nogil

# Base offset and leader epoch lie outside the CRC.
cdef void batch_stamp(uint8_t* data, int64_t base_offset, int32_t leader_epoch) noexcept nogil

# LogAppendTime: sets the bit and the max timestamp, recomputes the CRC, updates info.
cdef void batch_stamp_append_time(uint8_t* data, BatchInfo* info, int64_t now_ms) noexcept nogil

# CreateTime: writes info's attributes and max timestamp back where the bytes differ, and then the CRC. Nearly always
# there is nothing to do.
cdef void batch_stamp_create_time(uint8_t* data, BatchInfo* info) noexcept nogil
