"""IncrementalAlterConfigs (44, KIP-339). Operations: 0 SET, 1 DELETE, 2 APPEND, 3 SUBTRACT."""

from kafpy.protocol.table import Api

INCREMENTAL_ALTER_CONFIGS = Api(
    44,
    "IncrementalAlterConfigs",
    valid="0-1",
    flexible="1+",
    request="""
        resources                   [Resource]
            resource_type           int8
            resource_name           string
            configs                 [Config]
                name                string
                config_operation    int8
                value               string?
        validate_only               bool
    """,
    response="""
        throttle_time_ms            int32
        responses                   [Resource]
            error_code              int16
            error_message           string?     = null
            resource_type           int8
            resource_name           string
    """,
)
