r"""From what users say about the input to the native layout of a line. Pure.

reader properties    parse.key=true key.separator=: …    (kafka-console-producer's LineMessageReader)
rpk's tokens         %v %k %p %d %h in order, with what stands between them: '%k %v\n'
"""

import re
from collections.abc import Mapping, Sequence

from kafpy._core.lines import Form
from kafpy.cli.output_format import FormatError, unescaped

Headers = Sequence[tuple[str, bytes | None]]
FIELDS = {"k": "key", "v": "value", "p": "partition", "d": "timestamp", "h": "headers"}


def console(
    properties: Mapping[str, str],
    *,
    key: bytes | None = None,
    headers: Headers = (),
    partition: int = -1,
    tombstones: bool = False,
) -> Form:
    def wanted(name: str) -> bool:
        return properties.get(name, "").strip().lower() == "true"

    def text(name: str, default: str) -> bytes:
        return properties.get(name, default).encode("utf-8", "surrogateescape")

    fields = []
    if wanted("parse.headers"):
        fields.append(("headers", text("headers.delimiter", "\t")))
    if wanted("parse.key"):
        fields.append(("key", text("key.separator", "\t")))
    separators = [each for _, each in fields] + [text("headers.separator", ","), text("headers.key.separator", ":")]
    if not all(separators):
        raise FormatError("a separator cannot be empty")
    marker = properties.get("null.marker")
    return Form(
        [*fields, ("value", b"")],
        strip_cr=True,
        ignore_errors=wanted("ignore.error"),
        null_marker=None if marker is None else marker.encode("utf-8", "surrogateescape"),
        headers_separator=text("headers.separator", ","),
        header_separator=text("headers.key.separator", ":"),
        key=key,
        headers=headers,
        partition=partition,
        empty_value_null=tombstones,
    )


def tokens(
    form: str,
    *,
    key: bytes | None = None,
    headers: Headers = (),
    partition: int = -1,
    tombstones: bool = False,
) -> Form:
    """FormatError for a form that could not tell where a field or a record ends."""
    fields: list[tuple[str, bytes]] = []
    for piece in re.split(r"(%.)", form, flags=re.DOTALL):
        if piece.startswith("%") and piece != "%%":
            if piece[1:] not in FIELDS:
                known = ", ".join(f"%{each}" for each in FIELDS)
                raise FormatError(f"{piece} is not known in an input format; there are {known}")
            fields.append((FIELDS[piece[1:]], b""))
        elif piece:
            if not fields:
                raise FormatError("an input format begins with a token, as in '%k %v\\n'")
            kind, until = fields[-1]
            fields[-1] = kind, until + (b"%" if piece == "%%" else unescaped(piece))
    if not fields:
        raise FormatError("an input format needs at least one token, as in '%v\\n'")
    (last, delimiter), fields = fields[-1], fields[:-1]
    if any(not until for _, until in fields):
        raise FormatError("two tokens of an input format need something between them")
    if len({kind for kind, _ in fields} | {last}) <= len(fields):
        raise FormatError("a token can stand only once in an input format")
    return Form(
        [*fields, (last, b"")],
        delimiter=delimiter or b"\n",
        key=key,
        headers=headers,
        partition=partition,
        empty_value_null=tombstones,
    )


def headers_of(words: Sequence[str], separator: str = ":") -> list[tuple[str, bytes | None]]:
    """`key:value` words of the command line; without a separator the value is null."""
    found: list[tuple[str, bytes | None]] = []
    for word in words:
        name, colon, value = word.partition(separator)
        found.append((name, value.encode("utf-8", "surrogateescape") if colon else None))
    return found
