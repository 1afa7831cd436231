"""Deadlines by owner and key. Setting one again is a dictionary's store: most are sessions that a heartbeat moves on.

A heap holds at most one valid entry per key, whose time is not later than the deadline: when it comes up and the
deadline has moved on, it is put back.
"""

from collections.abc import Hashable
from heapq import heappop, heappush
from itertools import count


class Deadlines:
    """Of one owner."""

    __slots__ = ("due", "queued")

    def __init__(self) -> None:
        self.due: dict[Hashable, float] = {}
        self.queued: dict[Hashable, float] = {}
        """Keys with an entry in the heap, and its time; others in the heap are passed over."""


class Timers:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Deadlines, Hashable]] = []
        self._numbers = count()

    def set(self, owner: Deadlines, key: Hashable, deadline: float) -> None:
        owner.due[key] = deadline
        if owner.queued.get(key, deadline + 1) > deadline:
            owner.queued[key] = deadline
            heappush(self._heap, (deadline, next(self._numbers), owner, key))

    @staticmethod
    def cancel(owner: Deadlines, key: Hashable) -> None:
        owner.due.pop(key, None)

    @staticmethod
    def forget(owner: Deadlines) -> None:
        owner.due.clear()
        owner.queued.clear()

    @property
    def next(self) -> float | None:
        """When to call pop_due; not later than the first deadline."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> tuple[Deadlines, Hashable] | None:
        """The first whose deadline has come; it is not set any more."""
        while self._heap and self._heap[0][0] <= now:
            at, _, owner, key = heappop(self._heap)
            if owner.queued.get(key) != at:
                continue
            del owner.queued[key]
            deadline = owner.due.get(key)
            if deadline is None:
                continue
            if deadline > at:
                self.set(owner, key, deadline)
                continue
            del owner.due[key]
            return owner, key
        return None
