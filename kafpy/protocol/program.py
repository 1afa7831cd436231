"""From a parsed table to message classes (one per struct, all versions) and to a wire Program per version."""

from typing import Any

from kafpy._core.wire import KINDS, Program, Shape, Struct
from kafpy.protocol.schema import Field, Layout

USUAL: dict[str, Any] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), 0),
    "bool": False,
    "float64": 0.0,
    "uuid": bytes(16),
    "string": "",
    "legacy_string": "",
    "bytes": b"",
    "records": b"",
}
SIZES = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8, "uuid": 16}
LEGACY_LENGTHS = {"string": 2, "legacy_string": 2, "bytes": 4, "records": 4}


class Message:
    """A request or a response of an API: `cls` is its class, which has the classes of its structs as attributes."""

    def __init__(self, layout: Layout, flexible: range) -> None:
        self.layout = layout
        self.flexible = flexible
        self.classes: dict[str, type[Struct]] = {}
        for name in reversed(layout.structs):
            self._class(name)
        self.cls: type[Any] = self.classes[layout.root]
        for name, nested in self.classes.items():
            if name != layout.root:
                setattr(self.cls, name, nested)
        self._programs: dict[int, Program] = {}

    def program(self, version: int) -> Program:
        program = self._programs.get(version)
        if program is None:
            program = self._programs[version] = self._compile(version)
        return program

    def _class(self, name: str) -> type[Struct]:
        if name not in self.classes:
            fields = self.layout.structs[name]
            cls: Any = type(
                name, (Struct,), {"__slots__": tuple(field.name for field in fields), "__module__": __name__}
            )
            cls._shape = Shape(cls, tuple((field.name, self._default(field)) for field in fields))
            self.classes[name] = cls
        return self.classes[name]

    def _default(self, field: Field) -> Any:
        """A type where a fresh value has to be made each time."""
        if field.default is not ...:
            return field.default
        if field.array:
            return list
        return USUAL[field.type] if field.type in USUAL else self._class(field.type)

    def _compile(self, version: int) -> Program:
        names = list(self.layout.structs)
        structs = [
            (self.classes[name], version in self.flexible, [self._field(field, version, names) for field in fields])
            for name, fields in self.layout.structs.items()
        ]
        return Program(structs)

    def _field(self, field: Field, version: int, names: list[str]) -> dict[str, Any]:
        there = version in field.versions and (field.tag < 0 or version in self.flexible)
        kind = field.type.removeprefix("legacy_")
        return {
            "name": field.name,
            "kind": KINDS.get(kind, KINDS["struct"]),
            "array": field.array,
            "nullable": version in field.nullable,
            "legacy": field.type.startswith("legacy_"),
            "absent": not there,
            "tag": field.tag if there else -1,
            "plan": names.index(field.type) if field.type in self.layout.structs else -1,
            "floor": self._floor(field.type, version),
            "default": self._default(field),
        }

    def _floor(self, kind: str, version: int) -> int:
        """The fewest bytes that a value of this type takes."""
        flexible = version in self.flexible
        if kind in SIZES:
            return SIZES[kind]
        if kind in LEGACY_LENGTHS:
            return 1 if flexible else LEGACY_LENGTHS[kind]
        size = 1 if flexible else 0
        for field in self.layout.structs[kind]:
            if version not in field.versions or field.tag >= 0:
                continue
            if field.array:
                size += 1 if flexible else 4
            elif field.type in self.layout.structs and version in field.nullable:
                size += 1
            else:
                size += self._floor(field.type, version)
        return size
