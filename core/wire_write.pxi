# The writing half of wire.pyx: values that do not fit their field raise ValueError, OverflowError or TypeError.

cdef uint8_t* grow(Out* out, Py_ssize_t size) except NULL:
    """Room for `size` more bytes, counted as written."""
    cdef Py_ssize_t capacity
    cdef void* data
    if size > out.capacity - out.size or out.data == NULL:    # a NULL result would mean an exception
        capacity = max(2 * out.capacity, out.size + size, 256)
        data = PyMem_Realloc(out.data, capacity)
        if data == NULL:
            raise MemoryError()
        out.data = <uint8_t*>data
        out.capacity = capacity
    out.size += size
    return out.data + out.size - size


cdef int put(Out* out, const void* data, Py_ssize_t size) except -1:
    memcpy(grow(out, size), data, size)
    return 0


cdef int put_integer(Out* out, int64_t value, int width) except -1:
    cdef uint64_t big = be64toh(<uint64_t>value)
    return put(out, <const char*>&big + 8 - width, width)


cdef int put_uvarint(Out* out, uint32_t value) except -1:
    while value >= 0x80:
        grow(out, 1)[0] = <uint8_t>(value | 0x80)
        value >>= 7
    grow(out, 1)[0] = <uint8_t>value
    return 0


cdef int put_length(Out* out, Py_ssize_t size, int width, bint compact) except -1:
    if size > (0x7fff if width == 2 else 0x7fffffff - 1):
        raise ValueError(f"{size} is too long for its length field")
    return put_uvarint(out, <uint32_t>(size + 1)) if compact else put_integer(out, size, width)


cdef int write_one(Program program, const Op* op, object value, Out* out, bint nullable) except -1:
    cdef int kind = op.kind
    cdef int64_t number
    cdef double fraction
    cdef Py_ssize_t size
    cdef const char* text
    cdef Py_buffer view
    if kind <= INT64:
        number = value
        if kind < INT64 and (number < LEAST[kind] or number > MOST[kind]):
            raise OverflowError(f"{number} does not fit its field")
        return put_integer(out, number, WIDTH[kind])
    if kind == STRUCT:
        if value is None and nullable:
            return put_integer(out, -1 if op.tag < 0 else 0, 1)
        if nullable:
            put_integer(out, 1, 1)
        return write_struct(program, op.plan, value, out)
    if kind == FLOAT64:
        fraction = value
        memcpy(&number, &fraction, 8)
        return put_integer(out, number, 8)
    if kind == UUID:
        if not isinstance(value, bytes) or PyBytes_GET_SIZE(value) != 16:
            raise ValueError(f"a uuid is 16 bytes, not {value!r}")
        return put(out, PyBytes_AS_STRING(value), 16)
    if value is None:
        if not nullable:
            raise ValueError("null in a field that cannot be null")
        return put_length(out, -1, WIDTH[kind], op.compact)
    if kind == STRING:
        text = PyUnicode_AsUTF8AndSize(value, &size)
        put_length(out, size, WIDTH[kind], op.compact)
        return put(out, text, size)
    PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    try:
        put_length(out, view.len, WIDTH[kind], op.compact)
        return put(out, view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef int write_field(Program program, const Op* op, object value, Out* out) except -1:
    cdef Py_ssize_t i
    cdef object items, item
    if not op.array:
        return write_one(program, op, value, out, op.nullable)
    if value is None and op.nullable:
        return put_length(out, -1, 4, op.compact)
    if isinstance(value, Encoded):
        return put(out, PyBytes_AS_STRING((<Encoded>value).data), PyBytes_GET_SIZE((<Encoded>value).data))
    items = value if type(value) is list or type(value) is tuple else list(value)
    put_length(out, PySequence_Fast_GET_SIZE(items), 4, op.compact)
    i = 0
    while i < PySequence_Fast_GET_SIZE(items):    # not range: an element's __index__ could shrink the list
        item = <object>PySequence_Fast_GET_ITEM(items, i)
        if isinstance(item, Encoded):
            put(out, PyBytes_AS_STRING((<Encoded>item).data), PyBytes_GET_SIZE((<Encoded>item).data))
        else:
            write_one(program, op, item, out, False)
        i += 1
    return 0


cdef object load(Struct struct, const Op* op):
    cdef PyObject* value = (<PyObject**>(<char*><PyObject*>struct + op.offset))[0]
    if value == NULL:
        raise AttributeError(f"{type(struct).__name__} was stripped of a field")
    return <object>value


cdef int write_struct(Program program, int index, object value, Out* out) except -1:
    cdef Plan* plan = &program.plans[index]
    cdef const Op* op = program.ops + plan.first
    cdef const Op* tagged = program.ops + plan.tagged
    if not PyObject_TypeCheck(value, <PyTypeObject*>plan.cls):
        raise TypeError(f"{(<type>plan.cls).__name__} expected, not {type(value).__name__}")
    while op < tagged:
        if not op.absent:
            write_field(program, op, load(<Struct>value, op), out)
        op += 1
    if plan.flexible:
        write_tags(program, plan, <Struct>value, out)
    return 0


cdef int write_tags(Program program, Plan* plan, Struct struct, Out* out) except -1:
    cdef const Op* op = program.ops + plan.tagged
    cdef const Op* end = program.ops + plan.end
    cdef list tags = None
    cdef object value
    cdef bytes data
    cdef int64_t last = -1, tag
    if struct.unknown_tags:
        tags = list(struct.unknown_tags)
    while op < end:
        value = load(struct, op)
        if value != <object>op.neutral:
            if tags is None:
                tags = []
            tags.append((op.tag, written(program, op, value)))
        op += 1
    if tags is None:
        grow(out, 1)[0] = 0
        return 0
    tags.sort()
    put_uvarint(out, <uint32_t>len(tags))
    for tag, data in tags:
        if tag <= last or tag > 0xffffffff:
            raise ValueError(f"tag {tag} twice or out of range")
        last = tag
        put_uvarint(out, <uint32_t>tag)
        put_uvarint(out, <uint32_t>len(data))
        put(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    return 0


cdef bytes written(Program program, const Op* op, object value):
    cdef Out out
    memset(&out, 0, sizeof(out))
    try:
        write_field(program, op, value, &out)
        return PyBytes_FromStringAndSize(<char*>out.data, out.size)
    finally:
        PyMem_Free(out.data)
