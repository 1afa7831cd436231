from libc.stdint cimport uint8_t, uint32_t

# CRC-32C of `size` bytes, continued from `crc` (0 to start): crc32c(crc32c(0, a), b) is the CRC of a followed by b.
cdef uint32_t crc32c(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil
