r"""From what users say about the output to the parts of a native template. Pure.

console properties      print.key=true key.separator=: …      (kafka-console-consumer's formatter)
rpk's tokens            %t %k %v %p %o %d %e %h{…} …, with {hex}, {base64}, {json}, {big32}, {strftime[…]}
kcat's tokens           %t %k %K %s %S %R %T %h %p %o %%
json                    one object per line, which `kafpy produce --format json` reads back
yaml                    the same as the items of one list
"""

import re
from collections.abc import Mapping

from kafpy._core.templates import Op

ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\", "a": b"\a", "e": b"\x1b"}
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)


class FormatError(ValueError):
    """One line for the user."""


def unescaped(text: str) -> bytes:
    r"""Of \n, \t, \r, \0, \\ and \xNN; anything else stays as it is."""

    def plain(match: re.Match[bytes]) -> bytes:
        word = match[1].decode("utf-8", "surrogateescape")
        if word[0] == "x":
            return bytes([int(word[1:], 16)])
        return ESCAPES.get(word, match[0])

    return _ESCAPE.sub(plain, text.encode("utf-8", "surrogateescape"))


def literal(text: bytes | str) -> Op:
    return Op("literal", text=text.encode() if isinstance(text, str) else text)


def console(properties: Mapping[str, str]) -> list[Op]:
    """Kafka's DefaultMessageFormatter: columns in its order, the line's end after the last."""

    def wanted(name: str, default: bool = False) -> bool:
        return properties[name].strip().lower() == "true" if name in properties else default

    def text(name: str, default: str) -> bytes:
        return properties.get(name, default).encode("utf-8", "surrogateescape")

    null = text("null.literal", "null")
    header = (Op("key"), literal(":"), Op("value", text=null))
    columns: list[list[Op]] = []
    if wanted("print.timestamp"):
        columns.append([Op("timestamp_type"), literal(":"), Op("timestamp")])
    if wanted("print.partition"):
        columns.append([literal("Partition:"), Op("partition")])
    if wanted("print.offset"):
        columns.append([literal("Offset:"), Op("offset")])
    if wanted("print.delivery"):
        columns.append([literal("Delivery:NOT_PRESENT")])
    if wanted("print.epoch"):
        columns.append([literal("Epoch:"), Op("epoch")])
    if wanted("print.headers"):
        between = text("headers.separator", ",")
        columns.append([Op("headers", text=b"NO_HEADERS", between=between, inner=header)])
    if wanted("print.key"):
        columns.append([Op("key", text=null)])
    if wanted("print.value", default=True):
        columns.append([Op("value", text=null)])
    separator, end = literal(text("key.separator", "\t")), literal(text("line.separator", "\n"))
    return [
        op for place, column in enumerate(columns) for op in (*column, end if place + 1 == len(columns) else separator)
    ]


def ndjson() -> list[Op]:
    """Keys, values and header values that are no UTF-8 come as base64 in a member `…_base64` instead."""
    header = (
        literal('{"key":'),
        Op("key", "json"),
        literal(","),
        Op("value", "json_member", b"value"),
        literal("}"),
    )
    return [
        literal('{"topic":'),
        Op("topic", "json"),
        literal(',"partition":'),
        Op("partition"),
        literal(',"offset":'),
        Op("offset"),
        literal(',"timestamp":'),
        Op("timestamp"),
        literal(',"headers":['),
        Op("headers", between=b",", inner=header),
        literal("],"),
        Op("key", "json_member", b"key"),
        literal(","),
        Op("value", "json_member", b"value"),
        literal("}\n"),
    ]


def yaml() -> list[Op]:
    return [literal("- "), *ndjson()]


NUMBERS = {
    "T": "topic_size",
    "K": "key_size",
    "V": "value_size",
    "H": "header_count",
    "p": "partition",
    "o": "offset",
    "e": "epoch",
    "d": "timestamp",
    "x": "producer_id",
    "y": "producer_epoch",
    "i": "index",
}
TEXTS = {"t": "topic", "k": "key", "v": "value"}
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8, "byte": 1}
_BINARY = re.compile(r"(big|little|hex)(8|16|32|64)\Z")


def rpk(form: str) -> list[Op]:
    """FormatError for a token that is not known."""
    ops, rest = _rpk(form, 0, inner=False)
    assert rest == len(form)
    return ops


