"""AlterUserScramCredentials (51, KIP-554). Passwords are salted by the client: none travels."""

from kafpy.protocol.table import Api

ALTER_USER_SCRAM_CREDENTIALS = Api(
    51,
    "AlterUserScramCredentials",
    valid="0",
    flexible="0+",
    request="""
        deletions               [Deletion]
            name                string
            mechanism           int8
        upsertions              [Upsertion]
            name                string
            mechanism           int8
            iterations          int32
            salt                bytes
            salted_password     bytes
    """,
    response="""
        throttle_time_ms        int32
        results                 [Result]
            user                string
            error_code          int16
            error_message       string?
    """,
)
