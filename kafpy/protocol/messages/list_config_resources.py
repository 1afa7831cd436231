"""ListConfigResources (74, KIP-1142). Version 0 lists client metrics only (KIP-714)."""

from kafpy.protocol.table import Api

LIST_CONFIG_RESOURCES = Api(
    74,
    "ListConfigResources",
    valid="0-1",
    flexible="0+",
    request="""
        resource_types              [int8]      1+
    """,
    response="""
        throttle_time_ms            int32
        error_code                  int16
        config_resources            [ConfigResource]
            resource_name           string
            resource_type           int8        1+      = 16
    """,
)
