"""What YAML may say, and what is said of the rest."""

from pathlib import Path

import pytest

from bench.cost.tools import Shape
from bench.suite import workload
from bench.suite.workload import Load, Rate, Topic, WorkloadError, parse
from kafpy.storage import compression


def test_all_that_ship_can_be_read() -> None:
    found = [workload.load(name) for name in workload.names()]
    assert len(found) >= 10
    assert all(each.shows and each.rows for each in found)
    names = [row.name for each in found for row in each.rows]
    assert len(set(names)) == len(names)
    assert any(row.quick for each in found for row in each.rows)
    for each in found:
        told = {row.name for row in each.rows}
        assert {row.load.rate.of for row in each.rows if row.load and row.load.rate.of} <= told


def test_a_row() -> None:
    text = """
    shows: something
    topic: {partitions: 3, configs: {flush.messages: 1}}
    rows:
      - {name: other, produce: {}}
      - name: one
        produce: {batch: 16x100 lz4, in-flight: 5, connections: 2, rate: 10 %, of: other, hop: true, acks: -1}
        beside: [{fetch: {max-bytes: 64 KB, rate: 7}}]
        stored: 3 MB
      - {name: two, idle: {}, topic: {partitions: 9}}
    """
    _, one, two = parse("mine", text).rows
    assert one.load == Load(
        "produce",
        Shape(16, 100, compression.LZ4),
        in_flight=5,
        connections=2,
        acks=-1,
        rate=Rate(share=0.1, of="other"),
        hop=True,
    )
    assert one.beside == (Load("fetch", max_bytes=65536, rate=Rate(per_s=7)),)
    assert (one.stored, one.topic) == (3 << 20, Topic(3, {"flush.messages": "1"}))
    assert (two.kind, two.load, two.topic.partitions) == ("idle", None, 9)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("[]", "rows need names of their own: there are none"),
        ("[{name: a, produce: {}}, {name: a, fetch: {}}]", "rows need names of their own: a"),
        ("[{name: a}]", "row 1: needs one of produce, fetch"),
        ("[{name: a, produce: {}, fetch: {}}]", "row 1: needs one of"),
        ("[{name: a, produce: {in_flight: 5}}]", "row 1, produce: unknown in_flight; known: batch, in-flight"),
        ("[{name: a, produce: {in-flight: many}}]", "in-flight is 'many', no int"),
        ("[{name: a, produce: {in-flight: true}}]", "in-flight is True, no int"),
        ("[{name: a, produce: {batch: 1 KB}}]", "batch '1 KB': expected RECORDSxBYTES"),
        ("[{name: a, produce: {batch: 1x1 brotli}}]", "perhaps one of none, gzip"),
        ("[{name: a, produce: {in-flight: 0}}]", "in-flight is 0; it is at least 1"),
        ("[{name: a, produce: {}, topic: {partitions: 0}}]", "partitions is 0; it is at least 1"),
        ("[{name: a, produce: {acks: 0}}]", "acks is 0; a load waits for replies"),
        ("[{name: a, produce: {batch: 0x100}}]", "batch is 256, no str"),
        ("[{name: a, produce: {batch: 0x100 lz4}}]", "batch '0x100 lz4': expected RECORDSxBYTES"),
        ("[{name: a, produce: {rate: 10 %, of: b}}, {name: b, produce: {}}]", "a: there is no row 'b' before it"),
        ("[{name: a, produce: {rate: 10 %}}]", "with `of:` the row it is a part of"),
        ("[{name: a, produce: {rate: fast}}]", "batches a second"),
        ("[{name: a, fetch: {max-bytes: 1 TB}}]", "'1 TB' is no size"),
        ("[{name: a, fetch: {}, beside: [{idle: {}}]}]", "beside: unknown idle"),
        ("[{name: a, fetch: {}, headline: [beauty]}]", "headline: unknown beauty; known: cost, "),
        ("{a: b}", "rows is {'a': 'b'}, no list"),
        ("[1]", "row 1: expected keys and values"),
    ],
)
def test_what_is_wrong_is_named(rows: str, said: str) -> None:
    with pytest.raises(WorkloadError, match="workload mine") as caught:
        parse("mine", f"shows: x\nrows: {rows}\n")
    assert said in str(caught.value)


def test_no_yaml_at_all(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="workload mine"):
        parse("mine", "a: [")
    (tmp_path / "noise.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.yaml").mkdir()
    for name in ("noise.yaml", "folder.yaml"):
        with pytest.raises(WorkloadError, match=f"cannot read .*{name}"):
            workload.load(str(tmp_path / name))
