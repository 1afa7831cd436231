"""Who reads: our source and Spark's own connector, from kafpy and from Apache Kafka."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.cost.tools import ROOT
from bench.suite.kafka import Missing

CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:3.5.1",
    "org.apache.commons:commons-pool2:2.12.1",
    "org.apache.kafka:kafka-clients:3.9.1",
)
"""The newest that there are; the connector of 4.2 runs in Spark 4.3."""
UNIX_SOCKETS = "spark.python.unix.domain.socket.enabled"
UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Spark's JVM then trusts record batches instead of checking each access."""
SOME = {"value": "BINARY", "offset": "BIGINT"}


@dataclass(frozen=True)
class Contestant:
    name: str
    format: str
    broker: str = "kafpy"
    options: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    """None: all of them."""


def contestants(against_kafka: bool) -> list[Contestant]:
    unchecked = {UNIX_SOCKETS: True, "spark.driver.extraJavaOptions": UNCHECKED}
    unix, local, tcp = {UNIX_SOCKETS: True}, {"kafpy.read": "local"}, {"kafpy.read": "tcp"}
    connector = {"spark.jars": ",".join(map(str, jars()))}
    found = [
        Contestant("connector", "kafka", settings=connector),
        Contestant("kafpy, from files", "kafpy", options=local, settings=unix),
        Contestant("kafpy, from files, Arrow unchecked", "kafpy", options=local, settings=unchecked),
        Contestant("kafpy, from the broker", "kafpy", options=tcp, settings=unix),
        Contestant("kafpy, from the broker, TCP workers", "kafpy", options=tcp, settings={UNIX_SOCKETS: False}),
        Contestant("connector, value and offset", "kafka", settings=connector, columns=SOME),
        Contestant("kafpy, value and offset, from files", "kafpy", options=local, settings=unix, columns=SOME),
        Contestant("kafpy, value and offset, from the broker", "kafpy", options=tcp, settings=unix, columns=SOME),
    ]
    if against_kafka:
        found += [
            Contestant("connector, from Apache Kafka", "kafka", "kafka", settings=connector),
            Contestant("kafpy, from Apache Kafka", "kafpy", "kafka", options=tcp, settings=unix),
        ]
    return found


def jars() -> list[Path]:
    """Of the connector, fetched on first use."""
    folder = ROOT / "build" / "spark-connector"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for coordinates in CONNECTOR:
        _, name, version = coordinates.split(":")
        path = folder / f"{name}-{version}.jar"
        if not path.exists():
            copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}"]
            try:
                done = subprocess.run(copy, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                raise Missing("Spark's connector is fetched by Maven, which is not installed") from None
            if done.returncode:
                raise Missing(f"Maven could not fetch {coordinates}: {done.stdout[-600:].strip()}")
        found.append(path)
    return found
