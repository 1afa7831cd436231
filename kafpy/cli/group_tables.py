"""Tables as kafka-consumer-groups prints them: columns of at least its widths, `-` for what is not there.

LAG-TIME is ours, and last, so that what reads its columns by their place finds them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafpy.client.groups import Description, Member

MISSING = "-"


class Row(NamedTuple):
    """A partition that a group has read, or is about to."""

    topic: str | None
    partition: int | None
    leader_epoch: int | None
    offset: int | None
    end: int | None
    lag: int | None
    lag_ms: int | None
    member: Member | None


def table(header: Sequence[str], least: Sequence[int], rows: Iterable[Sequence[object]]) -> str:
    """Left-aligned; a last column of width 0 is not padded."""
    lines = [[MISSING if cell is None else str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(low, *(len(line[at]) for line in lines)) for at, low in enumerate(least)]
    widths[-1] = least[-1]
    return "\n".join(" ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def offsets(group_id: str, rows: Sequence[Row], verbose: bool, *, lag_time: bool = True) -> str:
    header = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    header += ["CONSUMER-ID", "HOST", "CLIENT-ID"]
    least = [15, 15, 10, 15, 15, 15, 15, 15, 15]
    if lag_time:
        header.append("LAG-TIME")
        least.append(0)
    else:
        least[-1] = 0
    if verbose:
        header.insert(3, "LEADER-EPOCH")
        least.insert(3, 15)
    cells = [_offset_cells(group_id, row, verbose) for row in rows]
    return table(header, least, cells if lag_time else [each[:-1] for each in cells])


def _offset_cells(group_id: str, row: Row, verbose: bool) -> list[object]:
    member = row.member
    cells: list[object] = [group_id, row.topic, row.partition]
    if verbose:
        cells.append(row.leader_epoch)
    cells += [row.offset, row.end, row.lag]
    owner: list[object] = [None, None, None]
    if member is not None:
        owner = [member.member_id, f"/{member.host.removeprefix('/')}", member.client_id]
    return [*cells, *owner, duration(row.lag_ms)]


def duration(ms: int | None) -> str | None:
    """`4.2s`, `3m05s`, `2h10m`, `3d04h`."""
    if ms is None:
        return None
    seconds = max(ms, 0) / 1000
    if seconds < 60:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}h"


def members(group: Description, verbose: bool) -> str:
    static = any(member.instance_id for member in group.members)
    header = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if static else []), "HOST", "CLIENT-ID", "#PARTITIONS"]
    least = [15, 15, *([17] if static else []), 15, 15, 16]
    if verbose:
        header += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        least[-1] = 15
        least += [15, 20, 15, 20]
    rows = []
    for member in group.members:
        row: list[object] = [group.group_id, member.member_id, *([member.instance_id or ""] if static else [])]
        row += [f"/{member.host.removeprefix('/')}", member.client_id, len(member.assigned)]
        if verbose:
            row += [member.epoch, _partitions(member.assigned), member.target_epoch, _partitions(member.target)]
        rows.append(row)
    return table(header, least, rows)


def _partitions(partitions: Iterable[tuple[str, int]] | None) -> str | None:
    """`topic:0,1;other:2`."""
    topics: dict[str, list[str]] = {}
    for topic, index in partitions or ():
        topics.setdefault(topic, []).append(str(index))
    return ";".join(f"{topic}:{','.join(indexes)}" for topic, indexes in topics.items()) or None


def states(groups: Sequence[Description]) -> str:
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    rows = [
        [group.group_id, group.coordinator, group.assignor or MISSING, group.state, len(group.members)]
        for group in groups
    ]
    return table(header, [15, 25, 20, 20, 0], rows)


def new_offsets(plans: Mapping[str, Mapping[tuple[str, int], int]]) -> str:
    rows = [
        [group_id, topic, index, offset] for group_id, plan in plans.items() for (topic, index), offset in plan.items()
    ]
    return table(["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], [15, 15, 10, 0], rows)


def deleted(outcomes: Mapping[tuple[str, int], str]) -> str:
    rows = [[topic, index, outcome] for (topic, index), outcome in sorted(outcomes.items())]
    return table(["TOPIC", "PARTITION", "STATUS"], [15, 10, 15], rows)
