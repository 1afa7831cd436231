"""What tasks do alike in the worker processes that Spark runs them in, be they of a read or of a write."""

import gc
import time

from kafpy.client.cluster import Cluster
from kafpy.client.connection import ClientError
from kafpy.client.settings import ClientSettings

PAUSE_S = 0.2
_frozen = False


def freeze() -> None:
    """Spark collects garbage in its workers after every task; what is there by now is none and is looked at no more."""
    global _frozen
    if not _frozen:
        _frozen = True
        gc.freeze()


def connected(where: ClientSettings) -> Cluster:
    """A broker that is being restarted is waited for: a failed task can end the whole query."""
    give_up = time.monotonic() + where.timeout_s
    while True:
        try:
            return Cluster(where)
        except ClientError:
            if time.monotonic() > give_up:
                raise
            time.sleep(PAUSE_S)
