"""Apache Kafka itself, one broker of its own kind of cluster, from the same jars as its tools."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization

USER, PASSWORD = "alice", "alice-secret"
LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL")
START_TIMEOUT_S = 60
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
PLAIN_LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


class ApacheKafka:
    """Listens on all of LISTENERS; `ports` by listener. `authority`: the PEM file of who signed its certificate."""

    def __init__(self, jars: Path, directory: Path) -> None:
        directory.mkdir(parents=True)
        self.directory = directory / "data"
        self._errors = directory / "output"
        self._java = ["java", *JVM, "-cp", f"{jars}/*"]
        self.ports = dict(zip((*LISTENERS, "CONTROLLER"), _free_ports(len(LISTENERS) + 1), strict=True))
        self.host, self.port = "localhost", self.ports["PLAINTEXT"]
        self.bootstrap = f"{self.host}:{self.port}"
        self.authority = directory / "ca.pem"
        self._properties = directory / "server.properties"
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in self._settings(directory).items()))
        self._format()
        self._process = self._start()

    def _settings(self, directory: Path) -> dict[str, str]:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.authority))
        keys = directory / "keys.pem"
        _write_keys(authority.issue_cert("localhost"), keys)
        listeners = [f"{name}://localhost:{port}" for name, port in self.ports.items()]
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@localhost:{self.ports['CONTROLLER']}",
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": ",".join(["CONTROLLER:PLAINTEXT", *(f"{n}:{n}" for n in LISTENERS)]),
            "log.dirs": str(self.directory),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keys),
        }
        for listener in ("sasl_plaintext", "sasl_ssl"):
            settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = PLAIN_LOGIN
            for scram in ("scram-sha-256", "scram-sha-512"):
                settings[f"listener.name.{listener}.{scram}.sasl.jaas.config"] = SCRAM_LOGIN
        return settings

    def _format(self) -> None:
        scram = [f"--add-scram=SCRAM-SHA-{bits}=[name={USER},password={PASSWORD}]" for bits in (256, 512)]
        command = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", self._properties, *scram]
        done = subprocess.run([*self._java, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def _start(self) -> subprocess.Popen[bytes]:
        with self._errors.open("wb") as output:
            command = [*self._java, "kafka.Kafka", str(self._properties)]
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_TIMEOUT_S
        for port in self.ports.values():
            while True:
                try:
                    socket.create_connection(("localhost", port), 1).close()
                    break
                except OSError:
                    assert process.poll() is None and time.monotonic() < deadline, self._errors.read_text()
                    time.sleep(0.1)
        return process

    def stop(self) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGTERM)
        self._process.wait(timeout=60)


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in held]
    for each in held:
        each.close()
    return ports


def _write_keys(issued: trustme.LeafCert, path: Path) -> None:
    """Java reads PKCS #8 only."""
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(pem + b"".join(each.bytes() for each in issued.cert_chain_pems))
