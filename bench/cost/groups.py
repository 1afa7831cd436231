"""python -m bench.cost.groups: what members of consumer groups cost the broker.

    members   so many groups of so many members, each sending a heartbeat and a commit every period
    produce   what a 1 KB produce costs without that load, and beside it
    load      how long a start takes with so many committed offsets to load

Every figure is of one broker in this minute; --target measures `members` on a broker that runs already.
"""

import argparse
import json
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from bench.cost import servers, tools
from bench.cost.loads import Load, measure
from bench.cost.servers import Server
from kafpy.client.cluster import TRY_AGAIN
from kafpy.client.connection import Connection
from kafpy.protocol import api, codec
from kafpy.protocol.errors import ErrorCode
from kafpy.protocol.table import Api

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, COMMIT_VERSION = 3, 3, 3, 7  # as librdkafka speaks them
TOPIC, PARTITIONS_EACH = "grouped", 2
SESSION_MS = 600_000
AT_ONCE = 1000
"""Groups that are formed together: a new one waits some seconds for its members."""
COORDINATOR_TIMEOUT_S = 30
PRODUCE = Load("produce 1 KB, 5 in flight", "produce", batch="1x1K", in_flight=5)


class Member:
    def __init__(self, server: Server, group_id: str, number: int) -> None:
        self.group_id = group_id
        self.number = number
        self.topic = server.topic
        self.member_id, self.generation = "", -1
        self._socket = socket.create_connection((server.host, server.port))
        self._file = self._socket.makefile("rb")

    def send(self, spoken: Api, version: int, body: Any) -> None:
        self._socket.sendall(framed(spoken, version, body))

    def receive(self, spoken: Api, version: int, passing: Collection[int] = ()) -> Any:
        (size,) = struct.unpack(">i", self._file.read(4))
        answer = codec.read_response(spoken.key, version, self._file.read(size))[1]
        if answer.error_code and answer.error_code not in passing:
            raise RuntimeError(f"{spoken.name}: {ErrorCode(answer.error_code).name}")
        return answer

    def join(self) -> None:
        request = api.JOIN_GROUP.request
        subscription = b"\0\0\0\0\0\1" + struct.pack(">h", len(self.topic)) + self.topic.encode() + b"\xff\xff\xff\xff"
        body = request(
            group_id=self.group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            protocol_type="consumer",
            protocols=[request.Protocol(name="range", metadata=subscription)],
        )
        self.send(api.JOIN_GROUP, JOIN_VERSION, body)

    def joined(self) -> Any:
        """Asks again while the coordinator is still loading the groups' topic."""
        deadline = time.monotonic() + COORDINATOR_TIMEOUT_S
        answer = self.receive(api.JOIN_GROUP, JOIN_VERSION, TRY_AGAIN)
        while answer.error_code and time.monotonic() < deadline:
            time.sleep(0.05)
            self.join()
            answer = self.receive(api.JOIN_GROUP, JOIN_VERSION, TRY_AGAIN)
        if answer.error_code:
            raise RuntimeError(f"JoinGroup: {ErrorCode(answer.error_code).name}")
        self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self, members: list[Any]) -> None:
        request = api.SYNC_GROUP.request
        made = [request.Assignment(member_id=each.member_id, assignment=b"\0\0" + bytes(8)) for each in members]
        body = request(
            group_id=self.group_id, generation_id=self.generation, member_id=self.member_id, assignments=made
        )
        self.send(api.SYNC_GROUP, SYNC_VERSION, body)

    def script(self) -> bytes:
        """See members.c."""
        fields = {"group_id": self.group_id, "member_id": self.member_id}
        beat = framed(api.HEARTBEAT, HEARTBEAT_VERSION, api.HEARTBEAT.request(generation_id=self.generation, **fields))
        request = api.OFFSET_COMMIT.request
        first = self.number * PARTITIONS_EACH
        partitions = [
            request.Partition(partition_index=first + at, committed_offset=12345, committed_metadata="")
            for at in range(PARTITIONS_EACH)
        ]
        body = request(
            generation_id_or_member_epoch=self.generation,
            topics=[request.Topic(name=self.topic, partitions=partitions)],
            **fields,
        )
        commit = framed(api.OFFSET_COMMIT, COMMIT_VERSION, body)
        first_error = 4 + 4 + 4 + 2 + len(self.topic) + 4 + 4
        parts = (8, 10, len(beat)), beat, (first_error, first_error + 2, len(commit)), commit
        return b"".join(part if isinstance(part, bytes) else struct.pack(">3i", *part) for part in parts)

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def framed(spoken: Api, version: int, body: Any) -> bytes:
    frame = codec.write_request(spoken.key, version, 1, "load", body)
    return struct.pack(">i", len(frame)) + frame


def stable_groups(server: Server, groups: int, members: int) -> Iterator[Member]:
    """They commit offsets of the server's topic, and are named for it."""
    find_coordinators(server)
    for start in range(0, groups, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, groups))
        made = [[Member(server, f"{server.topic}-{number}", at) for at in range(members)] for number in numbers]
        for group in made:
            for member in group:
                member.join()
        for group in made:
            answers = [member.joined() for member in group]
            for member, answer in zip(group, answers, strict=True):
                member.sync(answer.members)
        for group in made:
            for member in group:
                member.receive(api.SYNC_GROUP, SYNC_VERSION)
                yield member
                member.close()


