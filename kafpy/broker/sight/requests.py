"""How long requests took and how busy threads are, from what the planes count."""

import time
from collections.abc import Mapping

from kafpy._core import times
from kafpy._core.plane import Planes
from kafpy.broker.sight.exposition import Page, labels
from kafpy.protocol import api

DURATION = "kafpy_request_duration_seconds"
_NAMES = {each.key: each.name for each in vars(api).values() if isinstance(each, api.Api)}
_BOUNDS = times.bounds()
_SHOWN = [index for index, bound in enumerate(_BOUNDS) if bound & (bound - 1) == 0][3:-1]
"""One bucket to each doubling, from 8 microseconds to about a minute: what a scrape can carry for every API."""


def write(page: Page, planes: Planes) -> None:
    measured = planes.request_times()
    page.family(DURATION, "histogram", "From the arrival of a request to the sending of its reply, waits included.")
    for key, (total_us, buckets) in sorted(measured.items()):
        _histogram(page, labels({"request": _name(key)}), total_us, buckets)
    counted = [(labels({"request": _name(key)}), sum(buckets)) for key, (_, buckets) in sorted(measured.items())]
    page.many("kafka_network_requestmetrics_requests_total", "counter", "Requests answered, by API.", counted)


def _histogram(page: Page, of: str, total_us: int, buckets: list[int]) -> None:
    below = done = 0
    for index in _SHOWN:
        below += sum(buckets[done : index + 1])
        done = index + 1
        page.sample(f"{DURATION}_bucket", f'{of},le="{_BOUNDS[index] / 1e6:.6g}"', below)
    page.sample(f"{DURATION}_bucket", f'{of},le="+Inf"', sum(buckets))
    page.sample(f"{DURATION}_sum", of, total_us / 1e6)
    page.sample(f"{DURATION}_count", of, sum(buckets))


def _name(key: int) -> str:
    return _NAMES.get(key, str(key))


class Idleness:
    """The part of the time since the last look in which threads had nothing to do, from their processor time."""

    def __init__(self, spent: Mapping[str, int]) -> None:
        self._before = dict(spent)
        self._at = time.monotonic_ns()

    def look(self, spent: Mapping[str, int]) -> dict[str, float]:
        """By thread; `spent` is nanoseconds of processor time."""
        now = time.monotonic_ns()
        passed = max(now - self._at, 1)
        idle = {name: min(max(1 - (ns - self._before.get(name, 0)) / passed, 0.0), 1.0) for name, ns in spent.items()}
        self._before, self._at = dict(spent), now
        return idle
