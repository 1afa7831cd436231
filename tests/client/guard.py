"""A server that asks for TLS or a password like a Kafka broker, and answers Metadata with its own address.

The SASL side is written here from RFC 4616 and RFC 5802, apart from the client's.
"""

import base64
import hashlib
import hmac
import os
import socket
import ssl
import threading

from kafpy.protocol import api, codec

ITERATIONS = 4096
USERS = {"alice": "a,b=c \u00e9", "bob": "secret"}
FAILED = 58


class Guard:
    """A thread for each connection."""

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, mechanism: str | None = None, forged: bool = False
    ) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.address = f"localhost:{self.port}"
        self._tls, self._mechanism, self._forged = tls, mechanism, forged
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._threads:
            each.join()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._greet, args=[plain]))
            self._threads[-1].start()

    def _greet(self, plain: socket.socket) -> None:
        try:
            client = plain if self._tls is None else self._tls.wrap_socket(plain, server_side=True)
            with client:
                self._answer(client)
        except OSError:
            plain.close()

    def _answer(self, client: socket.socket) -> None:
        trusted, sasl = self._mechanism is None, None
        while frame := _frame(client):
            header, body = codec.read_request(frame)
            if header.api_key == api.API_VERSIONS.key:
                answer = api.API_VERSIONS.response(api_keys=[_range(each) for each in SPOKEN])
            elif header.api_key == api.SASL_HANDSHAKE.key:
                known = body.mechanism == self._mechanism
                answer = api.SASL_HANDSHAKE.response(error_code=0 if known else 33, mechanisms=[str(self._mechanism)])
                sasl = Conversation(body.mechanism, self._forged)
            elif header.api_key == api.SASL_AUTHENTICATE.key:
                assert sasl is not None
                token = sasl.answer(body.auth_bytes)
                trusted = sasl.done
                code, message = (0, None) if token is not None else (FAILED, "Authentication failed")
                answer = api.SASL_AUTHENTICATE.response(error_code=code, error_message=message, auth_bytes=token or b"")
            else:
                if not trusted:
                    return
                broker = api.METADATA.response.Broker(node_id=1, host="localhost", port=self.port)
                answer = api.METADATA.response(brokers=[broker], cluster_id="guarded", controller_id=1)
            payload = codec.write_response(header.api_key, header.api_version, header.correlation_id, answer)
            client.sendall(len(payload).to_bytes(4, "big") + payload)


SPOKEN = (api.API_VERSIONS, api.SASL_HANDSHAKE, api.SASL_AUTHENTICATE, api.METADATA)


def _frame(client: socket.socket) -> bytes:
    """Empty at the end."""
    size, frame = int.from_bytes(client.recv(4), "big"), b""
    while len(frame) < size:
        got = client.recv(size - len(frame))
        if not got:
            return b""
        frame += got
    return frame


def _range(each: api.Api) -> object:
    made = api.API_VERSIONS.response.ApiVersion
    return made(api_key=each.key, min_version=each.min_version, max_version=each.max_version)


class Conversation:
    def __init__(self, mechanism: str, forged: bool) -> None:
        self._hash = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}.get(mechanism, "")
        self._forged = forged
        self._first = ""
        self.done = False

    def answer(self, token: bytes) -> bytes | None:
        """None: refused."""
        if not self._hash:
            _, name, password = token.decode().split("\0")
            self.done = USERS.get(name) == password
            return b"" if self.done else None
        return self._final(token.decode()) if self._first else self._challenge(token.decode())

    def _challenge(self, text: str) -> bytes:
        assert text.startswith("n,,n=")
        self._bare = text.removeprefix("n,,")
        name, nonce = self._bare.removeprefix("n=").split(",r=")
        self._password = USERS.get(name.replace("=2C", ",").replace("=3D", "="), "")
        self._salt = os.urandom(16)
        salt = base64.b64encode(self._salt).decode()
        self._first = f"r={nonce}{'more' if not self._forged else ''},s={salt},i={ITERATIONS}"
        return self._first.encode()

    def _final(self, text: str) -> bytes | None:
        without_proof, proof = text.rsplit(",p=", 1)
        salted = hashlib.pbkdf2_hmac(self._hash, self._password.encode(), self._salt, ITERATIONS)
        signed = f"{self._bare},{self._first},{without_proof}".encode()
        stored = hashlib.new(self._hash, self._sign(salted, b"Client Key")).digest()
        signature = self._sign(stored, signed)
        key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
        if hashlib.new(self._hash, key).digest() != stored or not self._password:
            return None
        self.done = True
        verdict = self._sign(self._sign(salted, b"Server Key"), b"forged" if self._forged else signed)
        return b"v=" + base64.b64encode(verdict)

    def _sign(self, key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, self._hash).digest()
