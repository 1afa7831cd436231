"""OffsetCommit (8). A retention time until 4, instance ids since 7 (KIP-345), topic ids instead of names since 10."""

from kafpy.protocol.table import Api

OFFSET_COMMIT = Api(
    8,
    "OffsetCommit",
    valid="2-10",
    flexible="8+",
    request="""
        group_id                    string
        generation_id_or_member_epoch   int32   = -1
        member_id                   string
        group_instance_id           string?     7+      = null
        retention_time_ms           int64       2-4     = -1
        topics                      [Topic]
            topic_id                uuid        10+
            name                    string      0-9
            partitions              [Partition]
                partition_index     int32
                committed_offset    int64
                committed_leader_epoch  int32   6+      = -1
                committed_metadata  string?
    """,
    response="""
        throttle_time_ms            int32       3+
        topics                      [Topic]
            topic_id                uuid        10+
            name                    string      0-9
            partitions              [Partition]
                partition_index     int32
                error_code          int16
    """,
)
