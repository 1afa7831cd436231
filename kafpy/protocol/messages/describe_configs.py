"""DescribeConfigs (32). Synonyms since 1 (KIP-226), types and documentation since 3 (KIP-569)."""

from kafpy.protocol.table import Api

DESCRIBE_CONFIGS = Api(
    32,
    "DescribeConfigs",
    valid="1-4",
    flexible="4+",
    request="""
        resources                   [Resource]
            resource_type           int8
            resource_name           string
            configuration_keys      [string]?
        include_synonyms            bool
        include_documentation       bool        3+
    """,
    response="""
        throttle_time_ms            int32
        results                     [Result]
            error_code              int16
            error_message           string?     = null
            resource_type           int8
            resource_name           string
            configs                 [Config]
                name                string
                value               string?     = null
                read_only           bool
                config_source       int8        = -1
                is_sensitive        bool
                synonyms            [Synonym]
                    name            string
                    value           string?     = null
                    source          int8
                config_type         int8        3+
                documentation       string?     3+      = null
    """,
)
