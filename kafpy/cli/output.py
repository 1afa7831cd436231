"""Data as JSON or YAML, for programs; text is each command's own."""

import json
from collections.abc import Iterator
from typing import Any

import click


def emit(data: Any, format_: str) -> None:
    if format_ == "json":
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_yaml(data)))


def _yaml(data: Any, indent: str = "") -> Iterator[str]:
    """Block style; scalars as JSON writes them, which YAML 1.2 reads."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _entry(f"{indent}{_scalar(key)}:", value, f"{indent}  ")
    elif isinstance(data, list) and data:
        for value in data:
            if isinstance(value, dict | list) and value:
                first, *rest = _yaml(value, f"{indent}  ")
                yield f"{indent}- {first[len(indent) + 2 :]}"
                yield from rest
            else:
                yield f"{indent}- {_scalar(value)}"
    else:
        yield f"{indent}{_scalar(data)}"


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield head
        yield from _yaml(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    plain = isinstance(value, str) and value.replace("_", "").replace(".", "").replace("-", "").isalpha()
    if plain and value.isascii() and value.lower() not in _NOT_STRINGS and value[0].isalpha():
        return str(value)
    return json.dumps(value, ensure_ascii=False)


_NOT_STRINGS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
