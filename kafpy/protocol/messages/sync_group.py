"""SyncGroup (14). Instance ids since 3 (KIP-345), protocol type and name since 5 (KIP-559)."""

from kafpy.protocol.table import Api

SYNC_GROUP = Api(
    14,
    "SyncGroup",
    valid="0-5",
    flexible="4+",
    request="""
        group_id                    string
        generation_id               int32
        member_id                   string
        group_instance_id           string?     3+      = null
        protocol_type               string?     5+      = null
        protocol_name               string?     5+      = null
        assignments                 [Assignment]
            member_id               string
            assignment              bytes
    """,
    response="""
        throttle_time_ms            int32       1+
        error_code                  int16
        protocol_type               string?     5+      = null
        protocol_name               string?     5+      = null
        assignment                  bytes
    """,
)
