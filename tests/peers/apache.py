"""One Apache Kafka broker on free ports, from the same jars as its tools."""

import socket
import subprocess
import time
from pathlib import Path

from tests.peers.tools import JVM

START_TIMEOUT_S = 60
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={directory}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
"""
CLUSTER_ID = "q1Sh-9_ISia_zwGINzRvyQ"


def free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class ApacheKafka:
    """Runs from construction until stop()."""

    def __init__(self, jars: Path, directory: Path) -> None:
        directory.mkdir(parents=True)
        port, controller = free_ports(2)
        self.bootstrap = f"127.0.0.1:{port}"
        settings = directory / "server.properties"
        settings.write_text(SETTINGS.format(port=port, controller=controller, directory=directory))
        java = ["java", *JVM, "-cp", f"{jars}/*"]
        tool = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings)]
        subprocess.run(tool, check=True, capture_output=True)
        with (directory / "log").open("w") as log:
            self._process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        self._await(port)

    def _await(self, port: int) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                assert self._process.poll() is None and time.monotonic() < deadline, "Apache Kafka did not start"
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
