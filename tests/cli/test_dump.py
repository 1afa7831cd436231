"""`kafpy dump` prints what Kafka's DumpLogSegments printed of the same files, and finds the same faults."""

import shutil
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafpy.cli.dump import command
from kafpy.storage import checkpoints, producer_snapshot
from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient, batch_of

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3"
FIRST = f"{0:020}"
SEGMENTS = [
    f"java-none/{FIRST}.log",
    f"java-append-time/{FIRST}.log",
    f"java-snappy/{FIRST}.log",
    f"librdkafka-transactions/{FIRST}.log",
    f"librdkafka-transactions/{6:020}.log",
]
INDEXES = sorted(
    str(path.relative_to(GOLDEN)) for name in ("java-none", "librdkafka-*") for path in GOLDEN.glob(f"{name}/*index")
)


def dump(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)))


@pytest.mark.parametrize(
    ("name", "flags", "files"),
    [
        ("shallow", [], SEGMENTS),
        ("deep", ["--deep-iteration"], SEGMENTS),
        ("contents", ["--print-data-log"], SEGMENTS),
        ("contents-only", ["--print-data-log", "--skip-record-metadata"], SEGMENTS),
        ("max-bytes", ["--max-bytes", "600"], SEGMENTS[:1]),
        ("indexes", [], INDEXES),
        ("sanity", ["--index-sanity-check"], INDEXES),
        ("offsets", ["--offsets-decoder"], [f"groups-modern/{FIRST}.log", f"groups-classic/{FIRST}.log"]),
    ],
)
def test_the_same_bytes(name: str, flags: list[str], files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    done = dump(*flags, "--files", ",".join(files))
    assert done.exit_code == 0, done.output
    assert done.stdout == (GOLDEN / "dump" / f"{name}.txt").read_text()
    gaps = [] if name in ("shallow", "max-bytes", "indexes", "sanity", "offsets") else [(-1, 6)]
    where = GOLDEN / SEGMENTS[-1]
    said = [f"Non-consecutive offsets in {where}\n  {low} is followed by {high}\n" for low, high in gaps]
    assert done.stderr == "".join(said)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return shutil.copytree(GOLDEN / "java-none", tmp_path / "t-0")


def test_indexes_that_are_wrong(copied: Path) -> None:
    """The lines are those of Kafka's tool for the same damage."""
    index, times = copied / f"{FIRST}.index", copied / f"{FIRST}.timeindex"
    data = bytearray(index.read_bytes())
    struct.pack_into(">i", data, 0, 12)
    struct.pack_into(">i", data, 8, 19)
    index.write_bytes(data)
    data = bytearray(times.read_bytes())
    for at, entry in enumerate([(1, 11), (5, 17), (1, 18), (7, 900)]):
        struct.pack_into(">qi", data, 12 * at, *entry)
    times.write_bytes(data)
    done = dump("--verify-index-only", index, times)
    assert done.stdout == f"Dumping {index}\nDumping {times}\n"
    assert done.stderr.splitlines() == [
        f"Mismatches in :{index}",
        "  Index offset: 19, log offset: 18",
        "  Index offset: 12, log offset: 11",
        f"Found timestamp mismatch in :{times}",
        "  Index timestamp: 1, log timestamp: 1795006974113",
        "  Index timestamp: 1, log timestamp: 1795006974114",
        f"Found out of order timestamp in :{times}",
        "  Index timestamp: 1, Previously indexed timestamp: 5",
        f"The following indexed offsets are not found in :{times}",
        "Indexed offset: 17, found log offset: 18",
        "Indexed offset: 900, found log offset: -1",
    ]


def test_a_segment_that_is_cut_off(copied: Path) -> None:
    log = copied / f"{FIRST}.log"
    log.write_bytes(log.read_bytes()[:1000])
    assert dump(log).stdout.splitlines()[-1] == f"Found 268 invalid bytes at the end of {log.name}"


def test_a_batch_with_a_wrong_crc(copied: Path) -> None:
    log = copied / f"{FIRST}.log"
    data = bytearray(log.read_bytes())
    data[370] ^= 1
    log.write_bytes(data)
    assert [line.endswith("isvalid: true") for line in dump(log).stdout.splitlines()[2:4]] == [False, True]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("foo.log", b"", "the name of a segment's file is the offset that it begins with"),
        (f"{FIRST}.log", bytes(100), "position 0: a batch of 0 bytes is smaller than any can be"),
        (f"{FIRST}.log", b"\0" * 11 + b"\x40" + b"\1" * 100, "records of format 1; only format 2 is read here"),
        (f"{FIRST}.index", b"\0\0\0\1\0\0\0\0", "No such file or directory"),
        ("x-y.checkpoint", b"", "the name of a KRaft snapshot is OFFSET-EPOCH.checkpoint"),
        ("leader-epoch-checkpoint", b"x", "not a checkpoint of leader epochs, or damaged"),
        (checkpoints.RECOVERY_POINTS, b"1\n", "version '1', expected 0"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    done = dump(path)
    assert done.exit_code == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_snapshots(tmp_path: Path) -> None:
    producer_snapshot.write(tmp_path, 12, [(7, 1, 2**31 - 2, 4, 5, 1000), (8, 0, 0, 0, 11, 2000)])
    path = tmp_path / f"{12:020}.snapshot"
    assert dump(path).stdout.splitlines()[1:] == [
        "producerId: 7 producerEpoch: 1 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong.empty "
        "lastTimestamp: 1000 firstSequence: 2147483646 lastSequence: 2 lastOffset: 9 offsetDelta: 4 timestamp: 1000",
        "producerId: 8 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong.empty "
        "lastTimestamp: 2000 firstSequence: 0 lastSequence: 0 lastOffset: 11 offsetDelta: 0 timestamp: 2000",
    ]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert "CRC is no longer valid" in dump(path).stderr


def test_everything_that_a_broker_leaves_behind(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    with RawClient(broker.host, broker.port) as client:
        client.create("t")
        producer_id, epoch = client.producer_id()
        records = batch_of([b"a", b"b"], producer_id=producer_id, producer_epoch=epoch, base_sequence=0)
        assert client.produce("t", records).error_code == 0
    broker.stop()
    done = dump(broker.directory, broker.directory / "t-0", "--print-data-log")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "topic: t partition: 0 offset: 2" in lines
    assert "epoch: 0 startOffset: 0" in lines
    assert any(line.startswith("version: 0 topicId: ") for line in lines)
    assert any(line.startswith("cluster.id: ") for line in lines)
    assert any(line.startswith(f"producerId: {producer_id} producerEpoch: {epoch} ") for line in lines)
    assert [line.split(" payload: ")[1] for line in lines if " payload: " in line] == ["a", "b"]


def test_wrong_usage() -> None:
    assert "name a file" in dump().output
    done = dump("--cluster-metadata-decoder", "x.log")
    assert done.stderr == (
        "kafpy: --cluster-metadata-decoder: these records are not decoded here; --print-data-log shows their bytes\n"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("nothing", f"{FIRST}.log", f"{FIRST}.index"):
        done = dump(tmp_path / name)
        assert done.exit_code == 1
        assert f"kafpy: {tmp_path / name}: No such file or directory" in done.output
