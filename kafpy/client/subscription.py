"""A consumer whose partitions come from a group: joins, keeps the membership up, and commits where reading has got to.

Heartbeats go out from poll(): who does not poll for the session timeout loses its partitions, as with any client that
has no thread for them.
"""

import time
from collections.abc import Callable, Iterable

from kafpy.client.cluster import LATEST, Cluster, TopicPartition
from kafpy.client.consumer import Consumer, Fetched, OutOfRange, Terms
from kafpy.client.groups import Groups
from kafpy.client.membership import Membership

NO_COMMITS = -1.0


class Subscription:
    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topics: Callable[[], Iterable[str]],
        terms: Terms,
        *,
        commit_every_s: float = 5.0,
        session_timeout_ms: int = 45_000,
    ) -> None:
        """topics is asked anew at each join. commit_every_s=NO_COMMITS: nothing is ever committed."""
        self._cluster = cluster
        self._group_id = group_id
        self._terms = terms
        self._membership = Membership(cluster, group_id, topics, session_timeout_ms=session_timeout_ms)
        self._commit_every_s = commit_every_s
        self._next_commit = 0.0
        self._committed: dict[TopicPartition, int] = {}
        self._joined = False
        self.told: Callable[[str, tuple[TopicPartition, ...]], None] | None = None
        """Told of each assignment: our member id, and what is ours."""
        self.consumer = Consumer(cluster, terms)
        self.read: dict[TopicPartition, int] = {}
        """The offset after what the caller is done with, by partition; it says so. This is what is committed."""
        self.joining_s = 0.0
        """Time spent in joining, in all."""

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.commit()
        self._membership.leave()
        self.consumer.close()

    def poll(self, timeout_s: float = 0.5) -> list[Fetched]:
        if self._joined and not self._membership.beat():
            self.commit()
            self._joined = False
        if not self._joined:
            self._join()
        if time.monotonic() >= self._next_commit:
            self.commit()
        return self.consumer.poll(timeout_s)

    def commit(self) -> None:
        self._next_commit = time.monotonic() + self._commit_every_s
        news = {each: offset for each, offset in self.read.items() if self._committed.get(each) != offset}
        if self._joined and self._commit_every_s != NO_COMMITS and news:
            self._joined = self._membership.commit(news)
            if self._joined:
                self._committed |= news

    def _join(self) -> None:
        began = time.monotonic()
        assigned = self._membership.join()
        found = Groups(self._cluster).committed(self._group_id) if assigned else {}
        positions = {each: found[each].offset for each in assigned if each in found}
        fresh = [each for each in assigned if each not in found]
        if fresh and self._terms.reset is None:
            raise OutOfRange(f"group {self._group_id} has no offset for {fresh[0][0]} [{fresh[0][1]}]")
        if fresh:
            where = self._terms.reset if self._terms.reset is not None else LATEST
            positions |= self._cluster.offsets(dict.fromkeys(fresh, where), isolation=self._terms.isolation)
        self.consumer.assign(positions)
        self.read.clear()  # whoever fills it keeps hold of it
        self._committed.clear()
        self._joined = True
        self.joining_s += time.monotonic() - began
        if self.told is not None:
            self.told(self._membership.member_id, assigned)
