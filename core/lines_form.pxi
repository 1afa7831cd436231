# Part of lines.pyx: how a line is laid out, and one line read.

cdef struct Field:
    int kind
    Slice until  # size 0: to the end of the line


cdef const uint8_t* find(const uint8_t* at, const uint8_t* end, const Slice* what) noexcept nogil:
    if what.size == 1:
        return <const uint8_t*>memchr(at, what.data[0], <size_t>(end - at))
    return <const uint8_t*>memmem(at, <size_t>(end - at), what.data, <size_t>what.size)


cdef bint same(const Slice* one, const Slice* other) noexcept nogil:
    return one.size == other.size and (one.size <= 0 or memcmp(one.data, other.data, <size_t>one.size) == 0)


cdef bint number_of(const Slice* text, int64_t* number) noexcept nogil:
    cdef int64_t at
    number[0] = 0
    if not 0 < text.size <= 18:
        return False
    for at in range(text.size):
        if not 48 <= text.data[at] <= 57:
            return False
        number[0] = number[0] * 10 + text.data[at] - 48
    return True


cdef class Form:
    cdef Slice delimiter
    cdef Field[MOST_FIELDS] fields
    cdef int count
    cdef int32_t partition
    cdef bint strip_cr
    cdef bint ignore_errors
    cdef bint skip_empty
    cdef bint empty_key_null
    cdef bint empty_value_null
    cdef Slice null_marker  # size -1: none
    cdef Slice headers_separator
    cdef Slice header_separator
    cdef Slice key  # of lines that bring none
    cdef Slice headers  # of every line, before its own
    cdef int64_t header_count
    cdef list held

    def __cinit__(self, fields=(("value", b""),), *, bytes delimiter=b"\n", bint strip_cr=False,
                  bint ignore_errors=False, bint skip_empty=False, null_marker=None, bint empty_key_null=False, bint empty_value_null=False,
                  bytes headers_separator=b",", bytes header_separator=b":", key=None, headers=(),
                  int32_t partition=ANY):
        if not fields or len(fields) > MOST_FIELDS or not delimiter:
            raise ValueError("a line has one to eight fields and an end")
        if any(not until for _, until in list(fields)[:len(fields) - 1]):
            raise ValueError("every field but the last one needs a separator after it")
        self.held = [delimiter, null_marker, headers_separator, header_separator, key, pack_headers(headers)]
        self.count = len(fields)
        for place, (kind, until) in enumerate(fields):
            self.held.append(until)
            self.fields[place].kind = _FIELDS[kind]
            self.fields[place].until = slice_of(until)
        self.delimiter, self.null_marker = slice_of(delimiter), slice_of(null_marker)
        self.headers_separator, self.header_separator = slice_of(headers_separator), slice_of(header_separator)
        self.key, self.partition = slice_of(key), partition
        self.headers, self.header_count = slice_of(self.held[5]), len(headers)
        self.strip_cr, self.ignore_errors, self.skip_empty = strip_cr, ignore_errors, skip_empty
        self.empty_key_null, self.empty_value_null = empty_key_null, empty_value_null

    cdef int read(self, const Slice* line, Row* row, Out* scratch) noexcept nogil:
        cdef const uint8_t* at = line.data
        cdef const uint8_t* end = line.data + line.size
        cdef const uint8_t* stop
        cdef Slice text
        cdef int place, status
        if self.strip_cr and end > at and (end - 1)[0] == 13:
            end -= 1
        row.key, row.value = self.key, Slice(NULL, -1)
        row.headers, row.header_count = self.headers, self.header_count
        for place in range(self.count):
            stop = end if self.fields[place].until.size == 0 else find(at, end, &self.fields[place].until)
            if stop == NULL:
                if place + 1 < self.count:
                    if not self.ignore_errors:
                        return NO_SEPARATOR + place
                    continue  # as if the field were not asked for (LineMessageReader with ignore.error)
                stop = end
            text.data, text.size = at, stop - at
            status = self.take(&self.fields[place], &text, row, scratch)
            if status != WANTS_MORE:
                return status
            at = stop if stop == end else stop + self.fields[place].until.size
        return WANTS_MORE

    cdef int take(self, const Field* field, Slice* text, Row* row, Out* scratch) noexcept nogil:
        cdef int64_t number
        if self.null_marker.size >= 0 and same(text, &self.null_marker):
            text.size = -1
        if field.kind == KEY:
            row.key = Slice(NULL, -1) if self.empty_key_null and text.size == 0 else text[0]
        elif field.kind == VALUE:
            row.value = Slice(NULL, -1) if self.empty_value_null and text.size == 0 else text[0]
        elif field.kind == HEADERS:
            return self.take_headers(text, row, scratch)
        elif not number_of(text, &number) or (field.kind == PARTITION and number > INT32_MAX):
            return NOT_A_NUMBER
        elif field.kind == PARTITION:
            row.partition = <int32_t>number
        else:
            row.timestamp = number
        return WANTS_MORE

    cdef int take_headers(self, const Slice* text, Row* row, Out* scratch) noexcept nogil:
        cdef const uint8_t* at = text.data
        cdef const uint8_t* end = text.data + text.size
        cdef const uint8_t* stop
        cdef const uint8_t* colon
        cdef Slice key, value
        if text.size <= 0:
            return WANTS_MORE
        scratch.size = 0
        if not make_room(scratch, self.headers.size):
            return NO_MEMORY
        memcpy(scratch.data, self.headers.data, <size_t>self.headers.size)
        scratch.size = self.headers.size
        while at <= end:
            stop = find(at, end, &self.headers_separator)
            if stop == NULL:
                stop = end
            if at == stop and stop == end:  # Java's split leaves out what is empty at the end
                break
            colon = find(at, stop, &self.header_separator)
            if colon == NULL:
                if not self.ignore_errors:
                    return NO_HEADER_SEPARATOR
                key, value = Slice(at, stop - at), Slice(NULL, -1)
            else:
                key = Slice(at, colon - at)
                value = Slice(colon + self.header_separator.size, stop - colon - self.header_separator.size)
                if self.null_marker.size >= 0 and same(&value, &self.null_marker):
                    value.size = -1
            if not make_room(scratch, slice_size(&key) + slice_size(&value)):
                return NO_MEMORY
            scratch.size = put_slice(put_slice(scratch.data + scratch.size, &key), &value) - scratch.data
            row.header_count += 1
            at = stop + self.headers_separator.size
        row.headers = Slice(scratch.data, scratch.size)
        return WANTS_MORE

    cdef object line_at(self, const uint8_t* at, const uint8_t* end):
        cdef const uint8_t* stop = find(at, end, &self.delimiter)
        cdef int64_t size = min((end if stop == NULL else stop) - at, <int64_t>200)
        return PyBytes_FromStringAndSize(<const char*>at, size).decode("utf-8", "replace")

    cdef object complaint(self, int status, int64_t number, line):
        place = f"on line number {number}: '{line}'"
        if status == NO_MEMORY:
            return MemoryError()
        if status == NO_HEADER_SEPARATOR:
            return LineError(f"No header key separator found {place}")
        if status == NOT_A_NUMBER:
            return LineError(f"a partition or a timestamp that is no number {place}")
        if status == NO_SUCH_PARTITION:
            return LineError(f"a partition that the topic does not have {place}")
        return LineError(f"No {_ENDS_OF[self.fields[status - NO_SEPARATOR].kind]} found {place}")
