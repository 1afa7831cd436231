"""SaslAuthenticate (36, KIP-152). How long the session lives since 1 (KIP-368)."""

from kafpy.protocol.table import Api

SASL_AUTHENTICATE = Api(
    36,
    "SaslAuthenticate",
    valid="0-2",
    flexible="2+",
    request="""
        auth_bytes              bytes
    """,
    response="""
        error_code              int16
        error_message           string?
        auth_bytes              bytes
        session_lifetime_ms     int64       1+
    """,
)
