"""ListOffsets (2). Leader epochs since 4 (KIP-320), max timestamp since 7 (KIP-734), tiers since 8 (KIP-405)."""

from kafpy.protocol.table import Api

LIST_OFFSETS = Api(
    2,
    "ListOffsets",
    valid="1-11",
    flexible="6+",
    request="""
        replica_id                  int32
        isolation_level             int8        2+
        topics                      [Topic]
            name                    string
            partitions              [Partition]
                partition_index     int32
                current_leader_epoch    int32   4+      = -1
                timestamp           int64
        timeout_ms                  int32       10+
    """,
    response="""
        throttle_time_ms            int32       2+
        topics                      [Topic]
            name                    string
            partitions              [Partition]
                partition_index     int32
                error_code          int16
                timestamp           int64       = -1
                offset              int64       = -1
                leader_epoch        int32       4+      = -1
    """,
)
