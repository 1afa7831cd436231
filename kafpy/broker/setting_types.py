"""Types of settings: text in, checked value out, with the words Kafka uses (ConfigDef), and back to text.

`code` is the type's number in DescribeConfigs (ConfigType).
"""

import re
from dataclasses import dataclass
from typing import ClassVar

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

Value = bool | int | float | str | tuple[str, ...]


class SettingError(ValueError):
    """A name or a value that is refused; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Kafka's INT (or LONG, with `high` above INT_MAX)."""

    low: int = -(2**31)
    high: int = INT_MAX

    @property
    def code(self) -> int:
        return 3 if self.high <= INT_MAX else 5

    def parse(self, name: str, text: str) -> int:
        try:
            value = int(text.strip()) if text.strip().lstrip("+-").isascii() and "_" not in text else None
        except ValueError:
            value = None
        if value is None or not -LONG_MAX - 1 <= value <= LONG_MAX:
            kind = "INT" if self.high <= INT_MAX else "LONG"
            raise SettingError(f"Invalid value {text} for configuration {name}: Not a number of type {kind}")
        if value < self.low:
            raise SettingError(f"Invalid value {text} for configuration {name}: Value must be at least {self.low}")
        if value > self.high:
            raise SettingError(f"Invalid value {text} for configuration {name}: Value must be no more than {self.high}")
        return value


@dataclass(frozen=True, slots=True)
class Fraction:
    low: float = 0.0
    high: float = 1.0
    code: ClassVar[int] = 6

    def parse(self, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise SettingError(f"Invalid value {text} for configuration {name}: Not a number of type DOUBLE") from None
        if not self.low <= value <= self.high:
            raise SettingError(
                f"Invalid value {text} for configuration {name}: Value must be between {self.low} and {self.high}"
            )
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    code: ClassVar[int] = 1
    _words: ClassVar[dict[str, bool]] = {"true": True, "false": False}

    def parse(self, name: str, text: str) -> bool:
        value = self._words.get(text.strip().lower())
        if value is None:
            raise SettingError(
                f"Invalid value {text} for configuration {name}: Expected value to be either true or false"
            )
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    words: tuple[str, ...]
    code: ClassVar[int] = 2

    def parse(self, name: str, text: str) -> str:
        if text.strip() not in self.words:
            raise SettingError(
                f"Invalid value {text} for configuration {name}: String must be one of: {', '.join(self.words)}"
            )
        return text.strip()


@dataclass(frozen=True, slots=True)
class Words:
    """Kafka's LIST; with `words`, each must be one of them."""

    words: tuple[str, ...] = ()
    code: ClassVar[int] = 7

    def parse(self, name: str, text: str) -> tuple[str, ...]:
        values = tuple(word.strip() for word in text.split(",") if word.strip())
        for value in values:
            if self.words and value not in self.words:
                raise SettingError(
                    f"Invalid value {value} for configuration {name}: String must be one of: {', '.join(self.words)}"
                )
        return values


@dataclass(frozen=True, slots=True)
class Text:
    """With `listed`, a list to whoever asks for its type."""

    listed: bool = False

    @property
    def code(self) -> int:
        return 7 if self.listed else 2

    def parse(self, name: str, text: str) -> str:
        return text.strip()


@dataclass(frozen=True, slots=True)
class HostCounts:
    """`HOST:COUNT,HOST:COUNT`, kept as its words."""

    code: ClassVar[int] = 2

    def parse(self, name: str, text: str) -> tuple[str, ...]:
        values = tuple(word.strip() for word in text.split(",") if word.strip())
        for value in values:
            host, _, count = value.rpartition(":")
            if not host or not count.isdecimal() or int(count) > INT_MAX:
                raise SettingError(f"Invalid value {value} for configuration {name}: it is not HOST:COUNT")
        return values


@dataclass(frozen=True, slots=True)
class Address:
    """`PORT` or `HOST:PORT`; without a host, this machine alone may connect."""

    code: ClassVar[int] = 2

    def parse(self, name: str, text: str) -> str:
        host, _, port = text.strip().rpartition(":")
        if not port.isascii() or not port.isdecimal() or int(port) > 65535:
            raise SettingError(f"Invalid value {text} for configuration {name}: it is neither PORT nor HOST:PORT")
        return f"{host or '127.0.0.1'}:{port}"


@dataclass(frozen=True, slots=True)
class ClusterId:
    """16 bytes in base64, as Kafka writes ids."""

    code: ClassVar[int] = 2

    def parse(self, name: str, text: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-]{22}", text.strip()):
            raise SettingError(f"Invalid value {text} for configuration {name}: it is not 22 characters of base64")
        return text.strip()


Kind = Address | ClusterId | HostCounts | Whole | Fraction | Flag | Choice | Words | Text


def to_text(value: Value | None) -> str | None:
    """As Kafka writes a value (ConfigDef.convertToString)."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)
