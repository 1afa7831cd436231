"""A small blocking client: one connection, versions negotiated by ApiVersions, TLS and SASL.

`call` asks and waits. `send` and `receive` take a request and an answer apart, so that several may be under way;
answers come in the order of the requests.
"""

import select
import socket
from collections import deque
from collections.abc import Collection
from types import TracebackType
from typing import Any

from kafpy.client.security import NONE, Sasl, Security, SecurityError
from kafpy.client.settings import ClientSettings
from kafpy.protocol import MalformedRequest, Struct, api, codec
from kafpy.protocol.errors import ErrorCode

MAX_RESPONSE_BYTES = 1 << 30


class ClientError(Exception):
    """One line that says what to do."""


class Connection:
    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_s: float = 30.0,
        client_id: str = "kafpy",
        security: Security = NONE,
    ) -> None:
        self.address = f"{host}:{port}"
        self.node_id = -1
        """Of the broker, where that is known."""
        self._client_id = client_id
        self._correlation_id = 0
        self._waiting: deque[tuple[int, api.Api, int]] = deque()
        self._socket = self._opened(host, port, timeout_s, security)
        try:
            self._versions = self._negotiated()
            if security.sasl is not None:
                self._authenticate(security.sasl)
        except BaseException:
            self.close()
            raise

    def _opened(self, host: str, port: int, timeout_s: float, security: Security) -> socket.socket:
        try:
            plain = socket.create_connection((host, port), timeout_s)
        except OSError as error:
            raise ClientError(self._unreachable(error)) from None
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if security.tls is None:
            return plain
        try:
            return security.tls.wrap(plain, host)
        except SecurityError as error:
            plain.close()
            raise ClientError(str(error)) from None
        except OSError as error:
            plain.close()
            reason = getattr(error, "verify_message", "") or getattr(error, "reason", "") or error
            raise ClientError(f"no TLS with {self.address}: {reason}; check security.protocol and ssl.*") from None

    def _authenticate(self, sasl: Sasl) -> None:
        asked = api.SASL_HANDSHAKE.request(mechanism=sasl.mechanism)
        answer = self.call(api.SASL_HANDSHAKE, asked, version=1)
        if answer.error_code:
            offered = ", ".join(answer.mechanisms) or error_name(answer.error_code)
            raise ClientError(f"{self.address} does not take {sasl.mechanism}; sasl.mechanism can be: {offered}")

        def exchange(token: bytes) -> bytes:
            asked = api.SASL_AUTHENTICATE.request(auth_bytes=token)
            answer = self.call(api.SASL_AUTHENTICATE, asked)
            if answer.error_code:
                reason = answer.error_message or error_name(answer.error_code)
                raise ClientError(f"{self.address} refuses {sasl.username}: {reason}")
            return bytes(answer.auth_bytes)

        try:
            sasl.converse(exchange)
        except SecurityError as error:
            raise ClientError(f"{self.address}: {error}") from None

    def _unreachable(self, error: OSError) -> str:
        if isinstance(error, socket.gaierror):
            return f"cannot reach {self.address}: no such host; check --bootstrap-server"
        if isinstance(error, TimeoutError):
            return f"cannot reach {self.address}: no answer; check the address and the network"
        reason = (error.strerror or str(error)).lower()
        hint = (
            "; is a broker running? start one with `kafpy serve`" if isinstance(error, ConnectionRefusedError) else ""
        )
        return f"cannot reach {self.address}: {reason}{hint}"

    def _negotiated(self) -> dict[int, range]:
        answer = self.call(api.API_VERSIONS, api.API_VERSIONS.request(), version=0)
        return {each.api_key: range(each.min_version, each.max_version + 1) for each in answer.api_keys}

    @property
    def api_versions(self) -> dict[int, range]:
        """What the broker says that it speaks, by API key."""
        return dict(self._versions)

    def serves(self, asked: api.Api) -> bool:
        return asked.key in self._versions

    def version(self, asked: api.Api) -> int:
        """The highest that both sides speak."""
        theirs = self._versions.get(asked.key, range(0))
        common = range(max(asked.min_version, theirs.start), min(asked.max_version + 1, theirs.stop))
        if not common:
            raise ClientError(f"the broker at {self.address} does not serve {asked.name} in a version known here")
        return common[-1]

    def call(self, asked: api.Api, request: Struct, *, version: int | None = None) -> Any:
        self.send(asked, request, version=version)
        return self.receive()

    @property
    def under_way(self) -> int:
        """Requests without an answer yet."""
        return len(self._waiting)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_read_ahead(self) -> bool:
        """Whether TLS holds bytes that the socket does not show as readable any more."""
        pending = getattr(self._socket, "pending", None)
        return pending is not None and pending() > 0

    def send(self, asked: api.Api, request: Struct, *, version: int | None = None, answered: bool = True) -> None:
        """answered=False: for what a broker does not answer, Produce with acks=0."""
        version = self.version(asked) if version is None else version
        self._correlation_id += 1
        frame = codec.write_request(asked.key, version, self._correlation_id, self._client_id, request)
        try:
            self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        except TimeoutError:
            raise ClientError(f"{self.address} did not take {asked.name} in time") from None
        except OSError as error:
            raise self._broken(asked, error) from None
        if answered:
            self._waiting.append((self._correlation_id, asked, version))

    def receive(self, into: bytearray | None = None) -> Any:
        """The answer to the oldest request that has none yet.

        `into`: bytes that may be overwritten; where they are enough, an answer's records are views of them.
        """
        expected, asked, version = self._waiting.popleft()
        try:
            size = int.from_bytes(self._receive(4), "big")
            if size > MAX_RESPONSE_BYTES:
                raise ClientError(f"{self.address} does not answer as a Kafka broker does")
            if into is not None and size <= len(into):
                self._fill(memoryview(into)[:size])
                correlation_id, answer = codec.read_response(asked.key, version, into, size)
            else:
                correlation_id, answer = codec.read_response(asked.key, version, self._receive(size))
        except TimeoutError:
            raise ClientError(f"{self.address} did not answer {asked.name} in time") from None
        except (OSError, MalformedRequest) as error:
            raise self._broken(asked, error) from None
        if correlation_id != expected:
            raise ClientError(f"{self.address} answered another request than {asked.name}")
        return answer

    def _broken(self, asked: api.Api, error: Exception) -> ClientError:
        return ClientError(f"the connection to {self.address} broke during {asked.name}: {error}")

    def _receive(self, size: int) -> bytes:
        data = bytearray(size)
        self._fill(memoryview(data))
        return bytes(data)

    def _fill(self, view: memoryview) -> None:
        while view:
            got = self._socket.recv_into(view)
            if got == 0:
                raise ConnectionResetError("closed by the broker")
            view = view[got:]

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def connect(where: str | ClientSettings, *, timeout_s: float | None = None) -> Connection:
    """To the first of `host:port,host:port` that answers."""
    settings = ClientSettings(where) if isinstance(where, str) else where
    failure: ClientError | None = None
    for part in filter(None, (each.strip() for each in settings.bootstrap.split(","))):
        try:
            return connect_to(*split_address(part), settings, timeout_s=timeout_s)
        except ClientError as error:
            failure = failure or error
    raise failure or ClientError("no bootstrap server given: use --bootstrap-server HOST:PORT")


def connect_to(host: str, port: int, settings: ClientSettings, *, timeout_s: float | None = None) -> Connection:
    """To one broker, as the settings say."""
    patience = settings.timeout_s if timeout_s is None else timeout_s
    return Connection(host, port, timeout_s=patience, client_id=settings.client_id, security=settings.security)


def split_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = text, "9092"
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ClientError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def readable(connections: Collection[Connection], timeout_s: float) -> list[Connection]:
    """Those with an answer, or with their end; none when the time is over."""
    ahead = [each for each in connections if each.has_read_ahead]
    found, _, _ = select.select(connections, [], [], 0 if ahead else timeout_s)
    return [*ahead, *(each for each in found if each not in ahead)]
