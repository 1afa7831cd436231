"""AlterClientQuotas (49, KIP-546)."""

from kafpy.protocol.table import Api

ALTER_CLIENT_QUOTAS = Api(
    49,
    "AlterClientQuotas",
    valid="0-1",
    flexible="1+",
    request="""
        entries                     [Entry]
            entity                  [Entity]
                entity_type         string
                entity_name         string?
            ops                     [Op]
                key                 string
                value               float64
                remove              bool
        validate_only               bool
    """,
    response="""
        throttle_time_ms            int32
        entries                     [Entry]
            error_code              int16
            error_message           string?     = null
            entity                  [Entity]
                entity_type         string
                entity_name         string?
    """,
)
