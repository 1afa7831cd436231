/* The few atomic operations the core uses, by width. Acquire on loads, release on stores, both on read-modify-write. */
#ifndef KAFPY_ATOMIC_H
#define KAFPY_ATOMIC_H
#include <stdint.h>

static inline int32_t atomic_get32(int32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void atomic_set32(int32_t *p, int32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline int32_t atomic_add32(int32_t *p, int32_t v) { return __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL); }
static inline int32_t atomic_swap32(int32_t *p, int32_t v) { return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL); }
static inline int64_t atomic_get64(int64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void atomic_set64(int64_t *p, int64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline int64_t atomic_add64(int64_t *p, int64_t v) { return __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL); }
static inline void *atomic_get_ptr(void **p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void atomic_set_ptr(void **p, void *v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
/* Counters with one writer that others look at: no ordering, only no torn or cached values. */
static inline int64_t counter_get(int64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline void counter_add(int64_t *p, int64_t v) { __atomic_store_n(p, *p + v, __ATOMIC_RELAXED); }
/* Orders a plane's "I am active" against its look-ups in the table, and a writer's unlink against its look at the planes. */
static inline void atomic_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif
