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
/* An array's count as a reply has it; -1 for null. Returns the bytes used. */
static inline int put_count(uint8_t *p, int flexible, int32_t count) {
  if (flexible) return put_uvarint(p, (uint32_t)count + 1);
  put32(p, (uint32_t)count);
  return 4;
}
/* FNV-1a with its high bits folded in, for the tables of topics. */
static inline uint64_t hash_bytes(const uint8_t *p, int64_t n) {
  uint64_t h = 0xCBF29CE484222325ULL;
  for (int64_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001B3ULL;
  return h ^ (h >> 29);
}
#endif
