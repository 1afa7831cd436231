"""AlterConfigs (33). The given configs replace all others of the resource."""

from kafpy.protocol.table import Api

ALTER_CONFIGS = Api(
    33,
    "AlterConfigs",
    valid="0-2",
    flexible="2+",
    request="""
        resources                   [Resource]
            resource_type           int8
            resource_name           string
            configs                 [Config]
                name                string
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
