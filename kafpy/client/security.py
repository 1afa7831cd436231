"""How a client proves who it is and checks whom it talks to: TLS by `ssl`, SASL PLAIN and SCRAM (RFC 5802, KIP-84).

Told by the properties of Kafka's Java client: security.protocol, ssl.*, sasl.mechanism, sasl.jaas.config.
"""

import base64
import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ssl

PLAIN = "PLAIN"
SCRAM_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = (PLAIN, *SCRAM_HASHES)
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
LEAST_ITERATIONS = 4096

_JAAS_OPTION = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([^\s;"\']+))')


class SettingsError(Exception):
    """What a client was told cannot be; one line that says what to do."""


class SecurityError(SettingsError):
    """The same of what proves who is who."""


class Tls(NamedTuple):
    """Files are PEM. Without authorities those of the system are believed."""

    authorities: str | None = None
    authorities_text: str | None = None
    chain: str | None = None
    password: str | None = None
    check_host: bool = True

    def wrap(self, plain: socket.socket, host: str) -> "ssl.SSLSocket":
        return self._context().wrap_socket(plain, server_hostname=host)

    def _context(self) -> "ssl.SSLContext":
        import ssl

        try:
            context = ssl.create_default_context(cafile=self.authorities, cadata=self.authorities_text)
            context.check_hostname = self.check_host
            if self.chain is not None:
                context.load_cert_chain(self.chain, password=self.password)
        except (OSError, ssl.SSLError) as error:
            files = " or ".join(filter(None, (self.authorities, self.chain)))
            raise SecurityError(f"cannot use {files or 'the certificates'}: {error}; they must be PEM") from None
        return context


class Sasl(NamedTuple):
    mechanism: str
    username: str
    password: str

    def converse(self, exchange: Callable[[bytes], bytes]) -> None:
        """exchange: sends a token, gives the answer's. SecurityError when it is the server that cannot be believed."""
        if self.mechanism == PLAIN:
            exchange(f"\0{self.username}\0{self.password}".encode())
        else:
            _scram(self, SCRAM_HASHES[self.mechanism], exchange)


class Security(NamedTuple):
    tls: Tls | None = None
    sasl: Sasl | None = None


NONE = Security()


def from_properties(properties: Mapping[str, str]) -> Security:
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SecurityError(f"security.protocol={protocol}: one of {', '.join(PROTOCOLS)}")
    tls = _tls(properties) if protocol.endswith("SSL") else None
    sasl = _sasl(properties) if protocol.startswith("SASL") else None
    return Security(tls, sasl)


def _tls(properties: Mapping[str, str]) -> Tls:
    for store in ("truststore", "keystore"):
        kind = properties.get(f"ssl.{store}.type", "PEM" if f"ssl.{store}.location" not in properties else "JKS")
        location = properties.get(f"ssl.{store}.location", "")
        if kind.upper() != "PEM" and not _is_pem(location):
            raise SecurityError(
                f"ssl.{store}.type={kind} cannot be read here; make a PEM file of it (keytool and openssl do) "
                f"and say ssl.{store}.type=PEM"
            )
    for key in ("ssl.keystore.key", "ssl.keystore.certificate.chain"):
        if key in properties:
            raise SecurityError(
                f"{key}: put key and certificates into one PEM file and name it in ssl.keystore.location"
            )
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https")
    return Tls(
        authorities=properties.get("ssl.truststore.location"),
        authorities_text=properties.get("ssl.truststore.certificates"),
        chain=properties.get("ssl.keystore.location"),
        password=properties.get("ssl.key.password"),
        check_host=bool(algorithm),
    )


def _is_pem(location: str) -> bool:
    try:
        return b"-----BEGIN " in Path(location).read_bytes()
    except OSError:
        return False


def _sasl(properties: Mapping[str, str]) -> Sasl:
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        raise SecurityError(f"sasl.mechanism={mechanism} is not spoken here; one of {', '.join(MECHANISMS)}")
    options = _jaas_options(properties.get("sasl.jaas.config", ""))
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise SecurityError(
            f'sasl.jaas.config names no {" and no ".join(missing)}: … required username="…" password="…";'
        )
    return Sasl(mechanism, options["username"], options["password"])


def _jaas_options(text: str) -> dict[str, str]:
    found = {}
    for match in _JAAS_OPTION.finditer(text):
        quoted = match[2] if match[2] is not None else match[3]
        found[match[1]] = match[4] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return found


def _scram(who: Sasl, algorithm: str, exchange: Callable[[bytes], bytes]) -> None:
    import hashlib
    import hmac
    import secrets

    def sign(key: bytes, text: bytes) -> bytes:
        return hmac.digest(key, text, algorithm)

    nonce = secrets.token_urlsafe(24)
    name = who.username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    challenge = exchange(f"n,,{first}".encode()).decode()
    said = _attributes(challenge)
    try:
        joined, salt, iterations = said["r"], base64.b64decode(said["s"]), int(said["i"])
    except (KeyError, ValueError):
        raise SecurityError("the broker's SCRAM challenge makes no sense") from None
    if not joined.startswith(nonce) or iterations < LEAST_ITERATIONS:
        raise SecurityError("the broker's SCRAM challenge is not an answer to ours, or too weak")
    salted = hashlib.pbkdf2_hmac(algorithm, who.password.encode(), salt, iterations)
    final = f"c=biws,r={joined}"
    spoken = ",".join((first, challenge, final)).encode()
    client_key = sign(salted, b"Client Key")
    signature = sign(hashlib.new(algorithm, client_key).digest(), spoken)
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
    verdict = _attributes(exchange(f"{final},p={proof}".encode()).decode())
    expected = base64.b64encode(sign(sign(salted, b"Server Key"), spoken)).decode()
    if not hmac.compare_digest(verdict.get("v", ""), expected):
        raise SecurityError("the broker does not know the password either: its SCRAM signature is wrong")


def _attributes(text: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in text.split(",") if part[1:2] == "="}
