# cython: auto_pickle=False
"""Columns of Arrow's layout into the open batches of a Packer, without an object per record: what lines.pyx does for
lines.

Rows holds the buffers of its columns and remembers how far it has come. Lengths are checked once, when a column is made;
offsets come from outside and are compared with their data where they are used, for they could change in between.
Packing runs without the GIL; only a full batch makes an object. Rows and its Packer belong to one thread at a time.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from kafpy._core.growing cimport Out, make_room
from kafpy._core.lines cimport ANY, FULL, NO_MEMORY, NO_SUCH_PARTITION, WANTS_MORE, Packer, Row
from kafpy._core.records cimport Slice, put_slice, slice_size, unlikely

cdef enum:
    ENOUGH = 30
    BAD_OFFSETS = 31
    TOO_LONG = 32
    NO_HEADER_KEY = 33


class RowError(ValueError):
    """A row that cannot be a record, or buffers that contradict themselves."""


# ---- columns

@cython.final
cdef class _Held:
    """The memory of an object for as long as this lives; none for None."""
    cdef Py_buffer view
    cdef bint filled

    def __cinit__(self, data):
        if data is not None:
            PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
            self.filled = True

    def __dealloc__(self):
        if self.filled:
            PyBuffer_Release(&self.view)

    cdef const uint8_t* at_least(self, int64_t size) except? NULL:
        if self.view.len < size:
            raise RowError(f"a buffer of {self.view.len} bytes where {size} are needed")
        return <const uint8_t*>self.view.buf


# The bits of a column that say which of its values are there.
@cython.final
cdef class _Validity:
    cdef _Held held
    cdef const uint8_t* bits  # NULL: all are there
    cdef int64_t first
    cdef int64_t count

    def __cinit__(self, int64_t count, bits, int64_t first):
        if count < 0 or first < 0 or count > INT64_MAX // 16 - first:
            raise RowError(f"a column of {count} values from {first} on")
        self.count, self.first = count, first
        self.held = _Held(bits)
        self.bits = self.held.at_least((first + count + 7) >> 3) if bits is not None else NULL

    cdef inline bint there(self, int64_t row) noexcept nogil:
        cdef int64_t at = self.first + row
        return self.bits == NULL or self.bits[at >> 3] >> (at & 7) & 1


# Offsets, one more than there are values, that lead into something of `size`.
cdef struct Bounds:
    const uint8_t* offsets  # NULL: there are no values
    bint wide
    int64_t size


cdef inline bint bounds_at(const Bounds* bounds, int64_t at, int64_t* start, int64_t* end) noexcept nogil:
    cdef int32_t[2] narrow
    cdef int64_t[2] wide
    if bounds.wide:
        memcpy(wide, bounds.offsets + at * 8, 16)
        start[0], end[0] = wide[0], wide[1]
    else:
        memcpy(narrow, bounds.offsets + at * 4, 8)
        start[0], end[0] = narrow[0], narrow[1]
    return 0 <= start[0] <= end[0] <= bounds.size


cdef Bounds bounds_of(_Held offsets, _Validity validity, int64_t size, bint wide) except *:
    cdef Bounds bounds = Bounds(NULL, wide, size)
    if validity.count:
        bounds.offsets = offsets.at_least((validity.first + validity.count + 1) * (8 if wide else 4))
    return bounds


@cython.final
cdef class Texts:
    cdef _Validity validity
    cdef _Held offsets
    cdef _Held data
    cdef Bounds bounds

    def __cinit__(self, int64_t count, offsets, data, validity=None, *, int64_t first=0, bint wide=False):
        self.validity = _Validity(count, validity, first)
        self.offsets, self.data = _Held(offsets), _Held(data)
        self.bounds = bounds_of(self.offsets, self.validity, self.data.view.len, wide)

    cdef inline int read(self, int64_t row, Slice* into) noexcept nogil:
        cdef int64_t start, end
        into.data, into.size = NULL, -1
        if self.validity.there(row):
            if unlikely(not bounds_at(&self.bounds, self.validity.first + row, &start, &end)):
                return BAD_OFFSETS
            if unlikely(end - start > INT32_MAX):
                return TOO_LONG
            into.data, into.size = <const uint8_t*>self.data.view.buf + start, end - start
        return WANTS_MORE


@cython.final
cdef class Numbers:
    cdef _Validity validity
    cdef _Held data
    cdef const uint8_t* values

    def __cinit__(self, int64_t count, data, validity=None, *, int64_t first=0):
        self.validity = _Validity(count, validity, first)
        self.data = _Held(data)
        self.values = self.data.at_least((first + count) * 4)

    # False: null.
    cdef inline bint read(self, int64_t row, int32_t* number) noexcept nogil:
        if not self.validity.there(row):
            return False
        memcpy(number, self.values + (self.validity.first + row) * 4, 4)
        return True


@cython.final
cdef class Headers:
    cdef _Validity validity
    cdef _Held offsets
    cdef Bounds bounds
    cdef _Validity entries
    cdef Texts keys
    cdef Texts values

    def __cinit__(self, int64_t count, offsets, Texts keys not None, Texts values not None, validity=None, *,
                  int64_t first=0, bint wide=False, entries=None, int64_t first_entry=0):
        if keys.validity.count != values.validity.count:
            raise RowError(f"{keys.validity.count} keys of headers and {values.validity.count} values")
        self.validity = _Validity(count, validity, first)
        self.offsets = _Held(offsets)
        self.bounds = bounds_of(self.offsets, self.validity, keys.validity.count, wide)
        self.entries = _Validity(keys.validity.count, entries, first_entry)
        self.keys, self.values = keys, values

    # Puts them as they stand in a record into `scratch`, which the row then points to.
    cdef int read(self, int64_t at, Row* row, Out* scratch) noexcept nogil:
        cdef int64_t start, end, entry
        cdef Slice key, value
        cdef int status
        if not self.validity.there(at):
            return WANTS_MORE
        if unlikely(not bounds_at(&self.bounds, self.validity.first + at, &start, &end)):
            return BAD_OFFSETS
        if end - start > INT32_MAX:
            return TOO_LONG
        scratch.size = 0
        for entry in range(start, end):
            status = self.keys.read(entry, &key)
            if status == WANTS_MORE:
                status = self.values.read(entry, &value)
            if status != WANTS_MORE:
                return status
            if key.size < 0 or not self.entries.there(entry):
                return NO_HEADER_KEY
            if not make_room(scratch, slice_size(&key) + slice_size(&value)):
                return NO_MEMORY
            scratch.size = put_slice(put_slice(scratch.data + scratch.size, &key), &value) - scratch.data
        row.header_count = end - start
        row.headers = Slice(scratch.data, scratch.size)
        return WANTS_MORE


# ---- rows

@cython.final
cdef class Rows:
    cdef Texts values
    cdef Texts keys  # these three: None, and then not looked at
    cdef Headers headers
    cdef Numbers partitions
    cdef bint keyed
    cdef bint headed
    cdef bint placed
    cdef readonly int64_t count
    cdef readonly int64_t done

    def __cinit__(self, Texts values not None, *, Texts keys=None, Headers headers=None, Numbers partitions=None):
        self.count = values.validity.count
        self.values, self.keys, self.headers, self.partitions = values, keys, headers, partitions
        self.keyed, self.headed, self.placed = keys is not None, headers is not None, partitions is not None
        if (self.keyed and keys.validity.count != self.count or self.headed and headers.validity.count != self.count
                or self.placed and partitions.validity.count != self.count):
            raise RowError("the columns differ in length")

    def pack(self, Packer packer not None, *, int64_t timestamp, int64_t most_bytes=INT64_MAX):
        cdef int64_t limit = INT64_MAX if most_bytes > INT64_MAX - packer.held else packer.held + most_bytes
        cdef int32_t partition = ANY
        cdef int status
        if most_bytes < 1:
            raise ValueError("one byte at least")
        while True:
            with nogil:
                status = pack_rows(self, packer, timestamp, limit, &partition)
            if status == FULL:
                packer.close(partition)
            elif status == WANTS_MORE or status == ENOUGH:
                return self.done == self.count
            else:
                raise complaint(status, partition, packer.partitions)


# Up to `limit` bytes in the Packer. `partition`: the one that has to be closed, or that is not there.
cdef int pack_rows(Rows rows, Packer packer, int64_t timestamp, int64_t limit, int32_t* partition) noexcept nogil:
    cdef Row row
    cdef int status
    row.timestamp, row.key = timestamp, Slice(NULL, -1)
    while rows.done < rows.count:
        if packer.held >= limit:
            return ENOUGH
        status = read_row(rows, &row, &packer.scratch)
        if unlikely(status != WANTS_MORE):
            return status
        if rows.placed and rows.partitions.read(rows.done, partition):
            row.partition = partition[0]
        else:
            row.partition = ANY
            partition[0] = packer.partition_of(&row)
        if unlikely(not 0 <= partition[0] < packer.partitions):
            return NO_SUCH_PARTITION
        status = packer.pack(&row, partition[0])
        if status != WANTS_MORE:
            return status
        rows.done += 1
    return WANTS_MORE


cdef inline int read_row(Rows rows, Row* row, Out* scratch) noexcept nogil:
    cdef int status = rows.values.read(rows.done, &row.value)
    row.headers, row.header_count = Slice(NULL, 0), 0
    if rows.keyed and status == WANTS_MORE:
        status = rows.keys.read(rows.done, &row.key)
    if rows.headed and status == WANTS_MORE:
        status = rows.headers.read(rows.done, row, scratch)
    return status


cdef object complaint(int status, int32_t partition, int32_t partitions):
    if status == NO_MEMORY:
        return MemoryError()
    if status == NO_SUCH_PARTITION:
        return RowError(f"there is no partition {partition}; there are {partitions}")
    if status == NO_HEADER_KEY:
        return RowError("a header without a key")
    if status == TOO_LONG:
        return RowError("a key, a value or a header of more than 2 GiB, which no record holds")
    return RowError("the offsets of a column do not ascend within its data")
