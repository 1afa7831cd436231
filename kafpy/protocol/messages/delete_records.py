"""DeleteRecords (21, KIP-107). Offset -1 is the high watermark."""

from kafpy.protocol.table import Api

DELETE_RECORDS = Api(
    21,
    "DeleteRecords",
    valid="0-2",
    flexible="2+",
    request="""
        topics                      [Topic]
            name                    string
            partitions              [Partition]
                partition_index     int32
                offset              int64
        timeout_ms                  int32
    """,
    response="""
        throttle_time_ms            int32
        topics                      [Topic]
            name                    string
            partitions              [Partition]
                partition_index     int32
                low_watermark       int64       = -1
                error_code          int16
    """,
)