def find_coordinators(server: Server) -> None:
    with Connection(server.host, server.port) as connection:
        deadline = time.monotonic() + COORDINATOR_TIMEOUT_S
        body = api.FIND_COORDINATOR.request(key="group-0", coordinator_keys=["group-0"])
        while connection.call(api.FIND_COORDINATOR, body).coordinators[0].error_code:
            if time.monotonic() > deadline:
                raise RuntimeError("no coordinator")
            time.sleep(0.1)


def members_command(server: Server, script: Path, asked: argparse.Namespace, seconds: float) -> list[str]:
    given = [str(script), str(seconds), str(asked.period_ms), str(server.pids[0])]
    return [str(tools.program("members")), server.host, str(server.port), *given]


def measure_members(server: Server, script: Path, asked: argparse.Namespace) -> dict[str, Any]:
    command = members_command(server, script, asked, asked.seconds)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"members failed: {done.stdout or done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    requests = result["heartbeat"]["requests"] + result["commit"]["requests"]
    result["core_share"] = result["broker_cpu_s"] / result["seconds"]
    result["us_per_request"] = result["broker_cpu_s"] / requests * 1e6
    print(
        f"{requests / result['seconds']:.0f} requests/s: {result['core_share']:.1%} of a core, "
        f"{result['us_per_request']:.1f} µs each; p50/p99/max µs: "
        + ", ".join(
            f"{kind} {result[kind]['p50_us']}/{result[kind]['p99_us']}/{result[kind]['max_us']}"
            for kind in ("heartbeat", "commit")
        ),
        flush=True,
    )
    return result


def measure_produce(server: Server, script: Path, asked: argparse.Namespace, share: float) -> None:
    """What the members cost by themselves is taken off."""
    rows = []
    for _ in range(asked.repeats):
        alone = measure(server, PRODUCE, 2, 1 << 30).broker_us
        with subprocess.Popen(members_command(server, script, asked, 5), stdout=subprocess.DEVNULL) as members:
            time.sleep(2)
            beside = measure(server, PRODUCE, 2, 1 << 30)
            members.wait()
        rows.append((alone, beside.broker_us - share * beside.seconds / beside.requests * 1e6))
    ratio = median(beside / alone for alone, beside in rows)
    print(f"produce 1 KB, 5 in flight: {median(a for a, _ in rows):.1f} µs alone, ratio beside the members {ratio:.2f}")


def fill_offsets(server: Server, offsets: int) -> None:
    """Groups without members, 1,000 offsets each."""
    find_coordinators(server)
    request = api.OFFSET_COMMIT.request
    with Connection(server.host, server.port) as connection:
        for number in range(offsets // 1000):
            partitions = [
                request.Partition(partition_index=index, committed_offset=7, committed_metadata="")
                for index in range(1000)
            ]
            body = request(group_id=f"filled-{number}", topics=[request.Topic(name=TOPIC, partitions=partitions)])
            connection.call(api.OFFSET_COMMIT, body, version=COMMIT_VERSION)


def measure_load(directory: Path, offsets: int) -> None:
    with servers.kafpy(directory) as broker:
        broker.create_topics({TOPIC: 1000})
        fill_offsets(broker, offsets)
    started = time.monotonic()
    with servers.kafpy(directory) as broker:
        ready = time.monotonic() - started
        with Connection(broker.host, broker.port) as connection:
            while connection.call(api.LIST_GROUPS, api.LIST_GROUPS.request()).error_code:
                time.sleep(0.01)
        loaded = time.monotonic() - started
        print(
            f"{offsets} offsets: clients are accepted after {ready:.2f} s, groups are loaded {loaded - ready:.2f} s "
            f"later ({broker.cpu_s():.2f} s of CPU, {broker.resident_mb():.0f} MB)",
            flush=True,
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cost.groups", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--target", metavar="HOST:PORT,pid=N", help="a running broker, with a topic of its own for this"
    )
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--period-ms", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--offsets", type=int, default=1_000_000, help="for `load`")
    parser.add_argument("--only", choices=("members", "produce", "load"))
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    with servers.workspace(tools.BUILD / "data") as directory, tempfile.NamedTemporaryFile() as file:
        if asked.only != "load":
            if asked.target:
                measure_on(servers.target(asked.target, "cost"), Path(file.name), asked)
            else:
                with servers.kafpy(directory / "groups") as broker:
                    measure_on(broker, Path(file.name), asked)
        if asked.only in (None, "load") and not asked.target:
            measure_load(directory / "offsets", asked.offsets)


def measure_on(server: Server, script: Path, asked: argparse.Namespace) -> None:
    server.create_topics({TOPIC: asked.members * PARTITIONS_EACH, server.topic: 6})
    members = stable_groups(replace(server, topic=TOPIC), asked.groups, asked.members)
    script.write_bytes(b"".join(member.script() for member in members))
    share = median(measure_members(server, script, asked)["core_share"] for _ in range(asked.repeats))
    if asked.only in (None, "produce") and not asked.target:
        measure_produce(server, script, asked, share)


if __name__ == "__main__":
    main()
