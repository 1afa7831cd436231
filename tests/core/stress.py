"""Everything at once: produce, fetch, sessions, truncation, deletion, table and settings changes, connection churn.

    python -m tests.core.stress [seconds] [seed]

The sanitizers watch it (ci/asan, ci/tsan); by itself it checks that answers are answers and that nobody hangs.
"""

import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kafpy._core.log import Log
from kafpy._core.plane import Planes
from kafpy._core.runtime import Runtime
from kafpy.protocol import api, codec
from tests.core.codecs import gzip
from tests.core.logs import idempotent, make_batch
from tests.core.served import Client, fetch_frame, produce_frame, produced, sized

TOPICS = 4
PARTITIONS = 3
EXPECTED = {0, 3, 6, 21, 45, 47, 56, 100}


class Stress:
    def __init__(self, folder: Path, seed: int, planes: int = 3) -> None:
        self.folder = folder
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.stopping = threading.Event()
        self.runtime = Runtime(2)
        self.generation = 0
        self.topics: dict[int, list[Log]] = {}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.listener.setblocking(False)
        self.planes = Planes(
            self.runtime, planes=planes, fetch_sessions=20, queued_max_bytes=8 << 20, max_connections=200
        )
        self.planes.listen(self.listener.fileno())
        for index in range(TOPICS):
            self.make_topic(index)
        self.planes.start()

    def client(self) -> Client:
        return Client(self.listener.getsockname()[1], timeout_s=30)

    # ---- what the broker does

    def make_topic(self, index: int) -> None:
        self.generation += 1
        base = self.folder / f"{index}-{self.generation}"
        settings = {
            "segment_bytes": 20_000,
            "index_interval_bytes": 500,
            "flush_messages": 1 if index == 0 else 1 << 40,
        }
        self.topics[index] = [Log(self.runtime, str(base / str(part)), **settings) for part in range(PARTITIONS)]
        self.planes.publish(f"topic-{index}", self.topic_id(index), list(self.topics[index]))

    def topic_id(self, index: int) -> bytes:
        return index.to_bytes(16, "big")

    def delete_topic(self, index: int) -> None:
        self.planes.withdraw(f"topic-{index}")
        for log in self.topics.pop(index):
            log.close(flush=False)
            shutil.rmtree(log.directory)

    def control(self, random_: random.Random) -> None:
        """Topics deleted and made again, logs cut, settings changed; one thread, as in the broker."""
        index = random_.randrange(TOPICS)
        log = random_.choice(self.topics[index])
        chosen = random_.random()
        if chosen < 0.15:
            self.delete_topic(index)
            self.make_topic(index)
            self.counts["deleted"] += 1
        elif chosen < 0.35:
            log.truncate(random_.randrange(log.log_end_offset + 1))
            self.counts["cut"] += 1
        elif chosen < 0.6:
            log.configure(
                segment_bytes=random_.choice([5_000, 20_000, 1 << 20]),
                open_batches=random_.random() < 0.5,
                flush_messages=random_.choice([1, 10, 1 << 40]),
                index_interval_bytes=random_.choice([0, 500, 4096]),
            )
        elif chosen < 0.7:
            self.planes.publish(f"topic-{index}", self.topic_id(index), list(self.topics[index]))
        elif chosen < 0.8:
            log.flush()
        elif chosen < 0.82:
            log.release_space()
        elif chosen < 0.85:
            log.delete_records(random_.randrange(log.high_watermark + 1))
            self.counts["trimmed"] += 1
        elif chosen < 0.9:
            self.runtime.advance(random_.randrange(200))
            self.planes.wake()
        else:
            _ = (log.size, log.offline, log.segment_count, log.producers(), log.max_timestamp(), log.batch_for_time(0))
        self.planes.statistics()
        time.sleep(0.002)

    def inbox(self, random_: random.Random) -> None:
        for request in self.planes.drain():
            self.counts["inbox"] += 1
            if request.api_key == 0:
                self.planes.resubmit(request.token, request.frame, bytes(2))
            elif random_.random() < 0.02:
                self.planes.reject(request.token)
            else:
                self.planes.reply(request.token, request.correlation_id.to_bytes(4, "big"))
        time.sleep(0.001)

    # ---- what clients do

    def produce(self, random_: random.Random) -> None:
        producer = random_.randrange(1 << 40)
        with self.client() as client:
            for round_ in range(20):
                frames = []
                for i in range(random_.randrange(1, 6)):
                    data = (
                        idempotent(5 * round_ + i, producer=producer)
                        if random_.random() < 0.5
                        else make_batch(random_.randrange(1, 4), value=bytes(random_.choice([1, 500, 5_000, 150_000])))
                    )
                    if random_.random() < 0.1:
                        data = make_batch(2, codec=1, compress=gzip)
                    index = random_.randrange(TOPICS)
                    frames.append(
                        produce_frame(
                            data,
                            version=random_.choice([3, 9, 13]),
                            acks=random_.choice([1, -1]),
                            topic=f"topic-{index}",
                            topic_id=self.topic_id(index),
                        )
                    )
                client.send(*frames)
                for frame in frames:
                    (answer,) = produced(client.receive(), int.from_bytes(frame[2:4], "big"))
                    self.counts[f"produce {answer.error_code}"] += 1
                    assert answer.error_code in EXPECTED, answer.error_code

    def consume(self, random_: random.Random) -> None:
        version = random_.choice([4, 12, 13])
        session = (0, 0) if version >= 7 and random_.random() < 0.7 else (0, -1)
        index = random_.randrange(TOPICS)
        offsets = dict.fromkeys(range(PARTITIONS), 0)
        with self.client() as client:
            for _ in range(20):
                answer = client.fetch(
                    offsets if session[1] <= 0 or random_.random() < 0.5 else {},
                    version,
                    session=session,
                    max_wait_ms=random_.choice([0, 5, 30]),
                    min_bytes=random_.choice([0, 1, 100_000]),
                    partition_max_bytes=random_.choice([1, 10_000, 1 << 20]),
                    topic=f"topic-{index}",
                    topic_id=self.topic_id(index),
                )
                self.counts["fetch"] += 1
                if version >= 7 and answer.error_code:
                    session = (0, 0)
                elif session[1] >= 0 and answer.session_id:
                    session = (answer.session_id, session[1] + 1)
                for part in [part for topic in answer.responses for part in topic.partitions]:
                    self.counts[f"fetch {part.error_code}"] += 1
                    offsets[part.partition_index] = random_.randrange(max(part.high_watermark, 0) + 1)

    def rude(self, random_: random.Random) -> None:
        """Leaves in the middle of everything."""
        with self.client() as client:
            index = random_.randrange(TOPICS)
            client.send(
                fetch_frame({0: 0, 1: 0}, session=(0, 0), max_wait_ms=10_000, topic=f"topic-{index}"),
                codec.write_request(3, 1, 1, "x", api.METADATA.request(topics=[])),
            )
            data = sized(produce_frame(make_batch(value=bytes(300_000)), topic=f"topic-{index}"))
            client.socket.sendall(random_.choice([data[: random_.randrange(len(data))], data * 3, b"\xff" * 9, b""]))
            if random_.random() < 0.5:
                time.sleep(random_.random() * 0.01)
        self.counts["rude"] += 1

    # ---- together

    def loop(self, name: str, work: Callable[[random.Random], None]) -> None:
        random_ = random.Random(f"{self.seed} {name}")
        while not self.stopping.is_set():
            try:
                work(random_)
            except ConnectionError:
                self.counts["hung up"] += 1
            except Exception as error:
                self.failures.append(f"{name}: {error!r}")
                self.stopping.set()

    def run(self, seconds: float) -> None:
        clients = [("produce", self.produce), ("consume", self.consume)] * 2 + [("rude", self.rude)]
        jobs = [("control", self.control), ("inbox", self.inbox), *clients]
        threads = [
            threading.Thread(target=self.loop, args=(f"{name} {i}", work)) for i, (name, work) in enumerate(jobs)
        ]
        for thread in threads:
            thread.start()
        self.stopping.wait(seconds)
        self.stopping.set()
        self.planes_stop_while_clients_wait(threads)

    def planes_stop_while_clients_wait(self, threads: list[threading.Thread]) -> None:
        """The planes go first: clients see hang-ups, Python's late answers reach nobody."""
        waiting = [self.client() for _ in range(6)]
        for client in waiting:
            client.send(fetch_frame({0: 1 << 40}, session=(0, 0), max_wait_ms=60_000, topic="topic-1"))
        self.planes.stop()
        for client in waiting:
            client.socket.close()
        self.listener.close()
        for thread in threads:
            thread.join(60)
            if thread.is_alive():
                self.failures.append("a client hangs")
        for logs in self.topics.values():
            for log in logs:
                log.append(make_batch())
                log.close()
        self.runtime.close()


def stress(seconds: float, seed: int) -> Stress:
    folder = Path(tempfile.mkdtemp(prefix="kafpy-stress-"))
    print(f"stress: {seconds} s, seed {seed}", flush=True)
    try:
        made = Stress(folder, seed)
        made.run(seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("stress:", ", ".join(f"{name} {count}" for name, count in sorted(made.counts.items())), flush=True)
    return made


if __name__ == "__main__":
    done = stress(
        float(sys.argv[1]) if len(sys.argv) > 1 else 10.0,
        int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 1_000_000,
    )
    sys.exit("\n".join(done.failures) or None)
