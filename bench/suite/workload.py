"""Workloads: what a YAML file in bench/workloads asks for.

    shows: what its rows say
    topic: {partitions: 6, configs: {flush.messages: 1}}     of every row, unless the row has its own
    curve: partitions                                        rows that differ in this alone make a curve
    rows:
      - name: produce 1 KB, 5 in flight
        produce: {batch: 1x1000, in-flight: 5}
      - name: fetch while somebody produces
        stored: 256 MB                                       produced before, not measured
        fetch: {max-bytes: 64 KB}
        beside: [{produce: {batch: 16x1000, rate: 500}}]
        quick: true                                          a row of --quick

      - name: members of 1,000 groups                        each sends a heartbeat and a commit every second
        members: {groups: 1000, connections: 5}              connections of each group, a member on each
        headline: [share, p99]                               figures of it that the short table shows

A row measures one of produce, fetch, end-to-end, members, idle, start and restart. A batch is RECORDSxBYTES and perhaps
a codec; a rate is batches a second, or a part of what the row `of` could do at the most: 50 %.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bench.cost.tools import Shape
from kafpy.storage import compression

WORKLOADS = Path(__file__).parents[1] / "workloads"
LOADS = ("produce", "fetch", "end-to-end", "members")
KINDS = (*LOADS, "idle", "start", "restart")
FIGURES = ("cost", "share", "throughput", "p50", "p99", "memory", "time")
"""What a headline may show."""
CODECS = {
    "none": compression.NONE,
    "gzip": compression.GZIP,
    "snappy": compression.SNAPPY,
    "lz4": compression.LZ4,
    "zstd": compression.ZSTD,
}
UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}

_BATCH = re.compile(r"(\d+)x(\d+)(?: (\w+))?")
_SIZE = re.compile(r"(\d+) ?([KMG]?B|)")
_SHARE = re.compile(r"(\d+) ?%")


SMALL = Shape(1, 1000)


class WorkloadError(Exception):
    """Names the file and the row."""


@dataclass(frozen=True)
class Rate:
    """Batches a second, or a part of what another row did at the most; 0 of both: as fast as it goes."""

    per_s: float = 0
    share: float = 0
    of: str = ""


@dataclass(frozen=True)
class Load:
    kind: str
    batch: Shape = SMALL
    in_flight: int = 1
    connections: int = 1
    acks: int = 1
    max_bytes: int = 1 << 20
    rate: Rate = Rate()
    """Of all connections together."""
    groups: int = 1
    """Of members."""
    hop: bool = False
    """Each connection goes round all partitions, batch by batch, as a producer with keys does."""


@dataclass(frozen=True)
class Topic:
    partitions: int = 6
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    name: str
    kind: str
    load: Load | None
    topic: Topic
    beside: tuple[Load, ...] = ()
    stored: int = 0
    cold: bool = False
    """What is stored is dropped from the page cache first."""
    quick: bool = False
    headline: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload:
    name: str
    shows: str
    rows: tuple[Row, ...]
    curve: str = ""


def names() -> list[str]:
    return sorted(path.stem for path in WORKLOADS.glob("*.yaml"))


def load(name: str) -> Workload:
    path = Path(name) if name.endswith(".yaml") else WORKLOADS / f"{name}.yaml"
    if not path.exists():
        raise WorkloadError(f"there is no workload {name!r}; there are: {', '.join(names())}")
    try:
        return parse(path.stem, path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"cannot read {path}: {error}") from None


def parse(name: str, text: str) -> Workload:
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise WorkloadError(f"workload {name}: {error}") from None
    reading = _Reading(f"workload {name}", found, ("shows", "rows"), ("topic", "curve"))
    usual = _topic(reading, Topic())
    rows = reading.get("rows", list)
    made = tuple(_row(f"workload {name}, row {index + 1}", each, usual) for index, each in enumerate(rows))
    twice = {row.name for row in made if sum(other.name == row.name for other in made) > 1}
    if twice or not made:
        raise WorkloadError(f"workload {name}: rows need names of their own: {', '.join(twice) or 'there are none'}")
    before: set[str] = set()
    for row in made:
        if row.load is not None and row.load.rate.of not in ("", *before):
            raise WorkloadError(f"workload {name}: {row.name}: there is no row {row.load.rate.of!r} before it")
        before.add(row.name)
    curve = reading.get("curve", str, "")
    if curve not in ("", "partitions", "connections"):
        raise WorkloadError(f"workload {name}: curve is partitions or connections, not {curve!r}")
    return Workload(name, reading.get("shows", str).strip(), made, curve)


class _Reading:
    """A mapping with known keys; complains about others, and about values of the wrong kind."""

    def __init__(self, place: str, found: Any, needed: tuple[str, ...], allowed: tuple[str, ...]) -> None:
        if not isinstance(found, dict):
            raise WorkloadError(f"{place}: expected keys and values, found {found!r}")
        self.place, self._found = place, found
        unknown = [str(key) for key in found if key not in (*needed, *allowed)]
        missing = [key for key in needed if key not in found]
        if unknown:
            raise WorkloadError(f"{place}: unknown {', '.join(unknown)}; known: {', '.join((*needed, *allowed))}")
        if missing:
            raise WorkloadError(f"{place}: {', '.join(missing)} is missing")

    def __contains__(self, key: str) -> bool:
        return key in self._found

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        value = self._found.get(key, default)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise WorkloadError(f"{self.place}: {key} is {value!r}, no {kind.__name__}")
        return value

    def count(self, key: str, default: int) -> int:
        value = self.get(key, int, default)
        if value < 1:
            raise WorkloadError(f"{self.place}: {key} is {value}; it is at least 1")
        return int(value)


def _row(place: str, found: Any, usual: Topic) -> Row:
    reading = _Reading(place, found, ("name",), (*KINDS, "topic", "beside", "stored", "cold", "quick", "headline"))
    kinds = [kind for kind in KINDS if kind in reading]
    if len(kinds) != 1:
        raise WorkloadError(f"{place}: needs one of {', '.join(KINDS)}")
    kind = kinds[0]
    return Row(
        name=reading.get("name", str),
        kind=kind,
        load=_load(place, kind, found[kind]) if kind in LOADS else None,
        topic=_topic(reading, usual),
        beside=tuple(_beside(place, each) for each in reading.get("beside", list, [])),
        stored=_size(place, found.get("stored", 0)),
        cold=reading.get("cold", bool, False),
        quick=reading.get("quick", bool, False),
        headline=_headline(place, reading.get("headline", list, [])),
    )


def _headline(place: str, found: list[Any]) -> tuple[str, ...]:
    unknown = [str(each) for each in found if each not in FIGURES]
    if unknown:
        raise WorkloadError(f"{place}, headline: unknown {', '.join(unknown)}; known: {', '.join(FIGURES)}")
    return tuple(found)


def _topic(reading: _Reading, usual: Topic) -> Topic:
    if "topic" not in reading:
        return usual
    given = _Reading(f"{reading.place}, topic", reading.get("topic", dict), (), ("partitions", "configs"))
    configs = {key: str(value) for key, value in given.get("configs", dict, dict(usual.configs)).items()}
    return Topic(given.count("partitions", usual.partitions), configs)


def _beside(place: str, found: Any) -> Load:
    reading = _Reading(f"{place}, beside", found, (), LOADS)
    kinds = [kind for kind in LOADS if kind in reading]
    if len(kinds) != 1:
        raise WorkloadError(f"{place}, beside: one of {', '.join(LOADS)} each")
    return _load(place, kinds[0], found[kinds[0]])


def _load(place: str, kind: str, found: Any) -> Load:
    place = f"{place}, {kind}"
    known = tuple(each.name.replace("_", "-") for each in fields(Load) if each.name != "kind")
    reading = _Reading(place, {} if found is None else found, (), (*known, "of"))
    return Load(
        kind,
        batch=_batch(place, reading.get("batch", str, "1x1000")),
        in_flight=reading.count("in-flight", 1),
        connections=reading.count("connections", 1),
        acks=_acks(place, reading.get("acks", int, 1)),
        max_bytes=max(_size(place, (found or {}).get("max-bytes", 1 << 20)), 1),
        rate=_rate(place, (found or {}).get("rate", 0), reading.get("of", str, "")),
        groups=reading.count("groups", 1),
        hop=reading.get("hop", bool, False),
    )


def _acks(place: str, value: int) -> int:
    if value not in (-1, 1):
        raise WorkloadError(f"{place}: acks is {value}; a load waits for replies: 1, or -1 for all")
    return value


def _batch(place: str, text: str) -> Shape:
    match = _BATCH.fullmatch(text)
    if match is None or not int(match[1]) or not int(match[2]) or (match[3] or "none") not in CODECS:
        raise WorkloadError(f"{place}: batch {text!r}: expected RECORDSxBYTES and perhaps one of {', '.join(CODECS)}")
    return Shape(int(match[1]), int(match[2]), CODECS[match[3] or "none"])


def _size(place: str, value: Any) -> int:
    match = _SIZE.fullmatch(str(value))
    if match is None:
        raise WorkloadError(f"{place}: {value!r} is no size: say 64 KB, 1 MB")
    return int(match[1]) * UNITS[match[2]]


def _rate(place: str, value: Any, of: str) -> Rate:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return Rate(per_s=float(value))
    match = _SHARE.fullmatch(str(value))
    if match is None or not of:
        raise WorkloadError(f"{place}: rate {value!r}: batches a second, or 50 % with `of:` the row it is a part of")
    return Rate(share=int(match[1]) / 100, of=of)
