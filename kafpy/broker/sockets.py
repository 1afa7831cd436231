"""Listening sockets for the listeners of a broker: bound early, listening only when the broker can answer."""

import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from kafpy.broker.listeners import Listener


class BindError(Exception):
    """One line that says what to do."""


@dataclass(frozen=True, slots=True)
class Bound:
    listener: Listener
    sockets: tuple[socket.socket, ...]

    @property
    def port(self) -> int:
        return int(self.sockets[0].getsockname()[1])

    @property
    def name(self) -> str:
        """As one writes it in a client: HOST:PORT."""
        host = self.listener.host or "0.0.0.0"
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    def tune(self, send_buffer: int, receive_buffer: int) -> None:
        """What accepted sockets inherit. -1: the kernel sizes the buffers, better than any fixed number."""
        congestion = _congestion_control()
        for each in self.sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if send_buffer >= 0:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
            if receive_buffer >= 0:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            if congestion is not None:
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)

    def listen(self, backlog: int) -> None:
        for each in self.sockets:
            try:
                each.listen(backlog)
            except OSError as error:
                raise _explained(error, self.listener.host, self.port) from None

    def close(self) -> None:
        for each in self.sockets:
            each.close()


def bind(listener: Listener, option: str = "--port N") -> Bound:
    """Every address of the host; with port 0, a free port that is then the same for all of them. `option`: how a user
    chooses another port."""
    sockets: list[socket.socket] = []
    port = listener.port
    refusal: BindError | None = None
    for family, address in _addresses(listener):
        try:
            sockets.append(_bound(family, address, port, listener.host))
            port = int(sockets[0].getsockname()[1])
        except OSError as error:
            refusal = _explained(error, address, port, option)
            # a host may have an address of a family that is switched off here: the others will do
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                break
    else:
        if sockets:
            return Bound(listener, tuple(sockets))
    for each in sockets:
        each.close()
    raise refusal or BindError(f"listeners: {listener.host!r} has no address here")


def _congestion_control() -> bytes | None:
    """bbr paces what it sends, which makes a large fetch several times dearer for the broker; reno does not."""
    settings = Path("/proc/sys/net/ipv4")
    try:
        default = (settings / "tcp_congestion_control").read_text()
        allowed = (settings / "tcp_allowed_congestion_control").read_text().split()
    except OSError:
        return None
    return b"reno" if default.startswith("bbr") and "reno" in allowed else None


def _addresses(listener: Listener) -> list[tuple[socket.AddressFamily, str]]:
    if not listener.host:
        # one socket for both families where the kernel has IPv6
        return [(socket.AF_INET6, "::") if socket.has_dualstack_ipv6() else (socket.AF_INET, "0.0.0.0")]
    try:
        found = socket.getaddrinfo(listener.host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise BindError(f"listeners: the host {listener.host!r} has no address here; check its spelling") from None
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _bound(family: socket.AddressFamily, address: str, port: int, host: str) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(address != "::" or host != ""))
        made.setblocking(False)
        made.bind((address, port))
        if port == 0:
            # A port that was asked for by its number stays the socket's own when it stops listening for a while.
            with made:
                return _bound(family, address, int(made.getsockname()[1]), host)
    except OSError:
        made.close()
        raise
    return made


def _explained(error: OSError, address: str, port: int, option: str = "--port N") -> BindError:
    if error.errno == errno.EADDRINUSE:
        return BindError(
            f"port {port} is in use: stop what listens there, or choose another with {option} (0: any free one)"
        )
    if error.errno == errno.EACCES:
        return BindError(f"port {port} needs privileges: choose one above 1023 with {option}")
    if error.errno == errno.EADDRNOTAVAIL:
        return BindError(
            f"listeners: {address} is no address of this machine; use one that is, or leave the host empty"
        )
    return BindError(f"cannot listen on {address}:{port}: {os.strerror(error.errno or 0)}")
