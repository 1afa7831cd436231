from libc.stdint cimport int32_t, int64_t

cdef extern from "atomic.h" nogil:
    int32_t atomic_get32(int32_t* p) noexcept
    void atomic_set32(int32_t* p, int32_t v) noexcept
    int32_t atomic_add32(int32_t* p, int32_t v) noexcept
    int32_t atomic_swap32(int32_t* p, int32_t v) noexcept
    int64_t atomic_get64(int64_t* p) noexcept
    void atomic_set64(int64_t* p, int64_t v) noexcept
    int64_t atomic_add64(int64_t* p, int64_t v) noexcept
    void* atomic_get_ptr(void** p) noexcept
    void atomic_set_ptr(void** p, void* v) noexcept
    int64_t counter_get(int64_t* p) noexcept
    void counter_add(int64_t* p, int64_t v) noexcept
    void atomic_fence() noexcept
