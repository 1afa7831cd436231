"""Why a client cannot connect: every step that it takes, one by one, each with what it found and what to do about it.

Names, TCP, TLS, ApiVersions, SASL, then Metadata: a client goes on only to the addresses that brokers advertise, so
each of these is resolved and connected to as well, and what is wrong with it is said in words.
"""

import ipaddress
import socket
import time
from collections.abc import Generator, Iterator
from typing import NamedTuple

from kafpy.client.connection import ClientError, Connection, connect_to, error_name
from kafpy.client.security import SecurityError, Tls
from kafpy.client.settings import ClientSettings
from kafpy.protocol import api, codec

OK, NOTE, BAD = "ok", "note", "FAILED"
TLS_ALERT = 0x15
CLOCK_DIFFERENCE_MS = 1000
MAX_TIMESTAMP, MAX_TIMESTAMP_SINCE = -3, 7
"""Of ListOffsets: the newest record, and the version that knows it (KIP-734)."""
LOOKED_AT = 200
"""Topics, where clocks are compared."""
PROBE_S = 5.0


class Finding(NamedTuple):
    grade: str
    step: str
    text: str


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def examine(address: Address, settings: ClientSettings) -> Iterator[Finding]:
    """Stops at the first step without which there is no next one."""
    if not (yield from _resolve(address)) or not (yield from _reach(address, settings)):
        return
    try:
        connection = connect_to(*address, settings)
    except ClientError as error:
        yield Finding(BAD, "Kafka", str(error))
        return
    with connection:
        try:
            if (yield from _versions(connection)):
                yield from _advertised(address, connection, settings)
                yield from _topics(connection)
                yield from _clock(connection)
        except ClientError as error:
            yield Finding(BAD, "Kafka", str(error))


def _resolve(address: Address) -> Generator[Finding, None, bool]:
    try:
        found = {str(each[4][0]) for each in socket.getaddrinfo(*address, type=socket.SOCK_STREAM)}
    except OSError as error:
        reason = getattr(error, "strerror", None) or error
        yield Finding(BAD, "DNS", f"{address.host} is no host that this machine knows: {reason}")
        return False
    if found != {address.host}:
        yield Finding(OK, "DNS", f"{address.host} is {', '.join(sorted(found))}")
    return True


def _reach(address: Address, settings: ClientSettings) -> Generator[Finding, None, bool]:
    """Whether there is somebody, and whether both sides speak TLS or neither does."""
    try:
        with socket.create_connection(address, settings.timeout_s):
            pass
    except OSError as error:
        yield Finding(BAD, "TCP", f"cannot connect to {address}: {_reason(error)}")
        return False
    yield Finding(OK, "TCP", f"connected to {address}")
    speaks_tls = _speaks_tls(address, min(settings.timeout_s, PROBE_S))
    told = settings.security.tls is not None
    if speaks_tls and not told:
        text = "the listener wants TLS and the client speaks plain text; set security.protocol=SSL or SASL_SSL"
        yield Finding(BAD, "TLS", text)
        return False
    if told and not speaks_tls:
        text = (
            "the client wants TLS and the listener speaks plain text; use its TLS port, or security.protocol=PLAINTEXT"
        )
        yield Finding(BAD, "TLS", text)
        return False
    if told:
        yield Finding(OK, "TLS", "both sides speak it")
    return True


def _reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused; nothing listens there, or a firewall says so"
    if isinstance(error, TimeoutError):
        return "no answer; a firewall, a wrong address, or the host is down"
    return (error.strerror or str(error)).lower()


def _speaks_tls(address: Address, timeout_s: float) -> bool:
    """It answers an ApiVersions with a TLS alert, or a TLS greeting with one of its own."""
    with socket.create_connection(address, timeout_s) as plain:
        frame = codec.write_request(api.API_VERSIONS.key, 0, 1, "kafpy", api.API_VERSIONS.request())
        try:
            plain.sendall(len(frame).to_bytes(4, "big") + frame)
            first = plain.recv(1)
        except OSError:
            first = b""
    return first[:1] == bytes([TLS_ALERT]) if first else _greets(address, timeout_s)


def _greets(address: Address, timeout_s: float) -> bool:
    try:
        with socket.create_connection(address, timeout_s) as plain:
            unchecked = Tls(check_host=False)
            unchecked.wrap(plain, address.host).close()
    except SecurityError:
        return False
    except OSError as error:
        return "CERTIFICATE" in str(error).upper()
    return True


def _versions(connection: Connection) -> Generator[Finding, None, bool]:
    spoken = connection.api_versions
    missing = [each.name for each in (api.PRODUCE, api.FETCH, api.METADATA, api.LIST_OFFSETS) if each.key not in spoken]
    if missing:
        yield Finding(BAD, "ApiVersions", f"this is no broker for clients: it does not serve {', '.join(missing)}")
        return False
    newest = ", ".join(
        f"{each.name} {spoken[each.key][0]}-{spoken[each.key][-1]}" for each in (api.PRODUCE, api.FETCH, api.METADATA)
    )
    yield Finding(OK, "ApiVersions", f"{len(spoken)} APIs; {newest}")
    return True


