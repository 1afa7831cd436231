"""controller_mutation_rate: how many partitions a client may create and delete per second (KIP-599).

A token bucket as in Kafka (TokenBucket, ControllerMutationQuotaManager): it holds what all windows allow, a change
passes while it is not below zero and takes what it needs, so one large change may overdraw it.
"""

from kafpy.broker.limits import ANONYMOUS, CONTROLLER_MUTATION_RATE
from kafpy.metadata import MetadataError
from kafpy.metadata.client_quota import Quotas, applied
from kafpy.protocol.errors import ErrorCode

KEPT = 10_000


class Bucket:
    def __init__(self, rate: float, window_seconds: float, now: float) -> None:
        self.rate = rate
        self._most = rate * window_seconds
        self._tokens = self._most
        self._seen = now

    def take(self, count: int, now: float, strict: bool) -> bool:
        """False, and nothing taken: it is overdrawn, and who asks is strict."""
        self._fill(now)
        if self._tokens < 0 and strict:
            return False
        self._tokens -= count
        return True

    def delay_ms(self, now: float) -> int:
        self._fill(now)
        return max(0, round(-self._tokens / self.rate * 1000))

    def _fill(self, now: float) -> None:
        self._tokens = min(self._most, self._tokens + (now - self._seen) * self.rate)
        self._seen = now


class MutationQuota:
    """Of all clients; `window_seconds` is controller.quota.window.num times its size."""

    def __init__(self, window_seconds: float) -> None:
        self._window_seconds = window_seconds
        self._buckets: dict[str | None, Bucket] = {}

    def charge(self, quotas: Quotas, client_id: str, partitions: int, now: float, strict: bool) -> int:
        """Milliseconds for the reply. MetadataError 89 where a strict client is above its rate, and may not go on."""
        bucket = self._bucket(quotas, client_id, now)
        if bucket is None:
            return 0
        if not bucket.take(partitions, now, strict):
            raise MetadataError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")
        return bucket.delay_ms(now)

    def _bucket(self, quotas: Quotas, client_id: str, now: float) -> Bucket | None:
        found = applied(quotas, ANONYMOUS, client_id, CONTROLLER_MUTATION_RATE)
        if found is None:
            return None
        key = None if found.shared else client_id
        bucket = self._buckets.pop(key, None)
        if bucket is None or bucket.rate != found.value:
            bucket = Bucket(found.value, self._window_seconds, now)
        self._buckets[key] = bucket  # the newest last
        if len(self._buckets) > KEPT:
            del self._buckets[next(iter(self._buckets))]
        return bucket
