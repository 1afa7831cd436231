"""Prometheus' text format: families of samples, one line each.

Samples are written as text at once; a broker may have a hundred thousand of them.
"""

from collections.abc import Iterable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = {"\\": "\\\\", "\n": "\\n", '"': '\\"'}


class Page:
    def __init__(self) -> None:
        self._lines: list[str] = []

    def family(self, name: str, kind: str, help_text: str) -> None:
        self._lines += (f"# HELP {name} {help_text}", f"# TYPE {name} {kind}")

    def sample(self, name: str, labels: str, value: float) -> None:
        self._lines.append(f"{name}{{{labels}}} {value}" if labels else f"{name} {value}")

    def one(self, name: str, kind: str, help_text: str, value: float) -> None:
        """A family of a single sample."""
        self.family(name, kind, help_text)
        self.sample(name, "", value)

    def many(self, name: str, kind: str, help_text: str, samples: Iterable[tuple[str, float]]) -> None:
        """Labels and value of each."""
        self.family(name, kind, help_text)
        self._lines += [f"{name}{{{labels}}} {value}" if labels else f"{name} {value}" for labels, value in samples]

    def text(self) -> bytes:
        return "\n".join([*self._lines, ""]).encode()


def labels(values: Mapping[str, object]) -> str:
    return ",".join(f'{name}="{escaped(str(value))}"' for name, value in values.items())


def escaped(text: str) -> str:
    return "".join(_ESCAPES.get(each, each) for each in text)
