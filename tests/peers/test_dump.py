"""Kafka's dump-log tool reads our segments, indexes and producer snapshots, and finds nothing wrong with them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.raw import RawClient
from tests.peers.tools import DUMP, PRODUCER_PERFORMANCE, Tools

pytestmark = pytest.mark.peers

COUNT = 6_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COMPLAINTS = ("mismatch", "isvalid: false", "out of order", "non-consecutive", "corrupt", "exception", "not found")
FROM_THE_START = re.compile(r"^Non-consecutive offsets in .*/0*(\d+)\.log\n +-1 is followed by \1\n", re.M)
"""Said of every segment that does not begin with offset 0, Kafka's own too: the tool thinks that -1 came before."""


@pytest.fixture(scope="module", params=["stopped", "killed"])
def written(
    request: pytest.FixtureRequest, fetched: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Tools, Path]]:
    """A partition's folder: every codec, an idempotent Java producer, many segments; its broker has ended."""
    data = tmp_path_factory.mktemp("dumped") / "data"
    broker = BrokerProcess(data, log_segment_bytes=1 << 20)
    tools = Tools(fetched, broker.bootstrap)
    with RawClient(broker.host, broker.port) as client:
        client.create("dumped")
        for codec in CODECS:
            tools.ask(
                PRODUCER_PERFORMANCE, "--topic", "dumped", "--num-records", str(COUNT), "--record-size", "500",
                "--throughput", "-1", "--command-property", f"compression.type={codec}", "enable.idempotence=true",
            )  # fmt: skip
        assert client.offset("dumped", -1).offset == COUNT * len(CODECS)
    if request.param == "stopped":
        broker.stop()
    else:
        broker.restart(crash=True)
        broker.stop()
    yield tools, data / "dumped-0"


def dump(tools: Tools, *arguments: str | Path) -> str:
    said = tools.run(DUMP, *arguments)
    all_said = FROM_THE_START.sub("", said.out + said.err)
    found = [word for word in COMPLAINTS if word in all_said.lower()]
    assert not found, said.out[:2000] + said.err[:2000]
    return said.out


def files(folder: Path, ending: str) -> str:
    return ",".join(map(str, sorted(folder.glob(f"*.{ending}"))))


def test_segments(written: tuple[Tools, Path]) -> None:
    tools, folder = written
    assert len(list(folder.glob("*.log"))) > 4
    said = dump(tools, "--deep-iteration", "--files", files(folder, "log"))
    assert re.findall(r"^\| offset: (\d+) ", said, re.M) == [str(each) for each in range(COUNT * len(CODECS))]
    batches = re.findall(r"^baseOffset: .*$", said, re.M)
    assert all("isvalid: true" in each for each in batches)
    assert all(re.search(r"producerId: \d+ producerEpoch: 0 partitionLeaderEpoch: 0 ", each) for each in batches)
    assert {re.search(r"compresscodec: (\w+)", each)[1] for each in batches} == set(CODECS)  # type: ignore[index]


def test_offset_indexes(written: tuple[Tools, Path]) -> None:
    """Without --index-sanity-check the tool looks every entry up in its segment."""
    tools, folder = written
    said = dump(tools, "--files", files(folder, "index"))
    assert len(re.findall(r"^offset: \d+ position: \d+$", said, re.M)) > 40
    sane = dump(tools, "--index-sanity-check", "--files", files(folder, "index"))
    assert sane.count("passed sanity check.") == len(list(folder.glob("*.index")))


def test_time_indexes(written: tuple[Tools, Path]) -> None:
    tools, folder = written
    said = dump(tools, "--files", files(folder, "timeindex"))
    assert len(re.findall(r"^timestamp: \d{13} offset: \d+$", said, re.M)) >= len(list(folder.glob("*.timeindex")))
    sane = dump(tools, "--index-sanity-check", "--files", files(folder, "timeindex"))
    assert sane.count("passed sanity check.") == len(list(folder.glob("*.timeindex")))


def test_producer_snapshots(written: tuple[Tools, Path]) -> None:
    tools, folder = written
    newest = max(folder.glob("*.snapshot"))
    assert int(newest.stem) == COUNT * len(CODECS)
    said = dump(tools, "--files", newest)
    producers = re.findall(r"^producerId: (\d+) producerEpoch: 0 .* lastSequence: (\d+) lastOffset: (\d+) ", said, re.M)
    assert {int(last) for _, _, last in producers} == {COUNT * (number + 1) - 1 for number in range(len(CODECS))}
    assert {int(sequence) for _, sequence, _ in producers} == {COUNT - 1}
    assert len({producer for producer, _, _ in producers}) == len(CODECS)


def test_damage_is_found(written: tuple[Tools, Path], tmp_path: Path) -> None:
    """The checks above would see it: an index entry that points elsewhere, and a record that changed."""
    tools, folder = written
    original = min(folder.glob("*.log"))
    for ending in ("log", "index", "timeindex"):
        content = bytearray(original.with_suffix(f".{ending}").read_bytes())
        content[-1] ^= 1
        (tmp_path / original.stem).with_suffix(f".{ending}").write_bytes(content)
    for ending in ("log", "index", "timeindex"):
        with pytest.raises(AssertionError, match=r"not found|mismatch|isvalid: false|Exception"):
            dump(tools, "--files", (tmp_path / original.stem).with_suffix(f".{ending}"))
