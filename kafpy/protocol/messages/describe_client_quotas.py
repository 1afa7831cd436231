"""DescribeClientQuotas (48, KIP-546)."""

from kafpy.protocol.table import Api

DESCRIBE_CLIENT_QUOTAS = Api(
    48,
    "DescribeClientQuotas",
    valid="0-1",
    flexible="1+",
    request="""
        components                  [Component]
            entity_type             string
            match_type              int8
            match                   string?
        strict                      bool
    """,
    response="""
        throttle_time_ms            int32
        error_code                  int16
        error_message               string?     = null
        entries                     [Entry]?
            entity                  [Entity]
                entity_type         string
                entity_name         string?
            values                  [Value]
                key                 string
                value               float64
    """,
)
