"""The text of `listeners` and `advertised.listeners`: NAME://HOST:PORT,… (an empty host means every address).

Listeners of KRaft controllers do not exist here: those named in controller.listener.names are left out.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from kafpy.broker.setting_types import SettingError

_FORM = re.compile(r"(?P<name>[A-Za-z0-9_]+)://(?:\[(?P<six>[^\]]+)\]|(?P<host>[^:\[\]]*)):(?P<port>-?\d+)\Z")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class Listener(NamedTuple):
    name: str
    host: str
    port: int


def parse_listeners(key: str, text: str, protocol_map: str | None, controllers: Collection[str]) -> list[Listener]:
    protocols = _protocols(protocol_map)
    found: list[Listener] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = _FORM.match(part)
        if match is None or not 0 <= int(match["port"]) <= 65535:
            raise SettingError(f"{key}: {part!r} is not NAME://HOST:PORT")
        name = match["name"].upper()
        if name in controllers:
            continue
        protocol = protocols.get(name, name)
        if protocol not in _PROTOCOLS:
            raise SettingError(f"{key}: listener {name} has no security protocol; see listener.security.protocol.map")
        if protocol in _PROTOCOLS[1:]:
            raise SettingError(f"{key}: {name} asks for {protocol}; this broker serves PLAINTEXT only")
        if any(other.name == name for other in found):
            raise SettingError(f"{key}: each listener must have a different name, {name} stands twice")
        found.append(Listener(name, match["six"] or match["host"] or "", int(match["port"])))
    return found


def _protocols(text: str | None) -> dict[str, str]:
    pairs = [pair.strip() for pair in (text or "").split(",") if pair.strip()]
    for pair in pairs:
        if pair.count(":") != 1:
            raise SettingError(f"listener.security.protocol.map: {pair!r} is not NAME:PROTOCOL")
    return {name.strip().upper(): protocol.strip().upper() for name, protocol in (pair.split(":") for pair in pairs)}
