"""CreatePartitions (37). A null assignment lets the broker choose."""

from kafpy.protocol.table import Api

CREATE_PARTITIONS = Api(
    37,
    "CreatePartitions",
    valid="0-3",
    flexible="2+",
    request="""
        topics                      [Topic]
            name                    string
            count                   int32
            assignments             [Assignment]?
                broker_ids          [int32]
        timeout_ms                  int32
        validate_only               bool
    """,
    response="""
        throttle_time_ms            int32
        results                     [Result]
            name                    string
            error_code              int16
            error_message           string?     = null
    """,
)
