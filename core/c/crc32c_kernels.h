/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78): one kernel per instruction set, chosen once at run time.
 *
 * A kernel takes and returns the CRC register, that is the complement of the CRC; crc32c_run complements.
 */
#ifndef KAFPY_CRC32C_KERNELS_H
#define KAFPY_CRC32C_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CRC32C_POLYNOMIAL 0x82f63b78u

typedef uint32_t (*crc32c_kernel)(uint32_t, const uint8_t *, size_t);

static uint32_t crc32c_slices[8][256];

static void crc32c_prepare_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (CRC32C_POLYNOMIAL & -(crc & 1));
        crc32c_slices[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = crc32c_slices[slice - 1][byte];
            crc32c_slices[slice][byte] = (crc >> 8) ^ crc32c_slices[0][crc & 0xff];
        }
}

/* Slice-by-8; bytes are combined by shifts, so the byte order of the machine does not matter. */
static uint32_t crc32c_table(uint32_t crc, const uint8_t *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = crc32c_slices[7][crc & 0xff] ^ crc32c_slices[6][crc >> 8 & 0xff] ^
              crc32c_slices[5][crc >> 16 & 0xff] ^ crc32c_slices[4][crc >> 24] ^
              crc32c_slices[3][p[4]] ^ crc32c_slices[2][p[5]] ^ crc32c_slices[1][p[6]] ^ crc32c_slices[0][p[7]];
    }
    for (; n; p++, n--)
        crc = (crc >> 8) ^ crc32c_slices[0][(crc ^ *p) & 0xff];
    return crc;
}

#if defined(__x86_64__)
#include "crc32c_x86.h"
#elif defined(__aarch64__) && defined(__linux__)
#include "crc32c_arm.h"
#endif

struct crc32c_choice {
    const char *name;
    crc32c_kernel kernel;
};

#define CRC32C_MOST_CHOICES 4

/* The kernels this CPU can run, fastest first; the table always ends the list. Returns how many. */
static int crc32c_choices(struct crc32c_choice *choices)
{
    int n = 0;
    crc32c_prepare_table();
#if defined(__x86_64__)
    __builtin_cpu_init();
    crc32c_prepare_keys();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
        if (__builtin_cpu_supports("vpclmulqdq")) {
            if (__builtin_cpu_supports("avx512f"))
                choices[n++] = (struct crc32c_choice){"avx512", crc32c_avx512};
            if (__builtin_cpu_supports("avx2"))
                choices[n++] = (struct crc32c_choice){"avx2", crc32c_avx2};
        }
        choices[n++] = (struct crc32c_choice){"sse42", crc32c_sse42};
    }
#elif defined(__aarch64__) && defined(__linux__)
    if (getauxval(AT_HWCAP) & HWCAP_CRC32)
        choices[n++] = (struct crc32c_choice){"armv8", crc32c_armv8};
#endif
    choices[n++] = (struct crc32c_choice){"table", crc32c_table};
    return n;
}

#endif
