"""The notation of message tables: a field per line, in wire order; the fields of a struct are indented below it.

    name  type  [versions]  [#tag]  [= default]

    topics          [Topic]?1+                array of Topic, nullable from version 1
        name        string?10+    0-12        there in versions 0 to 12, nullable from 10
    rack            string?       = null      nullable wherever it is there
    leader          Leader        10+  #0     tagged field 0

Types: those of wire.KINDS, and `legacy_string` (never compact); a capital opens a struct, brackets make an array. A
struct named a second time without fields below it is the first one again. No versions: all. Defaults: 0, false, "",
no bytes, the zero uuid, an empty array, a struct of defaults.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kafpy._core.wire import KINDS

ALWAYS = range(0x7FFF)
NEVER = range(0)


class Field(NamedTuple):
    name: str
    type: str
    array: bool
    versions: range
    nullable: range
    tag: int
    default: Any
    """A value; None for null; `...` for what is usual for the type."""


class Layout(NamedTuple):
    """The structs of a message by name, in order of appearance; the message itself is the first."""

    root: str
    structs: dict[str, list[Field]]


def versions(text: str) -> range:
    """`3` `3-5` `3+`."""
    if text.endswith("+"):
        return range(int(text[:-1]), ALWAYS.stop)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def parse(root: str, table: str) -> Layout:
    structs: dict[str, list[Field]] = {root: []}
    open_structs = [(-1, root)]
    for depth, line in _lines(table):
        while open_structs[-1][0] >= depth:
            open_structs.pop()
        field = _field(line)
        structs[open_structs[-1][1]].append(field)
        if field.type not in KINDS and field.type != "legacy_string":
            if not field.type[0].isupper():
                raise ValueError(f"unknown type {field.type} in {root}")
            structs.setdefault(field.type, [])
            open_structs.append((depth, field.type))
    return Layout(root, structs)


def _lines(table: str) -> Iterator[tuple[int, str]]:
    for line in table.splitlines():
        stripped = line.strip()
        if stripped:
            yield len(line) - len(line.lstrip()), stripped


def _field(line: str) -> Field:
    text, _, default = line.partition(" = ")
    name, kind, *rest = text.split()
    kind, question, null_versions = kind.partition("?")
    array = kind.startswith("[")
    there, tag = ALWAYS, -1
    for word in rest:
        if word.startswith("#"):
            tag = int(word[1:])
        else:
            there = versions(word)
    nullable = versions(null_versions) if null_versions else ALWAYS if question else NEVER
    return Field(name, kind.strip("[]"), array, there, nullable, tag, _default(default.strip()))


def _default(text: str) -> Any:
    words = {"": ..., "null": None, "true": True, "false": False}
    return words[text] if text in words else int(text, 0)
