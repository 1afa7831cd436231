# Part of templates.pyx: one record printed, op by op. False: there is no memory.

cdef const char* HEX_DIGITS = "0123456789abcdef"
cdef const char* BASE64_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


cdef inline bint put(Out* out, const uint8_t* data, int64_t size) noexcept nogil:
    if size <= 0:
        return True
    if not make_room(out, size):
        return False
    memcpy(out.data + out.size, data, <size_t>size)
    out.size += size
    return True


cdef bint put_number(Out* out, int64_t number) noexcept nogil:
    cdef uint8_t[20] digits
    cdef int at = 20
    cdef uint64_t rest = (0 - <uint64_t>number) if number < 0 else <uint64_t>number
    while True:
        at -= 1
        digits[at] = <uint8_t>(48 + rest % 10)
        rest //= 10
        if rest == 0:
            break
    if number < 0 and not put(out, <const uint8_t*>"-", 1):
        return False
    return put(out, &digits[at], 20 - at)


cdef bint put_hex(Out* out, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t at
    if not make_room(out, 2 * size):
        return False
    for at in range(size):
        out.data[out.size] = <uint8_t>HEX_DIGITS[data[at] >> 4]
        out.data[out.size + 1] = <uint8_t>HEX_DIGITS[data[at] & 15]
        out.size += 2
    return True


cdef bint put_base64(Out* out, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t at = 0
    cdef uint32_t three
    cdef int place
    if not make_room(out, (size + 2) // 3 * 4):
        return False
    while at < size:
        three = <uint32_t>data[at] << 16
        if at + 1 < size:
            three |= <uint32_t>data[at + 1] << 8
        if at + 2 < size:
            three |= data[at + 2]
        for place in range(4):
            out.data[out.size + place] = <uint8_t>BASE64_DIGITS[(three >> (18 - 6 * place)) & 63]
        if at + 2 >= size:
            out.data[out.size + 3] = <uint8_t>61
        if at + 1 >= size:
            out.data[out.size + 2] = <uint8_t>61
        out.size += 4
        at += 3
    return True


# The length of the UTF-8 character that starts here; 0: there is none.
cdef inline int character(const uint8_t* p, const uint8_t* end) noexcept nogil:
    cdef uint8_t least = 0x80, most = 0xbf
    cdef int size, at
    if p[0] < 0x80:
        return 1
    if 0xc2 <= p[0] <= 0xdf:
        size = 2
    elif 0xe0 <= p[0] <= 0xef:
        size = 3
        if p[0] == 0xe0:
            least = 0xa0
        elif p[0] == 0xed:
            most = 0x9f
    elif 0xf0 <= p[0] <= 0xf4:
        size = 4
        if p[0] == 0xf0:
            least = 0x90
        elif p[0] == 0xf4:
            most = 0x8f
    else:
        return 0
    if end - p < size or not least <= p[1] <= most:
        return 0
    for at in range(2, size):
        if p[at] & 0xc0 != 0x80:
            return 0
    return size


cdef bint is_text(const uint8_t* p, int64_t size) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef int step
    while p < end:
        step = character(p, end)
        if step == 0:
            return False
        p += step
    return True


cdef bint put_escape(Out* out, uint8_t byte) noexcept nogil:
    cdef uint8_t[6] text
    cdef uint8_t short_ = 0
    text[0] = <uint8_t>92
    if byte == 34 or byte == 92:
        short_ = byte
    elif byte == 10:
        short_ = <uint8_t>110
    elif byte == 13:
        short_ = <uint8_t>114
    elif byte == 9:
        short_ = <uint8_t>116
    elif byte == 8:
        short_ = <uint8_t>98
    elif byte == 12:
        short_ = <uint8_t>102
    if short_:
        text[1] = short_
        return put(out, text, 2)
    text[1], text[2], text[3] = <uint8_t>117, <uint8_t>48, <uint8_t>48
    text[4], text[5] = <uint8_t>HEX_DIGITS[byte >> 4], <uint8_t>HEX_DIGITS[byte & 15]
    return put(out, text, 6)


# A JSON string. Bytes that are no UTF-8 become U+FFFD: who must not lose them asks is_text() before.
cdef bint put_json(Out* out, const uint8_t* p, int64_t size) noexcept nogil:
    cdef const uint8_t* end = p + size
    cdef const uint8_t* run = p
    cdef int step
    if not put(out, <const uint8_t*>"\"", 1):
        return False
    while p < end:
        if p[0] >= 32 and p[0] < 128 and p[0] != 34 and p[0] != 92:
            p += 1
            continue
        step = character(p, end)
        if step > 1:
            p += step
            continue
        if not put(out, run, p - run):
            return False
        if not (put_escape(out, p[0]) if step else put(out, <const uint8_t*>"\xef\xbf\xbd", 3)):
            return False
        p += 1
        run = p
    return put(out, run, p - run) and put(out, <const uint8_t*>"\"", 1)


# `"name":"text"`, `"name":null`, or `"name_base64":"…"` for bytes that are no UTF-8.
cdef bint put_member(Out* out, const Slice* name, const Slice* field) noexcept nogil:
    cdef bint text = field.size < 0 or is_text(field.data, field.size)
    if not (put(out, <const uint8_t*>"\"", 1) and put(out, name.data, name.size)):
        return False
    if not (put(out, <const uint8_t*>"\":", 2) if text else put(out, <const uint8_t*>"_base64\":\"", 10)):
        return False
    if field.size < 0:
        return put(out, <const uint8_t*>"null", 4)
    if text:
        return put_json(out, field.data, field.size)
    return put_base64(out, field.data, field.size) and put(out, <const uint8_t*>"\"", 1)


cdef bint print_text(const Part* op, const Slice* field, Out* out) noexcept nogil:
    if op.style == JSON_MEMBER:
        return put_member(out, &op.text, field)
    if field.size < 0:
        return put(out, op.text.data, op.text.size)
    if op.style == HEX:
        return put_hex(out, field.data, field.size)
    if op.style == BASE64:
        return put_base64(out, field.data, field.size)
    if op.style == JSON:
        return put_json(out, field.data, field.size)
    return put(out, field.data, field.size)


cdef int64_t number_in(int kind, const Shown* shown) noexcept nogil:
    if kind == OFFSET:
        return shown.offset
    if kind == PARTITION:
        return shown.partition
    if kind == TIMESTAMP:
        return shown.timestamp
    if kind == EPOCH:
        return shown.batch.leader_epoch
    if kind == KEY_SIZE:
        return shown.key.size
    if kind == VALUE_SIZE:
        return shown.value.size
    if kind == TOPIC_SIZE:
        return shown.topic.size
    if kind == HEADER_COUNT:
        return shown.header_count
    if kind == PRODUCER_ID:
        return shown.batch.producer_id
    if kind == PRODUCER_EPOCH:
        return shown.batch.producer_epoch
    if kind == BROKER:
        return shown.broker
    return shown.index


cdef bint put_time(Out* out, int64_t ms, const Slice* form) noexcept nogil:
    cdef char[512] text
    cdef tm parts
    cdef int64_t seconds = ms // 1000 - (1 if ms % 1000 < 0 else 0)
    if gmtime_r(&seconds, &parts) == NULL:
        return put_number(out, ms)
    return put(out, <const uint8_t*>text, <int64_t>strftime(text, 512, <const char*>form.data, &parts))


cdef bint print_number(const Part* op, int64_t number, Out* out) noexcept nogil:
    cdef uint8_t[8] big
    cdef uint8_t[8] little
    cdef int at
    if op.style == PLAIN or op.style == JSON:
        return put_number(out, number)
    if op.style == TIME:
        return put_time(out, number, &op.text)
    for at in range(8):
        little[at] = big[7 - at] = <uint8_t>(<uint64_t>number >> (8 * at))
    if op.style == BIG:
        return put(out, &big[8 - op.width], op.width)
    if op.style == LITTLE:
        return put(out, little, op.width)
    return put_hex(out, &big[8 - op.width], op.width)


cdef bint print_headers(const Part* op, const Shown* shown, Out* out) noexcept nogil:
    cdef const uint8_t* p = shown.headers
    cdef Shown header = shown[0]
    cdef int64_t left = shown.header_count
    if left == 0:
        return put(out, op.text.data, op.text.size)
    header.header_count = 0
    if not put(out, op.before.data, op.before.size):
        return False
    while left > 0:
        p = slice_bytes(p, shown.end, 0, &header.key)
        if p == NULL:
            return False
        p = slice_bytes(p, shown.end, -1, &header.value)
        if p == NULL or not print_ops(op + 1, op.inner, &header, out):
            return False
        left -= 1
        if left and not put(out, op.between.data, op.between.size):
            return False
    return put(out, op.after.data, op.after.size)


cdef bint print_timestamp_type(const Part* op, bint append_time, Out* out) noexcept nogil:
    if op.style == JSON:
        return put(out, <const uint8_t*>"\"logappend\"", 11) if append_time else put(out, <const uint8_t*>"\"create\"", 8)
    return put(out, <const uint8_t*>"LogAppendTime", 13) if append_time else put(out, <const uint8_t*>"CreateTime", 10)


cdef bint print_ops(const Part* ops, int count, const Shown* shown, Out* out) noexcept nogil:
    cdef const Part* op = ops
    cdef bint fine
    while op < ops + count:
        if op.kind == LITERAL:
            fine = put(out, op.text.data, op.text.size)
        elif op.kind == VALUE:
            fine = print_text(op, &shown.value, out)
        elif op.kind == KEY:
            fine = print_text(op, &shown.key, out)
        elif op.kind == TOPIC:
            fine = print_text(op, &shown.topic, out)
        elif op.kind == HEADERS:
            fine = print_headers(op, shown, out)
        elif op.kind == TIMESTAMP_TYPE:
            fine = print_timestamp_type(op, shown.batch.attributes & LOG_APPEND_TIME != 0, out)
        else:
            fine = print_number(op, number_in(op.kind, shown), out)
        if not fine:
            return False
        op += 1 + (op.inner if op.kind == HEADERS else 0)
    return True
