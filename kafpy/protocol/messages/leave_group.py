"""LeaveGroup (13). One member until 2, many since 3 (KIP-345), reasons since 5 (KIP-800)."""

from kafpy.protocol.table import Api

LEAVE_GROUP = Api(
    13,
    "LeaveGroup",
    valid="0-5",
    flexible="4+",
    request="""
        group_id                    string
        member_id                   string      0-2
        members                     [Member]    3+
            member_id               string
            group_instance_id       string?     = null
            reason                  string?     5+      = null
    """,
    response="""
        throttle_time_ms            int32       1+
        error_code                  int16
        members                     [Member]    3+
            member_id               string
            group_instance_id       string?
            error_code              int16
    """,
)
