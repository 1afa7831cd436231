"""OffsetForLeaderEpoch (23, KIP-101). Consumers ask too (KIP-320)."""

from kafpy.protocol.table import Api

OFFSET_FOR_LEADER_EPOCH = Api(
    23,
    "OffsetForLeaderEpoch",
    valid="2-4",
    flexible="4+",
    request="""
        replica_id                  int32       3+      = -2
        topics                      [Topic]
            topic                   string
            partitions              [Partition]
                partition           int32
                current_leader_epoch    int32   = -1
                leader_epoch        int32
    """,
    response="""
        throttle_time_ms            int32
        topics                      [Topic]
            topic                   string
            partitions              [Partition]
                error_code          int16
                partition           int32
                leader_epoch        int32       = -1
                end_offset          int64       = -1
    """,
)
