"""Which segments of a log have been kept long enough (UnifiedLog.deleteOldSegments). Pure.

From the oldest on, one by one, a segment goes that

- lies below the log's start (its records were deleted before), whatever the policy; and where the policy deletes:
- is not needed to keep `retention_bytes`,
- has no record younger than `retention_ms`.

None goes whose records are not all below the high watermark; the active one goes like the others, but not empty.
"""

from collections.abc import Sequence
from typing import NamedTuple

UNLIMITED = -1


class Segment(NamedTuple):
    base_offset: int
    size: int
    largest_timestamp: int
    """Of its records; where they have none, of its file's last change."""


class Limits(NamedTuple):
    """Neither bounds a log that is not to be deleted from."""

    retention_ms: int = UNLIMITED
    retention_bytes: int = UNLIMITED


class Extent(NamedTuple):
    """Where a log begins and ends, and what of it is committed."""

    log_start_offset: int
    high_watermark: int
    log_end_offset: int


def start_after(segments: Sequence[Segment], extent: Extent, limits: Limits, now_ms: int) -> int:
    """The offset up to which whole segments go; not above the first one's where all stay."""
    bounds = [*(each.base_offset for each in segments[1:]), extent.log_end_offset]
    committed = sum(1 for bound in bounds if bound <= extent.high_watermark)
    if segments[-1].size == 0:
        committed = min(committed, len(segments) - 1)
    gone = 0
    while gone < min(committed, len(segments) - 1) and bounds[gone] <= extent.log_start_offset:
        gone += 1
    if limits.retention_bytes != UNLIMITED:
        surplus = sum(each.size for each in segments[gone:]) - limits.retention_bytes
        while gone < committed and surplus >= segments[gone].size:
            surplus -= segments[gone].size
            gone += 1
    if limits.retention_ms != UNLIMITED:
        while gone < committed and now_ms - segments[gone].largest_timestamp > limits.retention_ms:
            gone += 1
    return bounds[gone - 1] if gone else segments[0].base_offset
