"""Ranges read from a broker's files: the same as over the network, and nothing gone unnoticed."""

import os
import random
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from kafpy._core import batch
from kafpy._core.columns import Gatherer
from kafpy._core.seek import seek
from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.local_log import LocalLog, LocalReader, NotLocal, local_logs
from kafpy.client.range_reader import OffsetsGone, Range
from kafpy.client.scan import scan
from kafpy.client.settings import from_properties
from kafpy.storage.partition_folder import write_topic_id
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of

TOPIC_ID = bytes(range(16))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("local") / "data")
    yield process
    process.stop()


def test_as_over_the_network(broker: BrokerProcess) -> None:
    noise = random.Random(5)
    with RawClient(broker.host, broker.port) as client:
        client.create("both", 2, {"segment.bytes": "1048576", "index.interval.bytes": "1024"})
        for number in range(200):
            values = [noise.randbytes(noise.randrange(20_000)) for _ in range(1 + number % 7)]
            records = batch_of(values, codec=number % 5)
            assert client.produce("both", records, partition=number % 2).error_code == 0

    def read(how: str, **given: object) -> pa.Table:
        table = scan("both", bootstrap_servers=broker.bootstrap, read=how, batch_rows=50, **given).read_all()  # type: ignore[arg-type]
        return table.sort_by([("partition", "ascending"), ("offset", "ascending")])

    everything = read("local")
    assert everything == read("tcp") == read("auto")
    assert everything.num_rows == sum(1 + number % 7 for number in range(200))
    assert len(list((broker.directory / "both-0").glob("*.log"))) > 1
    for start in range(0, 380, 17):
        between = {"start": start, "end": start + 40}
        assert read("local", **between) == read("tcp", **between)


def test_the_broker_sends_nothing(broker: BrokerProcess) -> None:
    with RawClient(broker.host, broker.port) as client:
        client.create("quiet")
        for _ in range(20):
            client.produce("quiet", batch_of([bytes(1000)] * 50))
    table = scan("quiet", bootstrap_servers=broker.bootstrap, read="local").read_all()
    assert table.num_rows == 1000
    with Cluster(from_properties({"bootstrap.servers": broker.bootstrap})) as cluster:
        logs = local_logs(cluster, ["quiet"])
    assert logs["quiet", 0].directory == str(broker.directory)


# ---- folders of the tests' own


@pytest.fixture
def log(tmp_path: Path) -> LocalLog:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=C\nnode.id=7\n")
    folder = tmp_path / "t-0"
    folder.mkdir()
    write_topic_id(folder, TOPIC_ID)
    for base in (0, 10, 20):
        write_segment(folder, base, [base, base + 5])
    return LocalLog(str(tmp_path), "C", 7, TOPIC_ID)


def write_segment(folder: Path, base: int, offsets: list[int], **fields: object) -> None:
    data = b"".join(
        batch.encode([b"%d" % (first + at) for at in range(5)], timestamps=0, base_offset=first, **fields)  # type: ignore[arg-type]
        for first in offsets
    )
    (folder / f"{base:020}.log").write_bytes(data)


def values(reader: LocalReader, start: int, end: int) -> list[int]:
    gatherer = Gatherer(["offset"], most_rows=1_000_000, most_bytes=1 << 30)
    with closing(reader.read(Range("t", 0, start, end))) as record_sets:
        for record_set in record_sets:
            assert not gatherer.feed(record_set, start, end)
    rows, columns = gatherer.take()
    return list(struct.unpack(f"<{rows}q", columns["offset"]))


@pytest.mark.parametrize("chunk_bytes", [16, 100, 4 << 20])
def test_any_range_in_any_chunks(log: LocalLog, chunk_bytes: int) -> None:
    for start in range(30):
        for end in (start + 1, min(start + 7, 30), 30):
            reader = LocalReader({("t", 0): log}, chunk_bytes=chunk_bytes)
            assert values(reader, start, end) == list(range(start, end))


@pytest.mark.parametrize(
    "other", [{"cluster_id": "another"}, {"node_id": 8}, {"directory": "/nowhere"}, {"topic_id": bytes(16)[:-1] + b"x"}]
)
def test_another_brokers_directory(log: LocalLog, other: dict[str, object]) -> None:
    with pytest.raises(NotLocal):
        values(LocalReader({("t", 0): log._replace(**other)}), 0, 30)  # type: ignore[arg-type]
    with pytest.raises(NotLocal):
        values(LocalReader({}), 0, 30)


def test_what_retention_took_before(log: LocalLog) -> None:
    (Path(log.directory) / "t-0" / f"{0:020}.log").unlink()
    with pytest.raises(OffsetsGone) as told:
        values(LocalReader({("t", 0): log}), 3, 30)
    assert told.value.first == 10
    assert values(LocalReader({("t", 0): log}), 10, 30) == list(range(10, 30))


def test_what_retention_takes_meanwhile(log: LocalLog) -> None:
    folder = Path(log.directory) / "t-0"
    gatherer = Gatherer(["offset"], most_rows=1000, most_bytes=1 << 20)
    with closing(LocalReader({("t", 0): log}).read(Range("t", 0, 0, 30))) as record_sets:
        gatherer.feed(next(record_sets), 0, 30)
        for base in (0, 10):
            (folder / f"{base:020}.log").unlink()
        for record_set in record_sets:
            gatherer.feed(record_set, 0, 30)
    assert gatherer.rows == 30
    assert not [each for each in Path("/proc/self/fd").iterdir() if str(folder) in os.path.realpath(each)]


def test_a_log_that_became_shorter(log: LocalLog) -> None:
    with pytest.raises(OffsetsGone) as told:
        values(LocalReader({("t", 0): log}), 0, 35)
    assert told.value.last == 30
    with (Path(log.directory) / "t-0" / f"{20:020}.log").open("r+b") as file:
        file.truncate(100)
    with pytest.raises(ClientError, match="ends within a batch"):
        values(LocalReader({("t", 0): log}), 0, 30)


def test_aborted_transactions_are_left_out(log: LocalLog) -> None:
    folder = Path(log.directory) / "t-0"
    sent = {"producer_id": 9, "producer_epoch": 0, "transactional": True}
    (folder / f"{0:020}.log").write_bytes(
        batch.encode([b"a"] * 5, timestamps=0, base_offset=0, base_sequence=0, **sent)  # type: ignore[arg-type]
        + batch.encode([b"\0\0\0\0\0\0"], timestamps=0, base_offset=5, keys=[b"\0\0\0\0"], control=True, **sent)  # type: ignore[arg-type]
        + batch.encode([b"b"] * 4, timestamps=0, base_offset=6, base_sequence=5, **sent)  # type: ignore[arg-type]
    )
    (folder / f"{0:020}.txnindex").write_bytes(struct.pack(">hqqqq", 0, 9, 0, 5, 6))
    for chunk_bytes in (100, 4 << 20):
        committed = LocalReader({("t", 0): log}, isolation=1, chunk_bytes=chunk_bytes)
        assert values(committed, 0, 12) == [6, 7, 8, 9, 10, 11]
        assert values(LocalReader({("t", 0): log}, chunk_bytes=chunk_bytes), 3, 7) == [3, 4, 6]


def test_seek(log: LocalLog) -> None:
    path = Path(log.directory) / "t-0" / f"{10:020}.log"
    size = path.stat().st_size
    with path.open("rb") as file:
        found = [seek(file.fileno(), 0, size, offset) for offset in range(9, 22)]
    assert found == [0] * 6 + [size // 2] * 5 + [size] * 2
    with pytest.raises(OSError, match="cannot read"):
        seek(10_000, 0, 100, 0)
