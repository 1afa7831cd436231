"""SaslHandshake (17). Since 1 the tokens that follow travel in SaslAuthenticate (KIP-152)."""

from kafpy.protocol.table import Api

SASL_HANDSHAKE = Api(
    17,
    "SaslHandshake",
    valid="0-1",
    flexible=None,
    request="""
        mechanism           string
    """,
    response="""
        error_code          int16
        mechanisms          [string]
    """,
)
