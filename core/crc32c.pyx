"""CRC-32C, the checksum of Kafka's record batches; the kernel is chosen once, at import, by what the CPU can do.

Nothing here is written after import, so every thread may call it, with or without the GIL.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t, uint32_t


cdef extern from "crc32c_kernels.h" nogil:
    ctypedef uint32_t (*crc32c_kernel)(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil
    cdef struct crc32c_choice:
        const char* name
        crc32c_kernel kernel
    cdef enum:
        CRC32C_MOST_CHOICES
    int crc32c_choices(crc32c_choice* choices) noexcept


cdef crc32c_choice choices[CRC32C_MOST_CHOICES]
cdef int choice_count = crc32c_choices(choices)
cdef crc32c_kernel fastest = choices[0].kernel

IMPLEMENTATION = choices[0].name.decode()


cdef uint32_t crc32c(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil:
    return ~fastest(~crc, data, size)


cdef uint32_t checksum(crc32c_kernel kernel, object data, uint32_t crc) except? 0:
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            crc = ~kernel(~crc, <const uint8_t*>view.buf, <size_t>view.len)
    finally:
        PyBuffer_Release(&view)
    return crc


def kernels():
    return [choices[i].name.decode() for i in range(choice_count)]


def crc32c_with(str name, data, uint32_t crc=0):
    for i in range(choice_count):
        if choices[i].name.decode() == name:
            return checksum(choices[i].kernel, data, crc)
    raise ValueError(f"no CRC-32C kernel {name!r} on this CPU; it has {', '.join(kernels())}")


def _crc32c(data, uint32_t crc=0):
    return checksum(fastest, data, crc)


# One name, two faces: the C function that other modules cimport, and this one for Python.
_crc32c.__name__ = _crc32c.__qualname__ = "crc32c"
globals()["crc32c"] = _crc32c
