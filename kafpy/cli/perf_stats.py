"""What kafka-producer-perf-test counts and prints, line for line. Latencies are whole milliseconds, as there.

Every record counts towards the percentiles; Kafka's tool takes samples above 500,000 records.
"""

from collections import Counter
from collections.abc import Callable

PERCENTILES = (0.5, 0.95, 0.99, 0.999)


class Stats:
    """steady: of what comes after the warm-up, which has lines of its own."""

    def __init__(self, now_ms: int, interval_ms: int, say: Callable[[str], None], *, steady: bool = False) -> None:
        self._start = self._window_start = now_ms
        self._interval_ms = interval_ms
        self._say = say
        self._steady = steady
        self.silent = False
        self.count = self._bytes = self._latency = 0
        self._latencies: Counter[int] = Counter()
        self._clear()

    def _clear(self) -> None:
        self._window_count = self._window_bytes = self._window_latency = self._window_max = 0

    def record(self, latency_ms: int, count: int, size: int, now_ms: int) -> None:
        """Of so many records of this size in all that took so long."""
        self.count += count
        self._bytes += size
        self._latency += latency_ms * count
        self._latencies[latency_ms] += count
        self._window_count += count
        self._window_bytes += size
        self._window_latency += latency_ms * count
        self._window_max = max(self._window_max, latency_ms)
        if now_ms - self._window_start >= self._interval_ms:
            if self._steady and self.count == self._window_count:
                self._say("In steady state.")
            if not self.silent:
                self._say(self._window_line(now_ms))
            self._window_start = now_ms
            self._clear()

    def _window_line(self, now_ms: int) -> str:
        rate, mb = _rates(self._window_count, self._window_bytes, now_ms - self._window_start)
        mean = self._window_latency / self._window_count
        return (
            f"{self._window_count} records sent, {rate:.1f} records/sec ({mb:.2f} MB/sec), "
            f"{mean:.1f} ms avg latency, {self._window_max:.1f} ms max latency."
        )

    def total_line(self, now_ms: int) -> str:
        rate, mb = _rates(self.count, self._bytes, now_ms - self._start)
        steady = " steady state" if self._steady else ""
        mean = self._latency / self.count if self.count else 0.0
        p50, p95, p99, p999 = self.percentiles()
        return (
            f"{self.count}{steady} records sent, {rate:.6f} records/sec ({mb:.2f} MB/sec), "
            f"{mean:.2f} ms avg latency, {max(self._latencies, default=0):.2f} ms max latency, "
            f"{p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )

    def percentiles(self) -> list[int]:
        found: list[int] = []
        seen = 0
        places = [int(each * self.count) for each in PERCENTILES]
        for latency in sorted(self._latencies):
            seen += self._latencies[latency]
            while len(found) < len(places) and places[len(found)] < seen:
                found.append(latency)
        return found + [0] * (len(places) - len(found))


def _rates(count: int, size: int, elapsed_ms: int) -> tuple[float, float]:
    """Records and MiB a second."""
    elapsed_s = max(elapsed_ms, 1) / 1000
    return count / elapsed_s, size / elapsed_s / (1 << 20)
