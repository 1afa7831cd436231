"""DescribeLogDirs (35, KIP-113). Sizes of volumes since 4 (KIP-827), cordoned ones since 5 (KIP-1066)."""

from kafpy.protocol.table import Api

DESCRIBE_LOG_DIRS = Api(
    35,
    "DescribeLogDirs",
    valid="1-5",
    flexible="2+",
    request="""
        topics                      [Topic]?    = null
            topic                   string
            partitions              [int32]
    """,
    response="""
        throttle_time_ms            int32
        error_code                  int16       3+
        results                     [Result]
            error_code              int16
            log_dir                 string
            topics                  [Topic]
                name                string
                partitions          [Partition]
                    partition_index int32
                    partition_size  int64
                    offset_lag      int64
                    is_future_key   bool
            total_bytes             int64       4+      = -1
            usable_bytes            int64       4+      = -1
            is_cordoned             bool        5+
    """,
)
