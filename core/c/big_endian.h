/* Unaligned big-endian loads and stores. */
#ifndef KAFPY_BIG_ENDIAN_H
#define KAFPY_BIG_ENDIAN_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KAFPY_BE16(x) __builtin_bswap16(x)
#define KAFPY_BE32(x) __builtin_bswap32(x)
#define KAFPY_BE64(x) __builtin_bswap64(x)
#else
#define KAFPY_BE16(x) (x)
#define KAFPY_BE32(x) (x)
#define KAFPY_BE64(x) (x)
#endif

static inline uint16_t load_be16(const uint8_t *p) { uint16_t x; memcpy(&x, p, 2); return KAFPY_BE16(x); }
static inline uint32_t load_be32(const uint8_t *p) { uint32_t x; memcpy(&x, p, 4); return KAFPY_BE32(x); }
static inline uint64_t load_be64(const uint8_t *p) { uint64_t x; memcpy(&x, p, 8); return KAFPY_BE64(x); }
static inline void store_be16(uint8_t *p, uint16_t x) { x = KAFPY_BE16(x); memcpy(p, &x, 2); }
static inline void store_be32(uint8_t *p, uint32_t x) { x = KAFPY_BE32(x); memcpy(p, &x, 4); }
static inline void store_be64(uint8_t *p, uint64_t x) { x = KAFPY_BE64(x); memcpy(p, &x, 8); }

#endif
