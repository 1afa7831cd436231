"""Says every few seconds how far the opening of the logs is, when it takes that long."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

logger = logging.getLogger(__name__)

INTERVAL_S = 5.0
NAMED = 3


class Progress:
    """Used by several threads at a time."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._open: set[Path] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    @contextmanager
    def opening(self, folder: Path) -> Iterator[None]:
        with self._lock:
            self._open.add(folder)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(folder)
                self._done += 1

    def _report(self) -> None:
        while not self._over.wait(INTERVAL_S):
            with self._lock:
                done, names = self._done, sorted(folder.name for folder in self._open)
            now = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
            logger.warning("%d of %d logs are open; now recovering %s", done, self._total, now)
