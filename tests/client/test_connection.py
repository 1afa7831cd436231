import socket
import threading
from collections.abc import Iterator

import pytest

from kafpy.client.connection import ClientError, Connection, connect


class Peer:
    """Takes one connection, sends what it was told, and closes."""

    def __init__(self, answer: bytes) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._answer = answer
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        with client:
            client.recv(65536)
            client.sendall(self._answer)

    def close(self) -> None:
        self._thread.join()
        self._listener.close()


@pytest.fixture
def refused() -> Iterator[int]:
    """A port where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "broke during ApiVersions: closed by the broker"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not answer as a Kafka broker does"),
        (b"\0\0\0\6\0\0\0\1\0\0", "broke during ApiVersions"),
        (b"\0\0\0\x0a\0\0\0\2\0\0\0\0\0\0", "answered another request than ApiVersions"),
    ],
)
def test_peers_that_are_no_brokers(answer: bytes, said: str) -> None:
    peer = Peer(answer)
    with pytest.raises(ClientError, match=said):
        Connection("127.0.0.1", peer.port, timeout_s=5)
    peer.close()


def test_a_broker_that_serves_nothing_known() -> None:
    from kafpy.protocol import api

    peer = Peer(b"\0\0\0\x0a\0\0\0\1\0\0\0\0\0\0")
    with connect(f"127.0.0.1:{peer.port}") as client, pytest.raises(ClientError, match="does not serve Metadata"):
        client.call(api.METADATA, api.METADATA.request())
    peer.close()


def test_the_next_bootstrap_server_is_tried(refused: int) -> None:
    peer = Peer(b"\0\0\0\x0a\0\0\0\1\0\0\0\0\0\0")
    connect(f"127.0.0.1:{refused}, 127.0.0.1:{peer.port}").close()
    peer.close()


def test_what_cannot_be_reached(refused: int) -> None:
    with pytest.raises(ClientError, match="connection refused; is a broker running"):
        connect(f"127.0.0.1:{refused}")
    with pytest.raises(ClientError, match="no such host"):
        connect("no-such-host.invalid:9092")
    for text in ("host:port", "host:99999", ""):
        with pytest.raises(ClientError):
            connect(text)
