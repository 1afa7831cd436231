"""ListGroups (16). By state since 4 (KIP-518), by type since 5 (KIP-848)."""

from kafpy.protocol.table import Api

LIST_GROUPS = Api(
    16,
    "ListGroups",
    valid="0-5",
    flexible="3+",
    request="""
        states_filter               [string]    4+
        types_filter                [string]    5+
    """,
    response="""
        throttle_time_ms            int32       1+
        error_code                  int16
        groups                      [Group]
            group_id                string
            protocol_type           string
            group_state             string      4+
            group_type              string      5+
    """,
)
