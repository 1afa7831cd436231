"""Why members are gone: the last few of each group, in memory only, for people who ask what happened."""

from collections import deque
from typing import NamedTuple

KEPT = 10


class Departure(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    reason: str
    at_ms: int
    """Wall clock."""

    def note(self, group_id: str) -> str:
        """For the log."""
        instance = f" (instance {self.group_instance_id})" if self.group_instance_id else ""
        return f"group {group_id}: member {self.member_id}{instance} at {self.client_host} is gone: {self.reason}"


class Departures:
    __slots__ = ("_by_group",)

    def __init__(self) -> None:
        self._by_group: dict[str, deque[Departure]] = {}

    def add(self, group_id: str, departure: Departure) -> None:
        self._by_group.setdefault(group_id, deque(maxlen=KEPT)).append(departure)

    def of(self, group_id: str) -> list[Departure]:
        """Oldest first."""
        return list(self._by_group.get(group_id, ()))

    def forget(self, group_id: str) -> None:
        self._by_group.pop(group_id, None)
