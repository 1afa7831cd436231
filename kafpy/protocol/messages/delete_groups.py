"""DeleteGroups (42)."""

from kafpy.protocol.table import Api

DELETE_GROUPS = Api(
    42,
    "DeleteGroups",
    valid="0-2",
    flexible="2+",
    request="""
        groups_names                [string]
    """,
    response="""
        throttle_time_ms            int32
        results                     [DeletedGroup]
            group_id                string
            error_code              int16
    """,
)
