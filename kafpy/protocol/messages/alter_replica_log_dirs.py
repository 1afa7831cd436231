"""AlterReplicaLogDirs (34, KIP-113)."""

from kafpy.protocol.table import Api

ALTER_REPLICA_LOG_DIRS = Api(
    34,
    "AlterReplicaLogDirs",
    valid="1-2",
    flexible="2+",
    request="""
        dirs                        [Dir]
            path                    string
            topics                  [Topic]
                name                string
                partitions          [int32]
    """,
    response="""
        throttle_time_ms            int32
        results                     [Result]
            topic_name              string
            partitions              [Partition]
                partition_index     int32
                error_code          int16
    """,
)
