"""OffsetDelete (47, KIP-496)."""

from kafpy.protocol.table import Api

OFFSET_DELETE = Api(
    47,
    "OffsetDelete",
    valid="0",
    flexible=None,
    request="""
        group_id                    string
        topics                      [Topic]
            name                    string
            partitions              [Partition]
                partition_index     int32
    """,
    response="""
        error_code                  int16
        throttle_time_ms            int32
        topics                      [Topic]
            name                    string
            partitions              [Partition]
                partition_index     int32
                error_code          int16
    """,
)
