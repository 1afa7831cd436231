"""The leader epoch that a client believes in (KIP-320)."""

from kafpy.metadata import Partition
from kafpy.protocol.errors import ErrorCode


def check_epoch(current: int, partition: Partition) -> ErrorCode | None:
    """74 when the client is behind, 75 when it is ahead; -1 is not checked."""
    if current < 0 or current == partition.leader_epoch:
        return None
    fenced = current < partition.leader_epoch
    return ErrorCode.FENCED_LEADER_EPOCH if fenced else ErrorCode.UNKNOWN_LEADER_EPOCH
