"""Apache Kafka, fetched by Maven coordinates and run as its start script runs it."""

import shutil
import subprocess
from pathlib import Path

from bench.cost.tools import ROOT

DEFAULT_VERSION = "4.3.0"
ARTIFACTS = ("kafka_2.13", "kafka-tools")
HEAP = ("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
HEAP_MORE = ("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true")
TOOL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafpy</groupId><artifactId>peer</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
{}
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""
_DEPENDENCY = (
    "    <dependency><groupId>org.apache.kafka</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)


class Missing(Exception):
    """Why Apache Kafka cannot run here, and what would help."""


def jars(version: str = DEFAULT_VERSION) -> Path:
    """The folder with all of them, fetched on first use: some 130 MB."""
    for program, package in (("java", "a JDK 17 or newer"), ("mvn", "Maven")):
        if shutil.which(program) is None:
            raise Missing(f"Apache Kafka needs {program}, which is not installed: install {package}")
    folder = ROOT / "build" / "kafka" / version
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pom = folder / "pom.xml"
        pom.write_text(_POM.format("\n".join(_DEPENDENCY.format(name, version) for name in ARTIFACTS)))
        copy = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(pom),
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder / 'libs'}",
        ]
        done = subprocess.run(copy, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"Maven could not fetch Apache Kafka {version}: {done.stdout[-600:].strip()}")
        (folder / "complete").touch()
    return folder / "libs"


def tool(libs: Path, name: str, *arguments: object) -> list[str]:
    return ["java", *TOOL, QUIET, "-cp", f"{libs}/*", name, *map(str, arguments)]


def server(libs: Path, properties: Path) -> list[str]:
    return ["java", *HEAP, *HEAP_MORE, QUIET, "-cp", f"{libs}/*", "kafka.Kafka", str(properties)]


def configure(libs: Path, data: Path, port: int, controller_port: int) -> Path:
    """A broker that is its own controller, with Kafka's defaults; formatted on first use."""
    data.mkdir(parents=True, exist_ok=True)
    path = data / "server.properties"
    path.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller_port}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"log.dirs={data / 'data'}\n"
        "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
        "transaction.state.log.min.isr=1\n"
    )
    if not (data / "data" / "meta.properties").exists():
        identity = "a2FmcHktYmVuY2gta2Fma2"
        format_ = tool(libs, "kafka.tools.StorageTool", "format", "-t", identity, "-c", path)
        done = subprocess.run(format_, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"Apache Kafka's directory could not be formatted: {(done.stderr or done.stdout).strip()}")
    return path
