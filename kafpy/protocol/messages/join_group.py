"""JoinGroup (11). Member ids take two steps since 4 (KIP-394). Instance ids since 5 (KIP-345), the protocol type in the
answer since 7 (KIP-559), reasons since 8 (KIP-800), skip_assignment since 9 (KIP-814).
"""

from kafpy.protocol.table import Api

JOIN_GROUP = Api(
    11,
    "JoinGroup",
    valid="0-9",
    flexible="6+",
    request="""
        group_id                    string
        session_timeout_ms          int32
        rebalance_timeout_ms        int32       1+      = -1
        member_id                   string
        group_instance_id           string?     5+      = null
        protocol_type               string
        protocols                   [Protocol]
            name                    string
            metadata                bytes
        reason                      string?     8+      = null
    """,
    response="""
        throttle_time_ms            int32       2+
        error_code                  int16
        generation_id               int32       = -1
        protocol_type               string?     7+      = null
        protocol_name               string?7+
        leader                      string
        skip_assignment             bool        9+
        member_id                   string
        members                     [Member]
            member_id               string
            group_instance_id       string?     5+      = null
            metadata                bytes
    """,
)
