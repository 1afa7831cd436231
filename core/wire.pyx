# cython: autotestdict=False
"""Runs the per-version programs of the protocol's schema tables: bytes to message objects and back.

    fixed      bool, int8 … int64, uint16, uint32, float64: big-endian; uuid: 16 bytes
    legacy     string: int16 length; bytes, records, array: int32 length; -1 is null
    compact    all of them: unsigned varint of length + 1; 0 is null
    struct     its fields in order; a nullable one has an int8 before it (-1 null, 1 there; a tagged one an uvarint: 0, 1)
    flexible   a struct ends with tagged fields: uvarint count, then (uvarint tag, uvarint size, data) with ascending tags

A Program owns two C arrays: plans (one per struct, the message itself is plan 0) and ops (one per field). It is immutable
once built, but for its scratch buffer, and holds the GIL while it runs. The reader trusts nothing: every read is checked
against the end of the input, a count against the bytes left divided by the smallest size an element can have, and the sum
of all counts against the caller's budget. Message classes keep their fields in __slots__; ops carry each slot's offset in
the object, so a field costs a load or a store.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject, PyObject_TypeCheck, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member
    PyTypeObject PyMemberDescr_Type

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)
    Py_ssize_t PySequence_Fast_GET_SIZE(object items)
    PyObject* PySequence_Fast_GET_ITEM(object items, Py_ssize_t index)    # borrowed
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from "<endian.h>" nogil:
    uint16_t be16toh(uint16_t value)
    uint32_t be32toh(uint32_t value)
    uint64_t be64toh(uint64_t value)

cdef enum:
    BOOL, INT8, INT16, UINT16, INT32, UINT32, INT64, FLOAT64, UUID, STRING, BYTES, RECORDS, STRUCT

KINDS = {
    "bool": BOOL, "int8": INT8, "int16": INT16, "uint16": UINT16, "int32": INT32, "uint32": UINT32, "int64": INT64,
    "float64": FLOAT64, "uuid": UUID, "string": STRING, "bytes": BYTES, "records": RECORDS, "struct": STRUCT,
}

cdef int[12] WIDTH = [1, 1, 2, 2, 4, 4, 8, 8, 16, 2, 4, 4]    # bytes of a value, or of its legacy length
cdef int64_t[6] LEAST = [0, -0x80, -0x8000, 0, -0x80000000LL, 0]
cdef int64_t[6] MOST = [1, 0x7f, 0x7fff, 0xffff, 0x7fffffff, 0xffffffffLL]

cdef enum:
    SCRATCH = 1 << 19

cdef struct Op:
    uint8_t kind            # of the value, or of the array's elements
    bint array
    bint nullable
    bint compact
    bint absent             # this version lacks the field: the reader stores its default, the writer passes by
    int32_t tag             # -1: in line
    int32_t plan            # STRUCT: whose plan
    Py_ssize_t floor        # fewest bytes that an element takes
    Py_ssize_t offset       # of the slot in the object
    PyObject* default       # an immutable value, or a type to be called
    PyObject* neutral       # the default as a value, to compare with; a tagged field equal to it is not written

cdef struct Plan:
    PyObject* cls
    bint flexible
    int32_t first           # ops: the untagged and absent ones, then the tagged ones by tag
    int32_t tagged
    int32_t end

cdef struct Cursor:
    const uint8_t* start
    const uint8_t* at
    const uint8_t* end
    int64_t budget
    PyObject* frame         # borrowed from the caller of read()

cdef struct Out:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t capacity


class MalformedRequest(ValueError):
    """The bytes are not a message of this API and version."""


@cython.auto_pickle(False)
@cython.final
cdef class Encoded:
    """Bytes already in wire form, copied verbatim in place of an array element, or of a whole array and its count."""

    cdef readonly bytes data

    def __init__(self, bytes data not None):
        self.data = data


cdef struct Slot:
    Py_ssize_t offset
    PyObject* name
    PyObject* default


@cython.auto_pickle(False)
@cython.final
cdef class Shape:
    """The fields of a message class with their defaults: (name, immutable value or type to call) each."""

    cdef Slot* slots
    cdef Py_ssize_t count
    cdef type owner
    cdef readonly tuple fields

    def __cinit__(self, type owner not None, tuple fields not None):
        cdef Py_ssize_t i
        if not issubclass(owner, Struct):
            raise TypeError(f"{owner} is not a message class")
        self.owner = owner
        self.fields = fields
        self.count = len(fields)
        self.slots = <Slot*>PyMem_Malloc(max(self.count, 1) * sizeof(Slot))
        if self.slots == NULL:
            raise MemoryError()
        for i, (name, default) in enumerate(fields):
            self.slots[i] = Slot(slot_offset(owner, name), <PyObject*>name, <PyObject*>default)

    def __dealloc__(self):
        PyMem_Free(self.slots)


@cython.auto_pickle(False)
cdef class Struct:
    """What message classes derive from: they have __slots__, and a Shape as `_shape`."""

    cdef public object unknown_tags

    def __init__(self, **fields):
        cdef Shape shape = type(self)._shape
        cdef Py_ssize_t i, given = 0
        cdef PyObject* value
        if not isinstance(self, shape.owner):
            raise TypeError("_shape of another class")
        for i in range(shape.count):
            value = PyDict_GetItem(fields, <object>shape.slots[i].name)
            if value == NULL:
                put_slot(self, shape.slots[i].offset, fresh(shape.slots[i].default))
            else:
                given += 1
                put_slot(self, shape.slots[i].offset, <object>value)
        if given < len(fields):
            unknown = set(fields).difference([name for name, _ in shape.fields])
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        for name, _ in type(self)._shape.fields:
            if getattr(self, name) != getattr(other, name):
                return False
        return (self.unknown_tags or None) == ((<Struct>other).unknown_tags or None)

    def __repr__(self):
        fields = [f"{name}={getattr(self, name)!r}" for name, _ in type(self)._shape.fields]
        if self.unknown_tags:
            fields.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__name__}({', '.join(fields)})"


cdef Py_ssize_t slot_offset(type cls, str name) except -1:
    descriptor = cls.__dict__[name]
    if not PyObject_TypeCheck(descriptor, &PyMemberDescr_Type):
        raise TypeError(f"{cls.__name__}.{name} is not a slot")
    return (<PyMemberDescrObject*><PyObject*>descriptor).d_member.offset


cdef inline void put_slot(object struct, Py_ssize_t offset, object value) noexcept:
    cdef PyObject** slot = <PyObject**>(<char*><PyObject*>struct + offset)
    cdef PyObject* old = slot[0]
    Py_INCREF(value)
    slot[0] = <PyObject*>value
    Py_XDECREF(old)


cdef object fresh(PyObject* default):
    """A default's value: itself, or made by the type it is."""
    if <object>default is list:
        return PyList_New(0)
    if isinstance(<object>default, type):
        return (<object>default)()
    return <object>default


