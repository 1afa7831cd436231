"""ListOffsets (2). Leader epochs since 4 (KIP-320), max timestamp since 7 (KIP-734), tiers since 8 (KIP-405).

The fields with tag 10000 are our own; who does not know them passes over them. A request with `mark_every` is told at
which offsets batches begin that lie about so many bytes apart, and how many bytes of the log lie before each: readers
in bulk share a partition out by bytes.
"""

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
                mark_every          int64       6+ #10000 = 0
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
                marks               [Mark]      6+ #10000
                    offset          int64
                    position        int64
    """,
)
