/* CRC-32C on aarch64 with the CRC instructions, which a kernel announces in AT_HWCAP. */
#ifndef KAFPY_CRC32C_ARM_H
#define KAFPY_CRC32C_ARM_H

#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

__attribute__((target("+crc")))
static uint32_t crc32c_armv8(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        crc = __crc32cd(crc, word);
    }
    for (; n; p++, n--)
        crc = __crc32cb(crc, *p);
    return crc;
}

#endif
