"""Java's .properties syntax (java.util.Properties): comments, escapes, continuation lines, `key=value`, `key:value`."""

from typing import NamedTuple

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"


class Property(NamedTuple):
    key: str
    value: str
    line: int


class PropertiesError(ValueError):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def parse(text: str) -> list[Property]:
    """In file order; a key given twice stands twice (the last one counts)."""
    found = []
    for number, line in _logical_lines(text):
        end = _key_end(line)
        rest = line[end:].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        found.append(Property(_unescape(line[:end], number), _unescape(rest, number), number))
    return found


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Joined continuation lines with the number of their first line; comments and blank lines left out."""
    lines: list[tuple[int, str]] = []
    joined: str | None = None
    start = 0
    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.lstrip(_BLANK)
        if joined is None:
            # a comment line is never continued, whatever it ends with
            if not line or line[0] in "#!":
                continue
            joined, start = "", number
        slashes = len(line) - len(line.rstrip("\\"))
        if slashes % 2:
            joined += line[:-1]
            continue
        lines.append((start, joined + line))
        joined = None
    if joined:
        lines.append((start, joined))
    return lines


def _key_end(line: str) -> int:
    escaped = False
    for position, character in enumerate(line):
        if not escaped and character in "=: \t\f":
            return position
        escaped = character == "\\" and not escaped
    return len(line)


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\" or position == len(text):
            out.append(character)
            continue
        escape = text[position]
        position += 1
        if escape == "u":
            digits = text[position : position + 4]
            if len(digits) != 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                raise PropertiesError(line, "malformed \\uxxxx escape")
            out.append(chr(int(digits, 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(escape, escape))
    return "".join(out)
