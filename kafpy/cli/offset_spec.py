"""Where reading starts and where it ends, as users write it, and what that means for each partition.

start, end          the first record; only what comes from now on
stored              where the group is (kcat), the start where it never was
N, +N, -N           an offset; N after the start; N before the end
N:M  :M  N:end      to before an offset, or to where the log ends now
@TIME  @TIME:TIME   by time, see time_range
s@MS  e@MS          from, and to (kcat)
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafpy.cli.time_range import parse_range
from kafpy.client.cluster import EARLIEST, LATEST, Cluster, TopicPartition

STARTS = {"start", "beginning", "earliest", "oldest"}
ENDS = {"end", "latest", "newest"}


class Place(NamedTuple):
    """kind: "start", "end", "stored", "offset", "after" the start, "before" the end, or "time"."""

    kind: str
    number: int = 0


class Spec(NamedTuple):
    start: Place | None = None
    stop: Place | None = None


class SpecError(ValueError):
    """One line for the user."""


def parse(text: str, now_ms: int) -> Spec:
    """TimeError or SpecError for what is none."""
    if text[:2] in ("s@", "e@"):
        if not text[2:].isdecimal():
            raise SpecError(f"{text!r}: after {text[:2]} comes a time in milliseconds")
        place = Place("time", int(text[2:]))
        return Spec(place) if text[0] == "s" else Spec(None, place)
    if text.startswith("@"):
        start, end = parse_range(text[1:], now_ms)
        return Spec(Place("time", start), None if end is None else Place("time", end))
    first, colon, last = text.partition(":")
    return Spec(_place(first, text) if first or not colon else Place("start"), _place(last, text) if colon else None)


def _place(word: str, text: str) -> Place:
    if word in STARTS:
        return Place("start")
    if word in ENDS:
        return Place("end")
    if word == "stored":
        return Place("stored")
    sign, digits = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
    if not (digits.isascii() and digits.isdigit()):
        raise SpecError(f"{text!r} is not an offset: start, end, N, +N, -N, N:M, @TIME or @TIME:TIME")
    return Place({"+": "after", "-": "before", "": "offset"}[sign], int(digits))


class Bounds:
    """Offsets of the places in these partitions; asks for each log's start and end only when it must."""

    def __init__(self, cluster: Cluster, partitions: Iterable[TopicPartition], isolation: int) -> None:
        self._cluster = cluster
        self._partitions = list(partitions)
        self._isolation = isolation
        self._known: dict[int, dict[TopicPartition, int]] = {}

    def at(self, place: Place, stored: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        kind, number = place
        if kind == "start":
            return self._listed(EARLIEST)
        if kind == "end":
            return self._listed(LATEST)
        if kind == "offset":
            return dict.fromkeys(self._partitions, number)
        if kind == "after":
            ends = self._listed(LATEST)
            return {each: min(offset + number, ends[each]) for each, offset in self._listed(EARLIEST).items()}
        if kind == "before":
            starts = self._listed(EARLIEST)
            return {each: max(offset - number, starts[each]) for each, offset in self._listed(LATEST).items()}
        if kind == "stored":
            return {each: stored.get(each, offset) for each, offset in self._listed(EARLIEST).items()}
        ends = self._listed(LATEST)
        return {each: ends[each] if offset < 0 else offset for each, offset in self._listed(number).items()}

    def _listed(self, time: int) -> dict[TopicPartition, int]:
        if time not in self._known:
            asked = dict.fromkeys(self._partitions, time)
            self._known[time] = self._cluster.offsets(asked, isolation=self._isolation) if asked else {}
        return self._known[time]


def resolve(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    spec: Spec,
    *,
    isolation: int = 0,
    exit_at_end: bool = False,
    stored: Mapping[TopicPartition, int] | None = None,
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Positions to read from, and where to stop. A partition without a leader is left out of both."""
    bounds = Bounds(cluster, partitions, isolation)
    positions = bounds.at(spec.start or Place("end"), stored or {})
    stop = spec.stop or (Place("end") if exit_at_end else None)
    ends = {} if stop is None else bounds.at(stop, {})
    if exit_at_end and spec.stop is not None:
        last = bounds.at(Place("end"), {})
        ends = {each: min(offset, last.get(each, offset)) for each, offset in ends.items()}
    return positions, ends
