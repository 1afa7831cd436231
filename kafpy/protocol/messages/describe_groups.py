"""DescribeGroups (15). Instance ids since 4 (KIP-345); an unknown group is an error since 6 (KIP-1043)."""

from kafpy.protocol.table import Api

DESCRIBE_GROUPS = Api(
    15,
    "DescribeGroups",
    valid="0-6",
    flexible="5+",
    request="""
        groups                      [string]
        include_authorized_operations   bool    3+
    """,
    response="""
        throttle_time_ms            int32       1+
        groups                      [Group]
            error_code              int16
            error_message           string?     6+      = null
            group_id                string
            group_state             string
            protocol_type           string
            protocol_data           string
            members                 [Member]
                member_id           string
                group_instance_id   string?     4+      = null
                client_id           string
                client_host         string
                member_metadata     bytes
                member_assignment   bytes
            authorized_operations   int32       3+      = -0x80000000
    """,
)