cdef tuple EMPTY = ()

include "wire_read.pxi"
include "wire_write.pxi"


@cython.auto_pickle(False)
@cython.final
cdef class Program:
    """Reader and writer of one message at one version."""

    cdef Plan* plans
    cdef Op* ops
    cdef int count
    cdef Out scratch    # the last message's buffer, for the next one: fresh pages cost more than what is written to them
    cdef list kept      # references behind the PyObject pointers of plans and ops

    def __cinit__(self, list structs not None):
        cdef int total = sum([len(fields) for _, _, fields in structs])
        self.kept = []
        self.count = <int>len(structs)
        self.plans = <Plan*>PyMem_Malloc(max(len(structs), 1) * sizeof(Plan))
        self.ops = <Op*>PyMem_Malloc(max(total, 1) * sizeof(Op))
        if self.plans == NULL or self.ops == NULL:
            raise MemoryError()
        memset(self.ops, 0, max(total, 1) * sizeof(Op))
        self.lay_out(structs)

    def __dealloc__(self):
        PyMem_Free(self.plans)
        PyMem_Free(self.ops)
        PyMem_Free(self.scratch.data)

    cdef int lay_out(self, list structs) except -1:
        cdef int index, at = 0
        cdef Plan* plan
        for index, (cls, flexible, fields) in enumerate(structs):
            if not issubclass(cls, Struct):
                raise TypeError(f"{cls} is not a message class")
            fields = sorted(fields, key=lambda field: field["tag"])
            plan = &self.plans[index]
            plan.cls = <PyObject*>cls
            plan.flexible = flexible
            plan.first = plan.tagged = at
            for field in fields:
                self.lay_op(&self.ops[at], cls, flexible, field)
                at += 1
                if field["tag"] < 0:
                    plan.tagged = at
            plan.end = at
            self.kept.append(cls)
        return 0

    cdef int lay_op(self, Op* op, type cls, bint flexible, dict field) except -1:
        default = field["default"]
        neutral = default() if isinstance(default, type) else default
        self.kept.append((default, neutral))
        op.kind = field["kind"]
        op.array = field["array"]
        op.nullable = field["nullable"]
        op.compact = flexible and not field["legacy"]
        op.absent = field["absent"]
        op.tag = field["tag"]
        op.plan = field["plan"]
        op.floor = max(1, field["floor"])
        op.offset = slot_offset(cls, field["name"])
        op.default = <PyObject*>default
        op.neutral = <PyObject*>neutral
        if op.kind > STRUCT or (op.kind == STRUCT and not op.absent and not 0 <= op.plan < self.count):
            raise ValueError(f"bad program: {field}")
        return 0

    def read(self, data not None, Py_ssize_t start=0, *, Py_ssize_t end=-1, int64_t budget=100_000, bint whole=True):
        """The message at data[start:end] and where it ends; with `whole`, it has to end there."""
        cdef Cursor c
        cdef Py_ssize_t size
        if PyBytes_Check(data):
            c.start = <const uint8_t*>PyBytes_AS_STRING(data)
            size = PyBytes_GET_SIZE(data)
        elif PyByteArray_Check(data):
            c.start = <const uint8_t*>PyByteArray_AS_STRING(data)
            size = PyByteArray_GET_SIZE(data)
        else:
            raise TypeError(f"bytes or bytearray, not {type(data).__name__}")
        if end < 0:
            end = size
        if not 0 <= start <= end <= size:
            raise MalformedRequest("truncated")
        c.at = c.start + start
        c.end = c.start + end
        c.budget = budget
        c.frame = <PyObject*>data
        struct = read_struct(self, 0, &c)
        if whole and c.at != c.end:
            malformed(&c, "trailing bytes")
        return struct, c.at - c.start

    def write(self, message, bytes prefix not None=b""):
        """The message's bytes after `prefix`."""
        return self.emit(0, message, prefix)

    def fragment(self, struct):
        """A part of the message, as it stands in an array, for use in its place."""
        cdef int index
        cdef type cls = type(struct)
        for index in range(self.count):
            if self.plans[index].cls == <PyObject*>cls:
                return Encoded(self.emit(index, struct, b""))
        raise TypeError(f"{type(struct).__name__} is no part of this message")

    cdef bytes emit(self, int index, object struct, bytes prefix):
        cdef Out out = self.scratch    # taken, not shared: writing may run Python code that comes here again
        memset(&self.scratch, 0, sizeof(Out))
        out.size = 0
        try:
            put(&out, PyBytes_AS_STRING(prefix), PyBytes_GET_SIZE(prefix))
            write_struct(self, index, struct, &out)
            return PyBytes_FromStringAndSize(<char*>out.data, out.size)
        finally:
            if self.scratch.data == NULL and out.capacity <= SCRATCH:
                self.scratch = out
            else:
                PyMem_Free(out.data)
