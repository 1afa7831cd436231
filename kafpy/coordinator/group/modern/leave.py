"""Members that leave a modern group, or are put out of it; and what becomes of a group that only classic members are
left in.
"""

from dataclasses import replace
from typing import Any

from kafpy.coordinator.group.classic import ClassicGroup
from kafpy.coordinator.group.config import GroupConfig
from kafpy.coordinator.group.modern import lookup, timers
from kafpy.coordinator.group.modern.assignment import NOTHING
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.heartbeat import left
from kafpy.coordinator.group.modern.member import RELEASED, ModernMember
from kafpy.coordinator.group.modern.migration import Migration
from kafpy.coordinator.group.modern.sizes import fit
from kafpy.coordinator.group.modern.steps import Leavers, Steps
from kafpy.coordinator.group.rebalance import Rebalance
from kafpy.coordinator.result import Result


class Leave:
    def __init__(self, config: GroupConfig, steps: Steps, migration: Migration, rebalance: Rebalance) -> None:
        self._config = config
        self._steps = steps
        self._migration = migration
        self._rebalance = rebalance

    def by_heartbeat(self, draft: Draft, body: Any, result: Result, now_ms: int) -> tuple[Any, ClassicGroup | None]:
        """For good, or, as a static member may, to come back before its session ends."""
        member = lookup.known(draft.group, body.member_id, body.instance_id)
        if body.member_epoch == RELEASED:
            self._release(draft, member, result)
            return left(body), None
        return left(body), self.remove(draft, [(member, "left")], result, now_ms)

    def remove(self, draft: Draft, leavers: Leavers, result: Result, now_ms: int) -> ClassicGroup | None:
        """The classic group that is left, if it is one."""
        if self._migration.is_downgrade(draft.group, [member for member, _ in leavers]):
            classic = self._downgrade(draft, leavers, result, now_ms)
            if classic is not None:
                return classic
        self._steps.remove(draft, leavers, result, now_ms)
        return None

    def _downgrade(self, draft: Draft, leavers: Leavers, result: Result, now_ms: int) -> ClassicGroup | None:
        """Nothing comes of it where the classic group does not fit in a record."""
        trial = Result()
        attempt = Draft(draft.group, trial.records)
        for member, reason in leavers:
            attempt.remove(member.member_id)
            self._steps.gone(attempt, member, reason, trial, now_ms)
        classic = self._migration.downgraded(attempt, trial, now_ms)
        if not fit(trial.records, self._config):
            return None
        result.add(trial)
        draft.departed += attempt.departed
        self._rebalance.prepare(classic, result, now_ms)
        return classic

    @staticmethod
    def _release(draft: Draft, member: ModernMember, result: Result) -> None:
        """It keeps its partitions, from before any epoch: commits under its old id are over."""
        kept = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()}
        draft.assignment(replace(member, epoch=RELEASED, assigned=kept, revoking=NOTHING))
        result.timers.append(timers.cancel("rebalance", draft.group.group_id, member.member_id))
