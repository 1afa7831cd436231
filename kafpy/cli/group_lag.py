"""What a group has read of each partition, and how far behind it is: in records, and in time.

The lag in time is the age of the first record that is not read yet, to its batch; nothing when all is read.
Who is beyond the end, as after a topic was made anew, has a negative lag in records, as in kafka-consumer-groups.
"""

from kafpy.cli.group_tables import Row
from kafpy.client.cluster import LATEST, Cluster
from kafpy.client.connection import ClientError
from kafpy.client.groups import Description, Groups


def rows_of(cluster: Cluster, groups: Groups, group: Description, now_ms: int) -> list[Row]:
    """Partitions that are assigned or have an offset, then members without any."""
    committed = groups.committed(group.group_id)
    owners = {each: member for member in group.members for each in member.assigned}
    partitions = sorted(set(committed) | set(owners))
    try:
        leaders = cluster.partitions({topic for topic, _ in partitions}) if partitions else {}
        ends = cluster.offsets(dict.fromkeys(partitions, LATEST)) if partitions else {}
    except ClientError:
        leaders, ends = {}, {}  # a topic is gone
    rows = []
    for each in partitions:
        found = committed.get(each)
        offset, end = None if found is None else found.offset, ends.get(each)
        lag = None if offset is None or end is None else end - offset
        lag_ms = 0 if lag is not None and lag <= 0 else None
        leader = leaders.get(each)
        if lag_ms is None and lag is not None and offset is not None and leader is not None:
            timestamp = groups.timestamp_at(leader, each, offset)
            lag_ms = None if timestamp is None else now_ms - timestamp
        epoch = None if found is None or found.leader_epoch < 0 else found.leader_epoch
        rows.append(Row(*each, epoch, offset, end, lag, lag_ms, owners.get(each)))
    idle = [member for member in group.members if not member.assigned]
    return rows + [Row(None, None, None, None, None, None, None, member) for member in idle]
