from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "bytes.h" nogil:
    uint16_t get16(const uint8_t* p) noexcept
    uint32_t get32(const uint8_t* p) noexcept
    uint64_t get64(const uint8_t* p) noexcept
    void put16(uint8_t* p, uint16_t v) noexcept
    void put32(uint8_t* p, uint32_t v) noexcept
    void put64(uint8_t* p, uint64_t v) noexcept
    int get_uvarint(const uint8_t* p, const uint8_t* end, uint32_t* value) noexcept
    int put_uvarint(uint8_t* p, uint32_t v) noexcept
    int put_count(uint8_t* p, int flexible, int32_t count) noexcept
    uint64_t hash_bytes(const uint8_t* p, int64_t n) noexcept
