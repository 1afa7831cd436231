"""The loads of the table, and one run of one load against one server."""

import json
import subprocess
from dataclasses import dataclass, field

from bench.cost import tools
from bench.cost.servers import Server

MOST_REQUESTS_S = 60_000
"""More than one connection of the load client gets through; to say how much disk a load can take."""


@dataclass(frozen=True)
class Load:
    name: str
    kind: str
    batch: str = ""
    in_flight: int = 1
    connections: int = 1
    partitions: int = 1
    max_bytes: int = 1 << 20
    rate: float = 0

    def stored_bytes(self, seconds: float, most: int) -> int:
        """At most, by one run."""
        if self.kind == "fetch":
            return 0
        shape = tools.SHAPES[self.batch]
        rate = self.rate or MOST_REQUESTS_S
        return int(min(most, rate * seconds * shape.records * (shape.value_bytes + 80)))


FILL = Load("fill", "produce", batch="16x1K", in_flight=5)
"""What there is to fetch before anything else was produced."""
FILL_BYTES = 256 << 20

LOADS = [
    Load("produce 1 KB, 1 in flight", "produce", batch="1x1K"),
    Load("produce 1 KB, 5 in flight", "produce", batch="1x1K", in_flight=5),
    Load("produce 16 KB (160 x 100 B), 5 in flight", "produce", batch="160x100", in_flight=5),
    Load("produce 16 KB (16 x 1 KB), 5 in flight", "produce", batch="16x1K", in_flight=5),
    Load("produce 64 KB, 5 in flight", "produce", batch="64x1K", in_flight=5),
    Load("produce 1 MB, 2 in flight", "produce", batch="1000x1K", in_flight=2),
    Load("produce 64 KB as lz4, 5 in flight", "produce", batch="64x1K.lz4", in_flight=5),
    Load("produce 64 KB as zstd, 5 in flight", "produce", batch="64x1K.zstd", in_flight=5),
    Load("produce 1 KB, 50 connections", "produce", batch="1x1K", connections=50, partitions=6),
    Load("fetch 64 KB", "fetch", max_bytes=64 << 10),
    Load("fetch 1 MB", "fetch", max_bytes=1 << 20),
    Load("end to end, 1 KB, 1,000/s", "e2e", batch="1x1K", rate=1000),
    Load("end to end, 1 KB, 5,000/s", "e2e", batch="1x1K", rate=5000),
]


@dataclass(frozen=True)
class Result:
    requests: int
    errors: int
    error_code: int
    seconds: float
    mb_s: float
    broker_cpu_s: float
    broker_us: float
    client_cpu_s: float
    client_us: float
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    latencies: list[tuple[int, int]] = field(repr=False)
    """Microseconds and how often; exact below 4 ms, to a 2,048th above."""


class LoadFailed(Exception):
    pass


def command(server: Server, load: Load, seconds: float, most_bytes: int) -> list[str]:
    options = {
        "in-flight": load.in_flight,
        "connections": load.connections,
        "partitions": load.partitions,
        "max-bytes": load.max_bytes,
        "rate": load.rate,
        "seconds": seconds,
        "bytes": most_bytes,
        "pids": ",".join(map(str, server.pids)),
    }
    if load.batch:
        options["batch"] = tools.batch_file(load.batch)
    pairs = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return [str(tools.program("load")), load.kind, server.host, str(server.port), server.topic, *pairs]


def measure(server: Server, load: Load, seconds: float, most_bytes: int) -> Result:
    done = subprocess.run(
        command(server, load, seconds, most_bytes), capture_output=True, text=True, timeout=seconds + 300
    )
    if done.returncode:
        raise LoadFailed(f"{load.name}: {(done.stderr or done.stdout).strip()}")
    return Result(**json.loads(done.stdout))
