/* CRC-32C on x86-64: the crc32 instruction in three interleaved streams, and carry-less multiplication on wide vectors.
 *
 * Polynomials are reflected: bit 31 of a 32-bit value is x^0. The carry-less product of two reflected 64-bit words,
 * read as a reflected 128-bit value, is their product times x, and a 32-bit constant in a 64-bit word is itself times
 * x^32. So to move a 128-bit value by D bytes, its low word (the earlier bytes) is multiplied with x^(8D+31) and its
 * high word with x^(8D-33); and to move a CRC by D bytes it is multiplied with x^(8D-33) and reduced by the crc32
 * instruction, which supplies the missing x^32.
 */
#ifndef KAFPY_CRC32C_X86_H
#define KAFPY_CRC32C_X86_H

#include <immintrin.h>

/* Stream lengths of the three-way kernel: long for throughput, short so that small batches gain as well. */
#define CRC32C_LONG 1024
#define CRC32C_SHORT 128

/* [i] is x^(64i-33), the key of a distance of i words; x^(8D+31) is the key of D+8. [0] is not used. */
static uint32_t crc32c_keys[2 * CRC32C_LONG / 8 + 2];

static uint32_t crc32c_times_x(uint32_t polynomial, int times)
{
    for (; times; times--)
        polynomial = (polynomial >> 1) ^ (CRC32C_POLYNOMIAL & -(polynomial & 1));
    return polynomial;
}

static void crc32c_prepare_keys(void)
{
    crc32c_keys[1] = crc32c_times_x(0x80000000u, 31);
    for (size_t i = 2; i < sizeof crc32c_keys / sizeof *crc32c_keys; i++)
        crc32c_keys[i] = crc32c_times_x(crc32c_keys[i - 1], 64);
}

static inline uint64_t crc32c_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

__attribute__((target("sse4.2")))
static inline uint32_t crc32c_plain(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t wide = crc;
    for (; n >= 8; p += 8, n -= 8)
        wide = _mm_crc32_u64(wide, crc32c_word(p));
    crc = (uint32_t)wide;
    for (; n; p++, n--)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}

__attribute__((target("sse4.2,pclmul")))
static inline uint64_t crc32c_moved(uint64_t crc, size_t distance)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
                                           _mm_cvtsi32_si128((int)crc32c_keys[distance / 8]), 0x00);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Three streams of `length` bytes side by side: the instruction takes three cycles and starts every cycle. */
__attribute__((target("sse4.2,pclmul")))
static inline uint64_t crc32c_three(uint64_t a, const uint8_t *p, size_t length)
{
    uint64_t b = 0, c = 0;
    for (size_t i = 0; i < length; i += 8) {
        a = _mm_crc32_u64(a, crc32c_word(p + i));
        b = _mm_crc32_u64(b, crc32c_word(p + length + i));
        c = _mm_crc32_u64(c, crc32c_word(p + 2 * length + i));
    }
    return crc32c_moved(a, 2 * length) ^ crc32c_moved(b, length) ^ c;
}

__attribute__((target("sse4.2,pclmul")))
static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t wide = crc;
    for (; n >= 3 * CRC32C_LONG; p += 3 * CRC32C_LONG, n -= 3 * CRC32C_LONG)
        wide = crc32c_three(wide, p, CRC32C_LONG);
    for (; n >= 3 * CRC32C_SHORT; p += 3 * CRC32C_SHORT, n -= 3 * CRC32C_SHORT)
        wide = crc32c_three(wide, p, CRC32C_SHORT);
    return crc32c_plain((uint32_t)wide, p, n);
}

static inline __m128i crc32c_fold_keys(size_t distance)
{
    return _mm_set_epi64x(crc32c_keys[distance / 8], crc32c_keys[distance / 8 + 1]);
}

#define FOLD_NAME crc32c_avx2
#define FOLD_TARGET "avx2,vpclmulqdq,pclmul,sse4.2"
#define FOLD_BYTES 32
#define FOLD_VECTOR __m256i
#define FOLD_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define FOLD_XOR3(x, y, z) _mm256_xor_si256(_mm256_xor_si256(x, y), z)
#define FOLD_MULTIPLY(x, y, words) _mm256_clmulepi64_epi128(x, y, words)
#define FOLD_SPREAD(keys) _mm256_broadcastsi128_si256(keys)
#define FOLD_SEED(crc) _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)(crc)))
#include "crc32c_fold.h"

#define FOLD_NAME crc32c_avx512
#define FOLD_TARGET "avx512f,vpclmulqdq,pclmul,sse4.2"
#define FOLD_BYTES 64
#define FOLD_VECTOR __m512i
#define FOLD_LOAD(p) _mm512_loadu_si512(p)
#define FOLD_XOR3(x, y, z) _mm512_ternarylogic_epi64(x, y, z, 0x96)
#define FOLD_MULTIPLY(x, y, words) _mm512_clmulepi64_epi128(x, y, words)
#define FOLD_SPREAD(keys) _mm512_broadcast_i32x4(keys)
#define FOLD_SEED(crc) _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)(crc)))
#include "crc32c_fold.h"

#endif
