from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

cdef extern from "reader.h" nogil:
    ctypedef struct Reader:
        const uint8_t* p
        const uint8_t* end
        int bad
        int budget
    const uint8_t* take(Reader* r, int64_t n) noexcept
    int8_t take8(Reader* r) noexcept
    int16_t take16(Reader* r) noexcept
    int32_t take32(Reader* r) noexcept
    int64_t take64(Reader* r) noexcept
    uint32_t take_uvarint(Reader* r) noexcept
    int32_t take_count(Reader* r, int flexible, int least) noexcept
    const uint8_t* take_string(Reader* r, int flexible, int32_t* size) noexcept
    const uint8_t* take_bytes(Reader* r, int flexible, int32_t* size) noexcept
    void take_tags(Reader* r) noexcept

cdef enum: ELEMENT_BUDGET = 100000     # array elements and tags that one request may hold
