"""Headers; the higher version of each goes with flexible API versions. client_id is a legacy string in both."""

from kafpy.protocol.program import Message
from kafpy.protocol.schema import parse, versions

REQUEST_HEADER = Message(
    parse(
        "RequestHeader",
        """
        api_key         int16
        api_version     int16
        correlation_id  int32
        client_id       legacy_string?  = null
        """,
    ),
    versions("2+"),
)

RESPONSE_HEADER = Message(parse("ResponseHeader", "correlation_id int32"), versions("1+"))
