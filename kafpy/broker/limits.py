"""What one client may take of the broker, told to the planes: client quotas, and bounds on connections.

Every client is the user ANONYMOUS as long as nobody logs in. Kafka's precedence is resolved here, so that a plane only
looks up a client id.
"""

import ipaddress
import socket
from collections.abc import Iterable, Mapping

from kafpy._core.plane import Planes
from kafpy.broker.setting_types import INT_MAX
from kafpy.broker.settings import Settings
from kafpy.metadata import Image
from kafpy.metadata.client_quota import IP, Quotas, applied, named_clients

ANONYMOUS = "ANONYMOUS"
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"
REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE = "request_percentage", "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"
NATIVE = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)

Rule = tuple[str | None, tuple[float, bool], tuple[float, bool], tuple[float, bool]]


def apply(planes: Planes, settings: Settings, image: Image) -> None:
    """From now on; blocks for a moment, until no plane looks at the rules before."""
    planes.limit_clients(client_rules(image.client_quotas))
    rates = {names[0][1]: values for names, values in image.client_quotas.items() if names[0][0] == IP}
    planes.limit_connections(
        most=settings.max_connections,
        per_address=settings.max_connections_per_ip,
        rate=0 if settings.max_connection_creation_rate == INT_MAX else settings.max_connection_creation_rate,
        address_rate=rates.get(None, {}).get(CONNECTION_CREATION_RATE, 0.0),
        addresses=address_rules(settings.max_connections_per_ip_overrides, rates),
    )


def client_rules(quotas: Quotas) -> list[Rule]:
    """A rule per client id that is named, and one for all others; none where nothing is bounded."""
    rules = []
    for client_id in (None, *sorted(named_clients(quotas))):
        found = [applied(quotas, ANONYMOUS, "" if client_id is None else client_id, key) for key in NATIVE]
        produce, fetch, request = ((0.0, False) if each is None else (each.value, each.shared) for each in found)
        rules.append((client_id, produce, fetch, request))
    return rules if any(bound for _, *bounds in rules for bound, _ in bounds) else []


def address_rules(
    counts: Iterable[str], rates: Mapping[str | None, Mapping[str, float]]
) -> list[tuple[bytes, int, float]]:
    """`counts`: max.connections.per.ip.overrides, `HOST:COUNT`; an IPv6 address stands in brackets."""
    found: dict[bytes, tuple[int, float]] = {}
    for word in counts:
        host, _, count = word.rpartition(":")
        for packed in resolved(host.strip("[]")):
            found[packed] = int(count), 0.0
    for name, values in rates.items():
        for packed in resolved(name) if name is not None else []:
            found[packed] = found.get(packed, (-1, 0.0))[0], values.get(CONNECTION_CREATION_RATE, 0.0)
    return [(packed, count, rate) for packed, (count, rate) in found.items()]


def resolved(host: str) -> list[bytes]:
    """Packed addresses of a name, or of an address itself; none that can be found: an empty list."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return []
        return list({ipaddress.ip_address(info[4][0]).packed for info in infos})
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return [(mapped or address).packed]
