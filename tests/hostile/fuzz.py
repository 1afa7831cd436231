"""Structure-aware noise for a running broker: every API and version, filled at random and then damaged.

    python -m tests.hostile.fuzz HOST:PORT [cases] [seed]

Each case is a frame made from its table, and one in three is sent as it is; the others are cut, spliced, or get lengths
that lie. Behind each goes a well-formed ApiVersions: the broker answers it, or it has hung up. Beside that a healthy
client produces and fetches all the time and must never see an error. A seed, which is printed, makes the same cases.
"""

import random
import socket
import struct
import sys
import threading
import time
from collections import Counter

from kafpy._core import batch
from kafpy._core.crc32c import crc32c
from kafpy.protocol import api, codec
from tests.clients.raw import RawClient
from tests.hostile.conftest import framed
from tests.protocol.filler import Filler

LAST = framed(codec.write_request(18, 0, 0x7ABCDEF0, "fuzz", api.API_VERSIONS.request()))
LIES = (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00", b"\xff")
PATIENCE_S = 0.5
"""A fetch may be told to wait for ever: then the connection is given up, as clients do."""


class Fuzz:
    def __init__(self, host: str, port: int, seed: int) -> None:
        self.address = (host, port)
        self.dice = random.Random(seed)
        self.filler = Filler(seed)
        self.every = [(spoken, version) for spoken in api.ALL.values() for version in spoken.versions]
        self.counts: Counter[str] = Counter()
        self.connection: socket.socket | None = None

    def records(self) -> bytes:
        dice = self.dice
        values = [dice.randbytes(dice.choice((0, 1, 30, 500))) for _ in range(dice.randint(1, 4))]
        data = bytearray(batch.encode(values, timestamps=1_700_000_000_000))
        for _ in range(dice.randint(0, 3)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        if dice.random() < 0.7 and len(data) > 21:
            struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
        return bytes(data)

    def case(self) -> bytes:
        dice = self.dice
        spoken, version = dice.choice(self.every)
        message = self.filler.message(spoken.request_message, version)
        self.tame(spoken, message)
        frame = bytearray(codec.write_request(spoken.key, version, dice.getrandbits(31), "fuzz", message))
        if dice.random() < 0.66:
            for _ in range(dice.randint(1, 3)):
                self.damage(frame)
        return bytes(frame)

    def tame(self, spoken: api.Api, message: object) -> None:
        """Names that exist, waits that end, numbers of partitions that a disk can hold."""
        for topic in getattr(message, "topics", None) or getattr(message, "topic_data", None) or ():
            if hasattr(topic, "name") and self.dice.random() < 0.5:
                topic.name = "fuzzed"
            if hasattr(topic, "topic") and self.dice.random() < 0.5:
                topic.topic = "fuzzed"
            if hasattr(topic, "num_partitions"):
                topic.num_partitions = self.dice.choice((-1, 0, 1, 2))
            if hasattr(topic, "count"):
                topic.count = self.dice.choice((-1, 0, 1, 4))
            for part in getattr(topic, "partition_data", None) or ():
                if self.dice.random() < 0.8:
                    part.index, part.records = self.dice.randrange(3), self.records()
            for part in getattr(topic, "partitions", None) or ():
                if hasattr(part, "fetch_offset") and self.dice.random() < 0.8:
                    part.partition, part.fetch_offset = self.dice.randrange(3), self.dice.randrange(50)
        if hasattr(message, "max_wait_ms"):
            message.max_wait_ms = self.dice.choice((0, 1, 5))
        if hasattr(message, "timeout_ms"):
            message.timeout_ms = 100

    def damage(self, frame: bytearray) -> None:
        dice = self.dice
        least = 4 if dice.random() < 0.02 else 8
        at = dice.randrange(min(least, len(frame)), len(frame) + 1)  # it may have been cut shorter than its header
        kind = dice.randrange(4)
        if kind == 0:
            frame[at:at] = dice.randbytes(dice.randint(1, 6))
        elif kind == 1 and len(frame) > 12:
            del frame[at : at + dice.randint(1, 6)]
        elif kind == 2:
            lie = dice.choice(LIES)
            frame[at : at + len(lie)] = lie
        elif at < len(frame):
            frame[at] ^= 1 << dice.randrange(8)

    def send(self, frame: bytes) -> str:
        if self.connection is None:
            self.connection = socket.create_connection(self.address, 10)
            self.connection.settimeout(PATIENCE_S)
        try:
            self.connection.sendall(framed(frame) + LAST)
            while self.receive() != LAST[8:12]:
                pass
            return "answered"
        except TimeoutError:
            outcome = "waited"
        except OSError:
            outcome = "closed"
        self.connection.close()
        self.connection = None
        return outcome

    def receive(self) -> bytes:
        """The next answer's correlation id."""
        size = int.from_bytes(self.exactly(4), "big")
        return self.exactly(size)[:4]

    def exactly(self, size: int) -> bytes:
        assert self.connection is not None
        data = b""
        while len(data) < size:
            got = self.connection.recv(min(size - len(data), 1 << 20))
            if not got:
                raise ConnectionResetError
            data += got
        return data


class Healthy(threading.Thread):
    """Produces and reads back, all the time."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self.address = (host, port)
        self.stopping = threading.Event()
        self.rounds = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with RawClient(*self.address) as client:
                while not self.stopping.wait(0.005):
                    value = b"healthy %d" % self.rounds
                    answer = client.produce("healthy", batch.encode([value], timestamps=1_700_000_000_000))
                    assert (answer.error_code, answer.base_offset) == (0, self.rounds), answer
                    part = client.fetch("healthy", self.rounds)
                    assert part.error_code == 0 and value in bytes(part.records), part
                    self.rounds += 1
        except BaseException as failure:
            self.failure = failure


def main(address: str, cases: int, seed: int) -> int:
    host, _, port = address.rpartition(":")
    print(f"fuzz: {cases} cases, seed {seed}", flush=True)
    with RawClient(host, int(port)) as client:
        client.create("healthy")
        client.create("fuzzed", 3)
    healthy = Healthy(host, int(port))
    healthy.start()
    fuzz = Fuzz(host, int(port), seed)
    start = time.monotonic()
    try:
        for number in range(cases):
            fuzz.counts[fuzz.send(fuzz.case())] += 1
            if number % 20_000 == 19_999:
                print(f"fuzz: {number + 1} cases in {time.monotonic() - start:.0f} s, {dict(fuzz.counts)}", flush=True)
            if healthy.failure is not None:
                break
    finally:
        healthy.stopping.set()
        healthy.join()
    if healthy.failure is not None:
        print(f"fuzz: the healthy client failed: {healthy.failure!r}", flush=True)
        return 1
    print(f"fuzz: done, {dict(fuzz.counts)}; the healthy client did {healthy.rounds} rounds", flush=True)
    return 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(given[0], int(given[1]) if len(given) > 1 else 10_000, int(given[2]) if len(given) > 2 else 1))
