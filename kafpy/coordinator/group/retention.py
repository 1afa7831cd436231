"""Which committed offsets are old enough to go (Kafka's OffsetExpirationCondition).

An offset in use does not age: not while its group has members, unless they are Stable and not subscribed to its topic.
Else it goes `offsets.retention.minutes` after its group became empty, or after its commit where the group never had
members, or at the time that was asked for when it was committed (OffsetCommit before version 5).

A check of many offsets goes in slices, so that requests come in between.
"""

from collections.abc import Callable

from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.offset_record import CommittedOffset, offset_tombstone
from kafpy.coordinator.group.offset_requests import OffsetOwner
from kafpy.coordinator.group.offsets import Offsets
from kafpy.coordinator.result import Result, Timer

SLICE = 10_000
TIMER = ("offsets",)


class Retention:
    def __init__(self, config: GroupConfig, offsets: Offsets) -> None:
        self._config = config
        self._offsets = offsets
        self._left: list[str] = []
        """Groups that the check under way has not come to."""

    def start(self) -> Timer:
        return Timer(TIMER, self._config.offsets_retention_check_interval_ms)

    def check(
        self, groups: Callable[[], list[str]], find: Callable[[str], OffsetOwner | None], now_ms: int
    ) -> tuple[Result, list[str]]:
        """Tombstones and the next timer; and the groups that have no offsets left."""
        result, without = Result(atomic=False), []
        if not self._left:
            self._left = groups()
        seen = 0
        while self._left and seen < SLICE:
            group_id = self._left.pop()
            group = find(group_id)
            if group is None:
                continue
            seen += self._offsets.count(group_id) + 1
            if self._expire(group_id, group, result, now_ms):
                without.append(group_id)
        result.timers.append(Timer(TIMER, 1) if self._left else self.start())
        return result, without

    def _expire(self, group_id: str, group: OffsetOwner, result: Result, now_ms: int) -> bool:
        """Whether nothing is left."""
        all_expired = True
        for topic in self._offsets.topics(group_id):
            if group.is_subscribed_to(topic):
                all_expired = False
                continue
            for partition, committed in self._offsets.partitions(group_id, topic):
                if self._is_expired(group, committed, now_ms):
                    result.records.append(offset_tombstone(group_id, topic, partition))
                else:
                    all_expired = False
        return all_expired

    def _is_expired(self, group: OffsetOwner, committed: CommittedOffset, now_ms: int) -> bool:
        since = group.retained_from(committed.commit_timestamp)
        if since is None:
            return False
        if committed.expire_timestamp != -1:
            return now_ms >= committed.expire_timestamp
        return now_ms - since >= self._config.offsets_retention_ms
