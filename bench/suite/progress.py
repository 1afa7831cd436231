"""How far a run is and how long it will take: a line that stands still on a terminal, a line a run elsewhere."""

import shutil
import sys
import time


class Progress:
    """`runs`: how many there will be, each with an estimate in seconds that earlier ones correct."""

    def __init__(self, estimates: list[float]) -> None:
        self._left = estimates
        self._done = 0.0
        self._expected = 0.0
        self._begun = time.monotonic()
        self._total = len(estimates)
        self._terminal = sys.stderr.isatty()

    def next(self, what: str) -> None:
        """One run begins."""
        number = self._total - len(self._left) + 1
        text = f"[{number}/{self._total}] {what}, {self._time_left()}"
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
            sys.stderr.flush()
        else:
            print(text, file=sys.stderr, flush=True)
        self._expected += self._left.pop(0) if self._left else 0

    def end(self) -> None:
        wipe()

    def _time_left(self) -> str:
        spent = time.monotonic() - self._begun
        pace = spent / self._expected if self._expected else 1.0
        seconds = sum(self._left) * pace
        return f"{seconds / 60:.0f} min left" if seconds >= 90 else f"{seconds:.0f} s left"


def wipe() -> None:
    """Takes the line away, before something else is said."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
