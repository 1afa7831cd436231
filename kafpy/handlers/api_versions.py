"""ApiVersions, versions 0-4: what registry.SERVED holds, and the two APIs that the planes serve.

Since version 3 a client names itself, and a name that is none is INVALID_REQUEST (KIP-511). No feature is finalized.
A version beyond ours never comes here: dispatch turns it into the answer to a version 0 request with error 35.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from kafpy.handlers.registry import SERVED, Call, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kafpy.broker.state import BrokerState

NATIVE = {
    # From 0, although 3 is the first accepted: older librdkafka compresses only where it sees Produce 0 (KAFKA-18659).
    api.PRODUCE.key: (0, api.PRODUCE.max_version),
    api.FETCH.key: (api.FETCH.min_version, api.FETCH.max_version),
}
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")


@serves(api.API_VERSIONS)
def api_versions(broker: BrokerState, call: Call) -> Any:
    if call.header.api_version >= 3:
        names = call.body.client_software_name, call.body.client_software_version
        if not all(SOFTWARE.match(name) for name in names):
            return api.API_VERSIONS.response(error_code=ErrorCode.INVALID_REQUEST)
    return api.API_VERSIONS.response(api_keys=api_keys())


@cache
def api_keys() -> tuple[Any, ...]:
    ranges = {key: (served.min, served.max) for key, served in SERVED.items()} | NATIVE
    entry = api.API_VERSIONS.response.ApiVersion
    return tuple(entry(api_key=key, min_version=low, max_version=high) for key, (low, high) in sorted(ranges.items()))
