/* Big-endian and varint access to raw memory. Callers check bounds. */
#ifndef KAFPY_BYTES_H
#define KAFPY_BYTES_H
#include <stdint.h>
#include <string.h>

static inline uint16_t get16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t get64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline void put16(uint8_t *p, uint16_t v) { v = __builtin_bswap16(v); memcpy(p, &v, 2); }
static inline void put32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void put64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

/* Unsigned LEB128 of at most 5 bytes. Returns the bytes used, 0 when malformed or cut short. */
static inline int get_uvarint(const uint8_t *p, const uint8_t *end, uint32_t *value) {
  uint32_t v = 0;
  for (int i = 0; i < 5 && p + i < end; i++) {
    uint8_t b = p[i];
    if (i == 4 && b > 15) return 0;
    v |= (uint32_t)(b & 127) << (7 * i);
    if (b < 128) { *value = v; return i + 1; }
  }
  return 0;
}
static inline int put_uvarint(uint8_t *p, uint32_t v) {
  int n = 0;
  while (v > 127) { p[n++] = (uint8_t)(v | 128); v >>= 7; }
  p[n++] = (uint8_t)v;
  return n;
}
#endif
