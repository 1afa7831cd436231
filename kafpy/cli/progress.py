"""A line on stderr that says how far a command has got, while somebody watches."""

import sys
import time


class Progress:
    """Nothing is written unless stderr is a terminal."""

    def __init__(self, what: str, *, wanted: bool = True) -> None:
        self._what = what
        self._shown = wanted and sys.stderr.isatty()
        self._began = self._last = time.monotonic()
        self._wrote = False

    def show(self, count: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= 0.5:
            self._last = now
            rate = count / max(now - self._began, 1e-9)
            sys.stderr.write(f"\r{count:,} messages {self._what}, {rate:,.0f} a second \x1b[K")
            sys.stderr.flush()
            self._wrote = True

    def clear(self) -> None:
        if self._wrote:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._wrote = False
