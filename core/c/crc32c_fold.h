/* A folding kernel over vectors of FOLD_BYTES; crc32c_kernels.h includes this once per width, with these defined:
 * FOLD_NAME, FOLD_TARGET, FOLD_BYTES, FOLD_VECTOR, FOLD_LOAD, FOLD_XOR3 (of three), FOLD_MULTIPLY, FOLD_SPREAD (of a
 * 128-bit constant to every lane), FOLD_SEED (a vector of zeros but for its first 32 bits).
 */

#define FOLD_STEP(sum, keys, next) FOLD_XOR3(FOLD_MULTIPLY(sum, keys, 0x00), FOLD_MULTIPLY(sum, keys, 0x11), next)

__attribute__((target(FOLD_TARGET)))
static uint32_t FOLD_NAME(uint32_t crc, const uint8_t *p, size_t n)
{
    if (n < 4 * FOLD_BYTES)
        return crc32c_plain(crc, p, n);

    const FOLD_VECTOR far = FOLD_SPREAD(crc32c_fold_keys(4 * FOLD_BYTES));
    const FOLD_VECTOR near = FOLD_SPREAD(crc32c_fold_keys(FOLD_BYTES));
    FOLD_VECTOR a = FOLD_LOAD(p), b = FOLD_LOAD(p + FOLD_BYTES);
    FOLD_VECTOR c = FOLD_LOAD(p + 2 * FOLD_BYTES), d = FOLD_LOAD(p + 3 * FOLD_BYTES);
    a ^= FOLD_SEED(crc);
    p += 4 * FOLD_BYTES;
    n -= 4 * FOLD_BYTES;
    for (; n >= 4 * FOLD_BYTES; p += 4 * FOLD_BYTES, n -= 4 * FOLD_BYTES) {
        a = FOLD_STEP(a, far, FOLD_LOAD(p));
        b = FOLD_STEP(b, far, FOLD_LOAD(p + FOLD_BYTES));
        c = FOLD_STEP(c, far, FOLD_LOAD(p + 2 * FOLD_BYTES));
        d = FOLD_STEP(d, far, FOLD_LOAD(p + 3 * FOLD_BYTES));
    }
    b = FOLD_STEP(a, near, b);
    c = FOLD_STEP(b, near, c);
    d = FOLD_STEP(c, near, d);
    for (; n >= FOLD_BYTES; p += FOLD_BYTES, n -= FOLD_BYTES)
        d = FOLD_STEP(d, near, FOLD_LOAD(p));

    /* What is left is congruent to the message so far, so the plain CRC of these bytes from 0 is the register. */
    uint8_t rest[FOLD_BYTES];
    memcpy(rest, &d, FOLD_BYTES);
    return crc32c_plain(crc32c_plain(0, rest, FOLD_BYTES), p, n);
}

#undef FOLD_STEP
#undef FOLD_NAME
#undef FOLD_TARGET
#undef FOLD_BYTES
#undef FOLD_VECTOR
#undef FOLD_LOAD
#undef FOLD_XOR3
#undef FOLD_MULTIPLY
#undef FOLD_SPREAD
#undef FOLD_SEED
