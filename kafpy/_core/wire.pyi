"""Runs the per-version programs of the protocol's schema tables: bytes to message objects and back (core/wire.pyx)."""

from typing import Any, Never, Self, final

from typing_extensions import disjoint_base

KINDS: dict[str, int]
"""Type names of the schema notation, and "struct", to what a program's fields call "kind"."""

class MalformedRequest(ValueError):
    """The bytes are not a message of this API and version."""

@final
class Encoded:
    """Bytes already in wire form, copied verbatim in place of an array element, or of a whole array and its count."""

    def __init__(self, data: bytes) -> None: ...
    @property
    def data(self) -> bytes: ...

@final
class Shape:
    """The fields of a message class with their defaults: (name, immutable value or type to call) each."""

    def __new__(cls, owner: type[Struct], fields: tuple[tuple[str, Any], ...]) -> Self: ...
    @property
    def fields(self) -> tuple[tuple[str, Any], ...]: ...

@disjoint_base
class Struct:
    """What message classes derive from: fields in __slots__, a Shape as `_shape`, keyword constructor, equality."""

    unknown_tags: list[tuple[int, bytes]] | None
    """Tagged fields that the schema does not know; written back as they came."""

    def __init__(self, *args: Never, **fields: Any) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Program:
    """Reader and writer of one message at one version."""

    def __new__(cls, structs: list[tuple[type[Struct], bool, list[dict[str, Any]]]]) -> Self:
        """One (class, flexible, fields) per struct, the message first.

        A field: name, kind, array, nullable, legacy (never compact), absent (in this version), tag (-1: in line),
        plan (index in `structs`), floor (fewest bytes of one element), default (an immutable value or a type to call).
        """
    def read(
        self, data: bytes | bytearray, start: int = 0, *, end: int = -1, budget: int = 100_000, whole: bool = True
    ) -> tuple[Any, int]:
        """The message at data[start:end] and where it ends; with `whole`, it has to end there.

        `budget` bounds the sum of all counts. Raises MalformedRequest, and nothing else, for any bytes. Fields of type
        `records` are memoryviews of `data`.
        """
    def write(self, message: Struct, prefix: bytes = b"") -> bytes:
        """The message's bytes after `prefix`. Fields that this version lacks are left out."""
    def fragment(self, struct: Struct) -> Encoded:
        """A part of the message, as it stands in an array, for use in its place."""
