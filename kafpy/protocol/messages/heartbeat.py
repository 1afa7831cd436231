"""Heartbeat (12). Instance ids since 3 (KIP-345)."""

from kafpy.protocol.table import Api

HEARTBEAT = Api(
    12,
    "Heartbeat",
    valid="0-4",
    flexible="4+",
    request="""
        group_id                    string
        generation_id               int32
        member_id                   string
        group_instance_id           string?     3+      = null
    """,
    response="""
        throttle_time_ms            int32       1+
        error_code                  int16
    """,
)
