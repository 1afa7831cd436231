"""Apache Kafka's own command-line tools, run one JVM after the other; what they say goes to a transcript.

The jars come from Maven Central, once; bench/suite/kafka.py fetches them.
"""

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TRANSCRIPT = ROOT / "build" / "peers" / "transcript.txt"
LONGEST = 100
"""Lines of one tool in the transcript."""
TIMEOUT_S = 90
JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"


@dataclass(frozen=True)
class Said:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Tools:
    """`bootstrap`: the broker that they talk to."""

    def __init__(self, jars: Path, bootstrap: str) -> None:
        self._jars = jars
        self.bootstrap = bootstrap

    def run(self, tool: str, *arguments: str | Path, given: str = "", fails: bool = False) -> Said:
        """One tool to its end; `given` on standard input. Its exit status must be as expected."""
        java = ["java", *JVM, "-cp", f"{self._jars}/*", tool, *map(str, arguments)]
        done = subprocess.run(java, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        said = Said(done.returncode, done.stdout, done.stderr)
        _write_down(tool, arguments, said)
        assert (said.status != 0) == fails, said
        return said

    def ask(self, tool: str, *arguments: str | Path, given: str = "", fails: bool = False) -> Said:
        """A tool that talks to the broker."""
        return self.run(tool, "--bootstrap-server", self.bootstrap, *arguments, given=given, fails=fails)


def _write_down(tool: str, arguments: tuple[str | Path, ...], said: Said) -> None:
    name = tool.rpartition(".")[2]
    lines = (said.out + said.err).splitlines()
    if len(lines) > LONGEST:
        lines[LONGEST // 2 : -LONGEST // 2] = [f"… {len(lines) - LONGEST} lines …"]
    shown = "".join(f"{line}\n" for line in lines)
    with TRANSCRIPT.open("a") as transcript:
        transcript.write(f"$ {name} {shlex.join(map(str, arguments))}\n{shown}[exit {said.status}]\n\n")
