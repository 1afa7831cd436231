"""What a set of processes spent, from /proc: processor time, waiting for a processor, context switches, memory.

Each figure is the difference between two looks. Processor time is that of the threads' schedstat, to the nanosecond:
what the process's own stat counts is hundredths of a second, a tenth of a short run. Waiting (run delay, of schedstat)
is what a noisy neighbour takes: where it is large, the run says little about the broker.
"""

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_S = 0.05


@dataclass(frozen=True)
class Spent:
    cpu_s: float
    wait_s: float
    """Ready to run and not running, over all threads that are still there."""
    switches: int
    """Context switches, wanted and unwanted."""
    peak_mb: float
    """Resident at the most, of samples."""


class Account:
    """`with Account(pids) as account: …`, then account.spent."""

    def __init__(self, pids: tuple[int, ...]) -> None:
        self._pids = pids
        self._done = threading.Event()
        self._peak = resident_mb(pids)
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "Account":
        self._before = _threads(self._pids)
        self._coarse_before = _coarse_s(self._pids)
        self._sampler.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        after = _threads(self._pids)
        coarse = _coarse_s(self._pids) - self._coarse_before
        self._done.set()
        self._sampler.join()
        nothing = _Thread(0, 0, 0)
        run = wait = switches = 0
        for thread, now in after.items():
            before = self._before.get(thread, nothing)
            run += now.run_ns - before.run_ns
            wait += now.wait_ns - before.wait_ns
            switches += now.switches - before.switches
        cpu = max(run / 1e9, coarse - 1 / TICKS)  # of threads that ended meanwhile only the coarse count knows
        self.spent = Spent(cpu, wait / 1e9, switches, max(self._peak, resident_mb(self._pids)))

    def _sample(self) -> None:
        while not self._done.wait(SAMPLE_S):
            self._peak = max(self._peak, resident_mb(self._pids))


@dataclass(frozen=True)
class _Thread:
    run_ns: int
    wait_ns: int
    switches: int


def _coarse_s(pids: tuple[int, ...]) -> float:
    """User and kernel, of threads that are gone too."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def resident_mb(pids: tuple[int, ...]) -> float:
    total = 0
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        _, found, rest = status.partition("VmRSS:")
        total += int(rest.split()[0]) if found else 0
    return total / 1024


def _threads(pids: tuple[int, ...]) -> dict[str, _Thread]:
    found = {}
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                run_ns, wait_ns = map(int, (task / "schedstat").read_text().split()[:2])
                lines = (task / "status").read_text().splitlines()
            except (OSError, ValueError):  # ended meanwhile; or a kernel without schedstat
                continue
            switches = sum(int(line.split()[1]) for line in lines if "voluntary_ctxt_switches" in line)
            found[task.name] = _Thread(run_ns, wait_ns, switches)
    return found