def _rpk(form: str, at: int, *, inner: bool) -> tuple[list[Op], int]:
    """Ops up to the end, or in a header's form to the brace that closes it; and where that is."""
    ops: list[Op] = []
    plain = ""
    while at < len(form) and not (inner and form[at] == "}"):
        if form[at] != "%":
            step = 2 if form[at] == "\\" else 1
            plain += form[at : at + step]
            at += step
            continue
        token = form[at + 1 : at + 2]
        at += 2
        if token in ("%", "{", "}") and token:
            plain += token
            continue
        if plain:
            ops.append(literal(unescaped(plain)))
            plain = ""
        if token == "h":
            if form[at : at + 1] != "{":
                raise FormatError("%h needs a form for each header, as in %h{%k=%v }")
            nested, at = _rpk(form, at + 1, inner=True)
            if at >= len(form):
                raise FormatError("the { after %h is not closed")
            ops.append(Op("headers", inner=tuple(nested)))
            at += 1
            continue
        style, at = _style(form, at)
        ops.append(_field(token, style))
    if plain:
        ops.append(literal(unescaped(plain)))
    return ops, at


def _style(form: str, at: int) -> tuple[str, int]:
    if form[at : at + 1] != "{":
        return "", at
    end = form.find("]}", at) + 1 if form.startswith("{strftime[", at) else form.find("}", at)
    if end <= 0:
        raise FormatError("a { in the format is not closed")
    return form[at + 1 : end], end + 1


def _field(token: str, style: str) -> Op:
    if token in TEXTS:
        if style not in ("", "hex", "base64", "json"):
            raise FormatError(f"%{token}{{{style}}}: text can be hex, base64 or json")
        return Op(TEXTS[token], style or "plain", b"null" if style == "json" else b"")
    if token not in NUMBERS:
        known = ", ".join(f"%{each}" for each in [*TEXTS, *NUMBERS, "h{…}", "%"])
        raise FormatError(f"%{token} is not known; there are {known}")
    kind = NUMBERS[token]
    if style in ("", "ascii"):
        return Op(kind)
    if style.startswith("strftime[") and token == "d":
        return Op(kind, "time", unescaped(style[len("strftime[") : -1]))
    match = _BINARY.match(style)
    if match is None and style != "byte":
        raise FormatError(f"%{token}{{{style}}}: numbers can be ascii, big32, little64, hex16, byte, …")
    return Op(kind, match[1] if match else "big", width=_WIDTHS[match[2] if match else style])


KCAT = {
    "s": Op("value"),
    "S": Op("value_size"),
    "R": Op("value_size", "big", width=4),
    "k": Op("key"),
    "K": Op("key_size"),
    "T": Op("timestamp"),
    "t": Op("topic"),
    "p": Op("partition"),
    "o": Op("offset"),
}


def kcat(form: str, *, null: bytes = b"") -> list[Op]:
    """null: what -Z prints for a null key or value."""
    header = (Op("key"), literal("="), Op("value", text=b"NULL"))
    ops: list[Op] = []
    for piece in re.split(r"(%.)", form, flags=re.DOTALL):
        if piece == "%%":
            ops.append(literal("%"))
        elif piece == "%h":
            ops.append(Op("headers", between=b",", inner=header))
        elif piece.startswith("%"):
            if piece[1:] not in KCAT:
                raise FormatError(f"{piece} is not known; there are %s %S %R %k %K %T %h %t %p %o %%")
            op = KCAT[piece[1:]]
            ops.append(op._replace(text=null) if piece in ("%s", "%k") else op)
        elif piece:
            ops.append(literal(unescaped(piece)))
    return ops


def kcat_json() -> list[Op]:
    """kcat's -J envelope. Headers are a flat list of names and values, as kcat prints them."""
    header = (Op("key", "json"), literal(","), Op("value", "json", b"null"))
    return [
        literal('{"topic":'),
        Op("topic", "json"),
        literal(',"partition":'),
        Op("partition"),
        literal(',"offset":'),
        Op("offset"),
        literal(',"tstype":'),
        Op("timestamp_type", "json"),
        literal(',"ts":'),
        Op("timestamp"),
        literal(',"broker":'),
        Op("broker"),
        Op("headers", between=b",", before=b',"headers":[', after=b"]", inner=header),
        literal(',"key":'),
        Op("key", "json", b"null"),
        literal(',"payload":'),
        Op("value", "json", b"null"),
        literal("}\n"),
    ]
