"""DescribeUserScramCredentials (50, KIP-554). No users: all of them."""

from kafpy.protocol.table import Api

DESCRIBE_USER_SCRAM_CREDENTIALS = Api(
    50,
    "DescribeUserScramCredentials",
    valid="0",
    flexible="0+",
    request="""
        users                   [User]?
            name                string
    """,
    response="""
        throttle_time_ms        int32
        error_code              int16
        error_message           string?
        results                 [Result]
            user                string
            error_code          int16
            error_message       string?
            credential_infos    [CredentialInfo]
                mechanism       int8
                iterations      int32
    """,
)
