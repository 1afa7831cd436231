"""Profiles: clusters by name, in $XDG_CONFIG_HOME/kafpy/profiles.toml.

    current = "dev"

    [profiles.dev]
    "bootstrap.servers" = "localhost:9092"

A profile holds properties of Kafka's clients. The file is its owner's alone: there may be passwords in it.
"""

import os
from pathlib import Path
from typing import NamedTuple

from kafpy.client.security import SettingsError

Properties = dict[str, str]


class Profiles(NamedTuple):
    current: str | None
    named: dict[str, Properties]


def path() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "kafpy" / "profiles.toml"


def chosen(name: str | None) -> Properties:
    """The named one, or else the current one, or else nothing."""
    if name is None and not path().exists():
        return {}
    found = read()
    wanted = found.current if name is None else name
    if wanted is None:
        return {}
    if wanted not in found.named:
        raise SettingsError(unknown(wanted, found))
    return dict(found.named[wanted])


def unknown(name: str, found: Profiles) -> str:
    there = ", ".join(found.named) or "none yet; make one with `kafpy profile create`"
    return f"there is no profile {name!r}; there are: {there}"


def read() -> Profiles:
    try:
        text = path().read_text("utf-8")
    except FileNotFoundError:
        return Profiles(None, {})
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path()}: {error}") from None
    return parse(text)


def parse(text: str) -> Profiles:
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path()}: {error}") from None
    tables = found.get("profiles", {})
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise SettingsError(f"{path()}: expected tables [profiles.NAME]")
    named = {name: dict(_flat(table)) for name, table in tables.items()}
    current = found.get("current")
    return Profiles(current if isinstance(current, str) else None, named)


def _flat(table: dict[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Dots in unquoted TOML keys make tables; they are put together again."""
    pairs: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            pairs.append((f"{prefix}{key}", text))
    return pairs


def write(profiles: Profiles) -> None:
    lines = [] if profiles.current is None else [f"current = {_quoted(profiles.current)}"]
    for name, properties in profiles.named.items():
        lines += ["", f"[profiles.{_quoted(name)}]"]
        lines += [f"{_quoted(key)} = {_quoted(value)}" for key, value in properties.items()]
    replace("\n".join(lines).lstrip() + "\n")


def replace(text: str) -> None:
    """Whole or not at all."""
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(target)


def _quoted(text: str) -> str:
    """A JSON string is a TOML string, but for DEL."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
