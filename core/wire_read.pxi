# The reading half of wire.pyx: every function moves the cursor, and raises MalformedRequest where the input lies.

cdef object malformed(Cursor* c, str why):
    raise MalformedRequest(f"{why} at byte {c.at - c.start}")


cdef inline const uint8_t* take(Cursor* c, int64_t size) except NULL:
    cdef const uint8_t* here = c.at
    if size > c.end - here:
        malformed(c, "truncated")
    c.at += size
    return here


cdef int64_t uvarint(Cursor* c) except -1:
    cdef uint32_t value = 0, byte
    cdef int shift = 0
    while True:
        byte = take(c, 1)[0]
        if shift == 28 and byte > 0x0f:
            malformed(c, "varint over 32 bits")
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value
        shift += 7


cdef inline int64_t integer(int kind, const uint8_t* p) noexcept:
    cdef uint16_t two
    cdef uint32_t four
    cdef uint64_t eight
    if kind == INT8:
        return <int8_t>p[0]
    if kind == INT16 or kind == UINT16:
        memcpy(&two, p, 2)
        two = be16toh(two)
        return <int64_t><int16_t>two if kind == INT16 else <int64_t>two
    if kind == INT32 or kind == UINT32:
        memcpy(&four, p, 4)
        four = be32toh(four)
        return <int64_t><int32_t>four if kind == INT32 else <int64_t>four
    memcpy(&eight, p, 8)
    return <int64_t>be64toh(eight)


cdef int64_t length(Cursor* c, int width, bint compact, bint nullable) except -2:
    """A length prefix, -1 for null."""
    cdef int64_t size
    if compact:
        size = uvarint(c) - 1
    else:
        size = integer(INT16 if width == 2 else INT32, take(c, width))
    if size < 0 and not (size == -1 and nullable):
        malformed(c, "null or negative length")
    return size


cdef double real(const uint8_t* p) noexcept:
    cdef int64_t bits = integer(INT64, p)
    cdef double value
    memcpy(&value, &bits, 8)
    return value


cdef object read_one(Program program, const Op* op, Cursor* c, bint nullable):
    cdef int kind = op.kind
    cdef int64_t size
    cdef const uint8_t* p
    if kind <= UUID:
        p = take(c, WIDTH[kind])
        if kind == BOOL:
            return p[0] != 0
        if kind == UUID:
            return PyBytes_FromStringAndSize(<const char*>p, 16)
        if kind == FLOAT64:
            return real(p)
        return integer(kind, p)
    if kind == STRUCT:
        if nullable:
            p = take(c, 1)
            if <int8_t>p[0] == (-1 if op.tag < 0 else 0):
                return None
            if p[0] != 1:
                malformed(c, "bad mark of a nullable struct")
        return read_struct(program, op.plan, c)
    size = length(c, WIDTH[kind], op.compact, nullable)
    if size < 0:
        return None
    p = take(c, size)
    if kind == STRING:
        if size > 0x7fff:    # compact ones too, as in Kafka
            malformed(c, "string over 32767 bytes")
        try:
            return PyUnicode_DecodeUTF8(<const char*>p, size, NULL)
        except UnicodeDecodeError:
            malformed(c, "invalid UTF-8")
    if kind == RECORDS:
        return memoryview(<object>c.frame)[p - c.start:p - c.start + size]
    return PyBytes_FromStringAndSize(<const char*>p, size)


cdef object read_field(Program program, const Op* op, Cursor* c):
    cdef int64_t count, i
    cdef object item
    if not op.array:
        return read_one(program, op, c, op.nullable)
    count = length(c, 4, op.compact, op.nullable)
    if count < 0:
        return None
    if count > (c.end - c.at) // op.floor:
        malformed(c, "more elements than bytes")
    spend(c, count)
    items = PyList_New(count)
    for i in range(count):
        item = read_one(program, op, c, False)
        Py_INCREF(item)
        PyList_SET_ITEM(items, i, item)
    return items


cdef int spend(Cursor* c, int64_t count) except -1:
    c.budget -= count
    if c.budget < 0:
        malformed(c, "too many elements in one message")
    return 0


cdef object read_struct(Program program, int index, Cursor* c):
    cdef Plan* plan = &program.plans[index]
    cdef PyTypeObject* cls = <PyTypeObject*>plan.cls
    cdef const Op* op = program.ops + plan.first
    cdef const Op* tagged = program.ops + plan.tagged
    cdef object struct = cls.tp_new(<type>plan.cls, <PyObject*>EMPTY, NULL)
    while op < tagged:
        put_slot(struct, op.offset, fresh(op.default) if op.absent else read_field(program, op, c))
        op += 1
    if plan.flexible:
        read_tags(program, plan, <Struct>struct, c)
    return struct


cdef int read_tags(Program program, Plan* plan, Struct struct, Cursor* c) except -1:
    cdef const Op* op = program.ops + plan.tagged
    cdef const Op* end = program.ops + plan.end
    cdef const uint8_t* outer = c.end
    cdef const uint8_t* data
    cdef int64_t count = uvarint(c), last = -1, tag, size
    if count > (c.end - c.at) // 2:
        malformed(c, "more tags than bytes")
    spend(c, count)
    while count:
        count -= 1
        tag = uvarint(c)
        if tag <= last:
            malformed(c, "tags out of order")
        last = tag
        size = uvarint(c)
        data = take(c, size)
        while op < end and op.tag < tag:
            put_slot(struct, op.offset, fresh(op.default))
            op += 1
        if op < end and op.tag == tag:
            c.at = data
            c.end = data + size
            put_slot(struct, op.offset, read_field(program, op, c))
            if c.at != c.end:
                malformed(c, "tagged field shorter than its size")
            c.end = outer
            op += 1
        else:
            if struct.unknown_tags is None:
                struct.unknown_tags = []
            struct.unknown_tags.append((tag, PyBytes_FromStringAndSize(<const char*>data, size)))
    while op < end:
        put_slot(struct, op.offset, fresh(op.default))
        op += 1
    return 0
