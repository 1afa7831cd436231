/* A bounds-checked cursor over one request. Once `bad`, every read answers 0 or NULL and the caller hangs up at its next look. */
#ifndef KAFPY_READER_H
#define KAFPY_READER_H
#include "bytes.h"

typedef struct { const uint8_t *p, *end; int bad, budget; } Reader;

static inline const uint8_t *take(Reader *r, int64_t n) {
  if (r->bad || n < 0 || r->end - r->p < n) { r->bad = 1; return 0; }
  const uint8_t *at = r->p;
  r->p += n;
  return at;
}
static inline int8_t take8(Reader *r) { const uint8_t *p = take(r, 1); return p ? (int8_t)*p : 0; }
static inline int16_t take16(Reader *r) { const uint8_t *p = take(r, 2); return p ? (int16_t)get16(p) : 0; }
static inline int32_t take32(Reader *r) { const uint8_t *p = take(r, 4); return p ? (int32_t)get32(p) : 0; }
static inline int64_t take64(Reader *r) { const uint8_t *p = take(r, 8); return p ? (int64_t)get64(p) : 0; }
static inline uint32_t take_uvarint(Reader *r) {
  uint32_t v = 0;
  int n = r->bad ? 0 : get_uvarint(r->p, r->end, &v);
  if (!n) { r->bad = 1; return 0; }
  r->p += n;
  return v;
}
/* An array's count; -1 for null. `least` is the smallest size of an element. */
static inline int32_t take_count(Reader *r, int flexible, int least) {
  int64_t n = flexible ? (int64_t)take_uvarint(r) - 1 : take32(r);
  if (r->bad || n < -1 || n * least > r->end - r->p || n > r->budget) { r->bad = 1; return 0; }
  if (n > 0) r->budget -= (int)n;
  return (int32_t)n;
}
/* A string: size -1 for null. */
static inline const uint8_t *take_string(Reader *r, int flexible, int32_t *size) {
  *size = flexible ? (int32_t)take_uvarint(r) - 1 : take16(r);
  if (*size < -1 || *size > 32767) { r->bad = 1; *size = 0; return 0; }
  return *size < 0 ? r->p : take(r, *size);
}
static inline const uint8_t *take_bytes(Reader *r, int flexible, int32_t *size) {
  *size = flexible ? (int32_t)(take_uvarint(r) - 1u) : take32(r);
  if (*size < -1) { r->bad = 1; *size = 0; return 0; }
  return *size < 0 ? r->p : take(r, *size);
}
/* Passes over tagged fields; every one counts against the budget. */
static inline void take_tags(Reader *r) {
  uint32_t n = take_uvarint(r);
  if (r->bad || n > (uint32_t)(r->end - r->p) / 2 + 1 || n > (uint32_t)r->budget) { r->bad = 1; return; }
  r->budget -= (int)n;
  while (n-- && !r->bad) { take_uvarint(r); take(r, take_uvarint(r)); }
}
#endif
