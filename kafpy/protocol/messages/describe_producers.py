"""DescribeProducers (61, KIP-664)."""

from kafpy.protocol.table import Api

DESCRIBE_PRODUCERS = Api(
    61,
    "DescribeProducers",
    valid="0",
    flexible="0+",
    request="""
        topics                      [Topic]
            name                    string
            partition_indexes       [int32]
    """,
    response="""
        throttle_time_ms            int32
        topics                      [Topic]
            name                    string
            partitions              [Partition]
                partition_index     int32
                error_code          int16
                error_message       string?     = null
                active_producers    [Producer]
                    producer_id     int64
                    producer_epoch  int32
                    last_sequence   int32       = -1
                    last_timestamp  int64       = -1
                    coordinator_epoch   int32
                    current_txn_start_offset    int64   = -1
    """,
)
