"""What a client is told before it connects: brokers, its name, patience, security. The keys are the Java client's."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafpy.client import security
from kafpy.client.security import Security, SettingsError

DEFAULT_BOOTSTRAP = "localhost:9092"
DEFAULT_TIMEOUT_S = 30.0


class ClientSettings(NamedTuple):
    bootstrap: str = DEFAULT_BOOTSTRAP
    client_id: str = "kafpy"
    timeout_s: float = DEFAULT_TIMEOUT_S
    security: Security = security.NONE
    properties: Mapping[str, str] = MappingProxyType({})
    """All that was given, for producers and consumers to look at."""

    def with_properties(self, more: Mapping[str, str]) -> "ClientSettings":
        """More of them, over what there is; SettingsError for what cannot be."""
        found = from_properties({**self.properties, **more})
        return found if "bootstrap.servers" in more else found._replace(bootstrap=self.bootstrap)

    def __str__(self) -> str:
        return self.bootstrap


def from_properties(properties: Mapping[str, str]) -> ClientSettings:
    """Keys that mean nothing to this client are passed over, as the Java client does."""
    timeout = properties.get("request.timeout.ms", str(round(DEFAULT_TIMEOUT_S * 1000)))
    if not timeout.isascii() or not timeout.isdigit() or int(timeout) == 0:
        raise SettingsError(f"request.timeout.ms={timeout}: a number of milliseconds")
    return ClientSettings(
        bootstrap=properties.get("bootstrap.servers", DEFAULT_BOOTSTRAP),
        client_id=properties.get("client.id", "kafpy"),
        timeout_s=int(timeout) / 1000,
        security=security.from_properties(properties),
        properties=MappingProxyType(dict(properties)),
    )
