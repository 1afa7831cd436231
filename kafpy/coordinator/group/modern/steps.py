"""What comes of a member that says something, of a member that is gone, and of topics that change.

Whatever changes what members subscribe to, or the topics themselves, makes a new epoch of the group (KIP-848). Targets
follow at once where a member speaks or topics change; after a member is gone, with the next heartbeat of another.
"""

from kafpy.coordinator.group.departures import Departure
from kafpy.coordinator.group.modern import regex as regular
from kafpy.coordinator.group.modern import timers
from kafpy.coordinator.group.modern.assignment import Owned
from kafpy.coordinator.group.modern.draft import Draft
from kafpy.coordinator.group.modern.group import ModernGroup, Resolved
from kafpy.coordinator.group.modern.member import ModernMember
from kafpy.coordinator.group.modern.reconcile import Goal, reconciled
from kafpy.coordinator.group.modern.targets import Targets
from kafpy.coordinator.group.topics import Changes, KnownTopics
from kafpy.coordinator.result import Result

Leavers = list[tuple[ModernMember, str]]
"""And why they are gone."""


class Steps:
    def __init__(self, topics: KnownTopics, targets: Targets) -> None:
        self._topics = topics
        self._targets = targets

    def take_in(self, draft: Draft, before: ModernMember, after: ModernMember, now_ms: int) -> bool:
        """A member's new metadata; whether its subscription is another."""
        changed = after.topics != before.topics or (after.regex or "") != (before.regex or "")
        if after.regex and after.regex not in draft.group.regexes:
            regular.check(after.regex)
        if after != before:
            draft.metadata(after)
        if (after.regex or "") != (before.regex or ""):
            self._resolve(draft, before.regex, after.regex, now_ms)
        if changed or draft.group.epoch == 0 or draft.is_new:
            self.next_epoch(draft)
        return changed

    def _resolve(self, draft: Draft, old: str | None, new: str | None, now_ms: int) -> None:
        if old and old in draft.group.regexes and not draft.group.subscribers(old):
            draft.regex(old, None)
        if new and new not in draft.group.regexes:
            found = regular.matching(new, self._topics.names())
            draft.regex(new, Resolved(found, self._topics.image.epoch, now_ms))

    def next_epoch(self, draft: Draft) -> None:
        draft.epoch(draft.group.epoch + 1, self._topics.hash(draft.group.subscribed))

    def advance(
        self, draft: Draft, member_id: str, owned: Owned | None, changed: bool, result: Result, now_ms: int
    ) -> ModernMember:
        """New targets if they are due, and the member's next step towards its own."""
        if draft.group.epoch > draft.group.assignment_epoch:
            self._targets.update(draft, now_ms)
        group = draft.group
        member = group.members[member_id]
        if member.is_at(group.assignment_epoch) and not changed:
            return member
        subscribed = self._topics.ids(group.topics_of(member))
        goal = Goal(group.assignment_epoch, group.target_of(member_id), subscribed, group.owners)
        after = reconciled(member, goal, owned, changed)
        if after != member:
            draft.assignment(after)
            result.timers.append(timers.rebalance(group.group_id, after))
        return after

    def remove(self, draft: Draft, leavers: Leavers, result: Result, now_ms: int) -> None:
        """Nothing is assigned anew: whoever is left does that when it comes."""
        members = [member for member, _ in leavers]
        for member, reason in leavers:
            draft.remove(member.member_id)
            self.gone(draft, member, reason, result, now_ms)
        for pattern in dict.fromkeys(member.regex for member in members if member.regex):
            if pattern in draft.group.regexes and not draft.group.subscribers(pattern):
                draft.regex(pattern, None)
        self.next_epoch(draft)

    @staticmethod
    def gone(draft: Draft, member: ModernMember, reason: str, result: Result, now_ms: int) -> None:
        result.timers += timers.cancel_all(draft.group.group_id, member.member_id)
        draft.departed.append(
            Departure(member.member_id, member.instance_id, member.client_id, member.client_host, reason, now_ms)
        )

    def topics_changed(self, group: ModernGroup, changes: Changes, result: Result, now_ms: int) -> None:
        resolved = {
            pattern: (known.topics - changes.deleted) | regular.matching(pattern, changes.created)
            for pattern, known in group.regexes.items()
        }
        if group.subscribed.isdisjoint(changes.names) and all(
            topics == group.regexes[pattern].topics for pattern, topics in resolved.items()
        ):
            return
        self._refresh(group, resolved, result, now_ms)

    def loaded(self, group: ModernGroup, result: Result, now_ms: int) -> None:
        """Topics may have changed while nobody looked."""
        resolved = {
            pattern: known.topics
            if known.version == self._topics.image.epoch
            else regular.matching(pattern, self._topics.names())
            for pattern, known in group.regexes.items()
        }
        self._refresh(group, resolved, result, now_ms)

    def _refresh(self, group: ModernGroup, resolved: dict[str, frozenset[str]], result: Result, now_ms: int) -> None:
        if not group.members:
            return
        draft = Draft(group, result.records)
        for pattern, topics in resolved.items():
            if topics != group.regexes[pattern].topics:
                draft.regex(pattern, Resolved(topics, self._topics.image.epoch, now_ms))
        if draft.group is not group or self._topics.hash(group.subscribed) != group.metadata_hash:
            self.next_epoch(draft)
            self._targets.update(draft, now_ms)