def _advertised(bootstrap: Address, connection: Connection, settings: ClientSettings) -> Iterator[Finding]:
    answer = connection.call(api.METADATA, api.METADATA.request(topics=[], allow_auto_topic_creation=False))
    ids = ", ".join(str(each.node_id) for each in answer.brokers)
    yield Finding(
        OK, "Metadata", f"cluster {answer.cluster_id}, controller {answer.controller_id}, brokers {ids or 'none'}"
    )
    if not answer.brokers:
        yield Finding(BAD, "Metadata", "no broker is named: a client has nowhere to go")
    for each in answer.brokers:
        yield from _broker(bootstrap, each.node_id, Address(each.host, each.port), settings)


def _broker(bootstrap: Address, node_id: int, address: Address, settings: ClientSettings) -> Iterator[Finding]:
    step = f"broker {node_id}"
    problem = _problem(address, settings)
    if problem is None:
        try:
            with connect_to(*address, settings) as connection:
                answer = connection.call(api.METADATA, api.METADATA.request(topics=[], allow_auto_topic_creation=False))
        except ClientError as error:
            yield Finding(BAD, step, f"advertised as {address}, but {error}; {WRONG_LISTENER}")
            return
        if any(each.node_id == node_id and (each.host, each.port) == address for each in answer.brokers):
            yield Finding(OK, step, f"advertised as {address}; connected")
        else:
            yield Finding(NOTE, step, f"advertised as {address}; another broker answers there")
        return
    yield Finding(BAD, step, f"advertised as {address}: {problem}")
    yield Finding(NOTE, step, _hint(bootstrap, address))


WRONG_LISTENER = "the address may be that of another listener, with other security"


def _problem(address: Address, settings: ClientSettings) -> str | None:
    try:
        socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except OSError:
        return f"{address.host} is no host that this machine knows"
    try:
        with socket.create_connection(address, settings.timeout_s):
            return None
    except OSError as error:
        return f"cannot connect: {_reason(error)}"


def _hint(bootstrap: Address, address: Address) -> str:
    """What was probably meant."""
    cure = f"set advertised.listeners to an address that clients reach, such as {bootstrap}"
    if _is_loopback(address.host) and not _is_loopback(bootstrap.host):
        return f"the broker tells clients on other machines to connect to themselves; {cure}"
    if _is_unspecified(address.host):
        return f"{address.host} means every interface and is no address to connect to; {cure}"
    if _is_name(address.host) and "." not in address.host:
        return f"{address.host} looks like the name of a container or a pod, known only inside of its network; {cure}"
    if address.host == bootstrap.host and address.port != bootstrap.port:
        return f"the host is right and the port is not, as when a container's port is published as another; {cure}"
    return f"the broker tells clients an address that cannot be reached from here; {cure}"


def _is_name(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (not _is_name(host) and ipaddress.ip_address(host).is_loopback)


def _is_unspecified(host: str) -> bool:
    return not _is_name(host) and ipaddress.ip_address(host).is_unspecified


def _topics(connection: Connection) -> Iterator[Finding]:
    answer = connection.call(api.METADATA, api.METADATA.request(topics=None, allow_auto_topic_creation=False))
    alive = {each.node_id for each in answer.brokers}
    broken = [f"{each.name} ({error_name(each.error_code)})" for each in answer.topics if each.error_code]
    headless = [
        f"{topic.name}-{part.partition_index}"
        for topic in answer.topics
        for part in topic.partitions
        if part.leader_id not in alive
    ]
    for what, names in (("topics in trouble", broken), ("partitions without a leader", headless)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            yield Finding(BAD, "topics", f"{what}: {', '.join(names[:5])}{more}")
    if not broken and not headless:
        count = sum(len(each.partitions) for each in answer.topics)
        yield Finding(OK, "topics", f"{len(answer.topics)} with {count} partitions, each with a leader")


def _clock(connection: Connection) -> Iterator[Finding]:
    """Kafka tells no client what time it has; records that lie in the future tell that clocks differ."""
    if connection.version(api.LIST_OFFSETS) < MAX_TIMESTAMP_SINCE:
        return
    answer = connection.call(api.METADATA, api.METADATA.request(topics=None, allow_auto_topic_creation=False))
    request = api.LIST_OFFSETS.request
    topics = []
    for each in answer.topics[:LOOKED_AT]:
        parts = [
            request.Partition(partition_index=part.partition_index, timestamp=MAX_TIMESTAMP) for part in each.partitions
        ]
        topics.append(request.Topic(name=each.name, partitions=parts))
    began = time.time_ns() // 1_000_000
    found = connection.call(api.LIST_OFFSETS, request(replica_id=-1, topics=topics)).topics
    now_ms = time.time_ns() // 1_000_000
    ahead = max(
        (
            (part.timestamp - now_ms, f"{each.name}-{part.partition_index}")
            for each in found
            for part in each.partitions
        ),
        default=(0, ""),
    )
    if ahead[0] > CLOCK_DIFFERENCE_MS:
        text = (
            f"the newest record of {ahead[1]} is {ahead[0] / 1000:.1f} s in the future: a clock is wrong, here or there"
        )
        yield Finding(NOTE, "clock", text)
    else:
        yield Finding(OK, "clock", f"no record lies in the future; the broker answered within {now_ms - began} ms")
