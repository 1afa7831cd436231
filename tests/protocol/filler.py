"""Random values for every message: each field's ordinary and extreme values, nulls where the version allows them."""

import random
from typing import Any

from kafpy.protocol.program import Message
from kafpy.protocol.schema import Field

SIZES = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}
OUR_TAGS = 10_000
"""Tagged fields from here on are kafpy's own."""
ERROR_CODES = (-1, 0, 3, 6, 35, 133)


class Filler:
    def __init__(self, seed: int, *, ours: bool = True) -> None:
        self.random = random.Random(seed)
        self._ours = ours

    def message(self, message: Message, version: int) -> Any:
        return self.struct(message, message.layout.root, version)

    def struct(self, message: Message, name: str, version: int) -> Any:
        fields = {}
        for field in message.layout.structs[name]:
            there = version in field.versions and (field.tag < 0 or version in message.flexible)
            if field.tag >= OUR_TAGS and not self._ours:
                continue
            if there and not (field.tag >= 0 and self.random.random() < 0.3):
                fields[field.name] = self.field(message, field, version)
        return message.classes[name](**fields)

    def field(self, message: Message, field: Field, version: int) -> Any:
        if version in field.nullable and self.random.random() < 0.25:
            return None
        if field.array:
            return [self.one(message, field, version) for _ in range(self.random.choice((0, 1, 2, 5)))]
        return self.one(message, field, version)

    def one(self, message: Message, field: Field, version: int) -> Any:
        kind, pick = field.type, self.random
        if kind in message.layout.structs:
            return self.struct(message, kind, version)
        if field.name.endswith("error_code"):
            return pick.choice(ERROR_CODES)
        if kind in SIZES:
            bits = SIZES[kind]
            low, high = (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            if field.name.endswith("_ms"):
                low, high = -1, 2**31 - 1  # kio has no other negative times
            return pick.choice((low, high, 0, 1, 2, pick.randint(low, high)))
        return {
            "bool": lambda: pick.random() < 0.5,
            "float64": lambda: pick.uniform(-1e9, 1e9),
            "uuid": lambda: pick.choice((bytes(16), pick.randbytes(16))),
            "string": lambda: "".join(pick.choices("abcXYZ09.-_ éß漢🎈\0", k=pick.choice((0, 1, 7, 130)))),
            "bytes": lambda: pick.randbytes(pick.choice((0, 1, 7, 200))),
            "records": lambda: pick.randbytes(pick.choice((0, 61, 127, 128, 20000))),
        }[kind]()
