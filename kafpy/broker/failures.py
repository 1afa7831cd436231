"""Says what went wrong in a handler: once a minute per kind and place, never with a client's bytes in it."""

import logging
import traceback
from collections.abc import Callable

logger = logging.getLogger(__name__)

INTERVAL_S = 60.0
KINDS = 1000


class Failures:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._said: dict[tuple[str, str], float] = {}
        self._silent: dict[tuple[str, str], int] = {}

    def report(self, what: str, error: BaseException) -> None:
        """The type and the place only: the text of an exception may quote what a client sent."""
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = f"{last[0].filename}:{last[0].lineno}" if last else "?"
        kind = type(error).__name__, place
        now = self._now()
        if now - self._said.get(kind, -INTERVAL_S) < INTERVAL_S:
            self._silent[kind] = self._silent.get(kind, 0) + 1
            return
        if len(self._said) >= KINDS:
            self._said.clear()
        self._said[kind] = now
        again = self._silent.pop(kind, 0)
        more = f" ({again} more since the last report)" if again else ""
        logger.error("%s failed with %s at %s; the connection was closed%s", what, *kind, more)
