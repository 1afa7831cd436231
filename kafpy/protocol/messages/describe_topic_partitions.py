"""DescribeTopicPartitions (75, KIP-966). A cursor goes on where the last answer was cut."""

from kafpy.protocol.table import Api

DESCRIBE_TOPIC_PARTITIONS = Api(
    75,
    "DescribeTopicPartitions",
    valid="0",
    flexible="0+",
    request="""
        topics                      [Topic]
            name                    string
        response_partition_limit    int32       = 2000
        cursor                      Cursor?     = null
            topic_name              string
            partition_index         int32
    """,
    response="""
        throttle_time_ms            int32
        topics                      [Topic]
            error_code              int16
            name                    string?     = null
            topic_id                uuid
            is_internal             bool
            partitions              [Partition]
                error_code          int16
                partition_index     int32
                leader_id           int32
                leader_epoch        int32       = -1
                replica_nodes       [int32]
                isr_nodes           [int32]
                eligible_leader_replicas    [int32]?    = null
                last_known_elr      [int32]?    = null
                offline_replicas    [int32]
            topic_authorized_operations     int32   = -0x80000000
        next_cursor                 Cursor?     = null
            topic_name              string
            partition_index         int32
    """,
)
